"""A docker of the tests' own: its daemon, store and image, none of it the machine's.

One daemon for each process of tests. It has a file system of its own in memory for all it keeps:
on a disk most of a container's time went into waiting for it.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddock.drivers.container.docker import DockerEngine
from paddock.drivers.container.unix_http import request_bytes
from tests.integration.container import engine_room
from tests.kit.waiting import until

PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
# What it leaves in these places it leaves nobody else, and a docker of the machine's is not seen.
ALONE = "mkdir -p /etc/docker; for each in /run /etc/docker; do mount -t tmpfs none $each; done"
# A containerd that was killed may be nobody's child that nobody reaps: then it is waited for.
AGAIN = "rm -f /run/exec/containerd/containerd.pid"
OWN = ("--data-root=/run/data", "--exec-root=/run/exec", "--pidfile=/run/dockerd.pid")
HOW = ("--storage-driver=vfs", "--exec-opt=native.cgroupdriver=cgroupfs", "--log-level=warn")
NO_NETWORK = ("--iptables=false", "--ip6tables=false", "--bridge=none")
UP_WITHIN_S = 60.0  # 0.4 s here, far more in a guest


@dataclass
class Dockerd:
    """`place` is for its socket and its log; `world` are the mounts of the first, for those after
    it. It ends with the thread that started it, however that ends."""

    place: Path
    daemon: subprocess.Popen[bytes] | None = None
    world: int | None = None

    @property
    def socket(self) -> Path:
        return self.place / "docker.sock"

    def start(self) -> str | None:
        """Why it does not run; None when it answers."""
        log = self.place / "log"
        with log.open("wb") as words:
            self.daemon = daemon = subprocess.Popen(
                self._command(),
                env={"PATH": PATH, "HOME": str(self.place)},
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
            )
        until(lambda: daemon.poll() is not None or self._answers(), within_s=UP_WITHIN_S)
        if self.world is None and daemon.poll() is None:
            self.world = os.open(f"/proc/{daemon.pid}/ns/mnt", os.O_RDONLY)
        return None if daemon.poll() is None else log.read_text(encoding="utf-8")[-300:]

    def end(self, number: int = signal.SIGTERM) -> None:
        """Told to end it takes its containers along; killed it does not."""
        if self.daemon is not None:
            self.daemon.send_signal(number)
            self.daemon.wait()
            self.daemon = None

    def _command(self) -> list[str]:
        where, first = ("unshare", "--mount"), ALONE
        if self.world is not None:
            where, first = ("nsenter", f"--mount=/proc/{os.getpid()}/fd/{self.world}"), AGAIN
        words = ("dockerd", f"--host=unix://{self.socket}", *OWN, *HOW, *NO_NETWORK)
        tied = ("setpriv", "--pdeathsig", "TERM", *where, "sh", "-c", f'{first}; exec "$@"', "sh")
        return [*tied, *words]

    def _answers(self) -> bool:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.settimeout(1.0)
            line.connect(str(self.socket))
            line.sendall(request_bytes("GET", "/_ping"))
            return line.recv(16).startswith(b"HTTP/1.1 200")
        return False


def engine(_: Path) -> DockerEngine:
    return DockerEngine(str(dockerd().socket))


def environment() -> dict[str, str]:
    return {"DOCKER_HOST": f"unix://{dockerd().socket}"}


def ask(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["docker", *words],
        env={"PATH": PATH, "HOME": str(dockerd().place)} | environment(),
        input=stdin,
        capture_output=True,
        check=False,
    )


@functools.cache
def dockerd() -> Dockerd:
    """Ours; not yet started."""
    found = Dockerd(Path(tempfile.mkdtemp(prefix="paddock-docker-")))
    atexit.register(shutil.rmtree, found.place)
    atexit.register(found.end)
    return found


@functools.cache
def lacking() -> str | None:
    """Why there can be no containers here; otherwise docker runs, with the image."""
    for program in ("dockerd", "containerd", "docker"):
        if shutil.which(program, path=PATH) is None:
            return f"{program} is not installed"
    if not Path("/bin/busybox").exists():
        return "busybox-static is not installed"
    if os.geteuid() != 0:
        return "docker is tried as root only"
    if (problem := dockerd().start()) is not None:
        return f"dockerd does not run here: {problem}"
    made = ask("import", "-", engine_room.IMAGE, stdin=engine_room.root_file_system())
    return made.stderr.decode()[-300:] if made.returncode != 0 else None
