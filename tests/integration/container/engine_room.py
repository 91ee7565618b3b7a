"""A podman of the tests' own: its settings, store and image, none of it the machine's."""

from __future__ import annotations

import fcntl
import functools
import io
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from paddock.drivers.container.engine import Mount
from paddock.drivers.container.podman import PodmanEngine

IMAGE = "localhost/paddock-test:3"
CONF = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "none"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
TOOLS = (
    "sh",
    "cat",
    "sleep",
    "echo",
    "kill",
    "env",
    "dd",
    "head",
    "sed",
    "touch",
    "id",
    "ls",
    "rm",
)


def cache() -> Path:
    usual = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(usual) / "paddock-tests/podman"


def command() -> tuple[str, ...]:
    """A store of our own: the machine's containers are not seen here, nor ours there."""
    root, run = cache() / "root", cache() / "run"
    return ("podman", "--root", str(root), "--runroot", str(run), "--storage-driver", "vfs")


def a_program(directory: Path) -> Path:
    """A `podman` for whoever looks for one in PATH."""
    podman = directory / "podman"
    directory.mkdir()
    podman.write_text(f'#!/bin/sh\nexec /usr/bin/{shlex.join(command())} "$@"\n', "ascii")
    podman.chmod(0o755)
    return podman


def environment() -> dict[str, str]:
    return {
        "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        "HOME": str(cache()),
        "CONTAINERS_CONF": str(cache() / "containers.conf"),
    }


def engine(directory: Path) -> PodmanEngine:
    return PodmanEngine(directory, command=command(), environment=environment(), idle_s=1)


def mounts() -> tuple[Mount, ...]:
    """The host's Python and the pretend agents: the image has only busybox."""
    here = Path(__file__).parents[3]
    needed = {"/usr", sys.prefix, sys.base_prefix, str(here / "tests")}
    return tuple(Mount(path, path, read_only=True) for path in sorted(needed))


@functools.cache
def lacking() -> str | None:
    """Why there can be no containers here; otherwise the image is there afterwards."""
    path = environment()["PATH"]
    if shutil.which("podman", path=path) is None:
        return "podman is not installed"
    if not Path("/bin/busybox").exists():
        return "busybox-static is not installed"
    if os.geteuid() != 0:
        return "podman is tried as root only"
    cache().mkdir(mode=0o700, parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock:  # two test workers, one image
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _import_image()


def ask(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*command(), *words], env=environment(), input=stdin, capture_output=True, check=False
    )


def _import_image() -> str | None:
    (cache() / "containers.conf").write_text(CONF, encoding="utf-8")
    if ask("image", "exists", IMAGE).returncode == 0:
        return None
    made = ask("import", "-", IMAGE, stdin=root_file_system())
    if made.returncode != 0:
        return f"podman cannot import an image: {made.stderr.decode()[-200:]}"
    return None


def root_file_system() -> bytes:
    """busybox in /bin; /lib and its like lead into the host's /usr, which is mounted."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in ("bin", "tmp", "proc", "sys", "dev", "etc", "usr", "root"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        tar.add("/bin/busybox", "bin/busybox")
        links = {f"bin/{tool}": "busybox" for tool in TOOLS}
        links |= {"lib": "usr/lib", "lib64": "usr/lib64"}
        for name, target in links.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
    return packed.getvalue()
