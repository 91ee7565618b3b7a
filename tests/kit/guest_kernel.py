"""The guest's kernel and busybox: fetched from Debian once and unpacked, never installed."""

from __future__ import annotations

import fcntl
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Of 400 MB of modules the guest has these 40: file systems, zram and what they stand on.
MODULE_DIRECTORIES = (
    *("fs", "mm", "lib", "crypto", "net/9p", "arch/x86/crypto"),
    *("drivers/block", "drivers/virtio"),
)


class NoGuest(Exception):
    """A guest cannot be booted on this machine; the text says what it lacks."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package: an ELF file to boot and its modules."""

    directory: Path

    @property
    def release(self) -> str:
        return next((self.directory / "lib/modules").iterdir()).name

    @property
    def elf(self) -> Path:
        return self.directory / "vmlinux"

    @property
    def busybox(self) -> Path:
        return self.directory / "bin/busybox"

    @property
    def modules(self) -> Path:
        return self.directory / "lib/modules" / self.release


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "paddock-test"


def the_kernel() -> Kernel:
    """The newest one in the cache; fetched first when there is none."""
    cache().mkdir(parents=True, exist_ok=True)
    with _alone(cache() / "lock"):
        found = sorted(cache().glob("kernel-*"), key=lambda path: path.stat().st_mtime)
        return Kernel(found[-1] if found else _fetch())


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Two test runs at once must not unpack into the same place."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch() -> Path:
    if not shutil.which("apt-get"):
        raise NoGuest("the guest's kernel comes from Debian, and this machine has no apt-get")
    for left in cache().glob("fetching-*"):  # Of one that was killed: we hold the lock.
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(dir=cache(), prefix="fetching-") as scratch:
        # apt drops its rights for a download, and cannot write where only we may.
        Path(scratch).chmod(0o755)
        image, busybox = _download(Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        _unpack(busybox, unpacked, "./bin/busybox")
        _unpack(image, unpacked, *_wanted(image))
        vmlinuz = next((unpacked / "boot").glob("vmlinuz-*"))
        (unpacked / "vmlinux").write_bytes(elf_of(vmlinuz.read_bytes()))
        vmlinuz.unlink()
        _list_modules(Kernel(unpacked))
        # The last step: what has its final name is whole.
        return unpacked.rename(cache() / f"kernel-{image.stem}")


def _download(into: Path) -> tuple[Path, Path]:
    """Both packages. An old or empty package list is brought up to date, where we may."""
    for attempt in ("with the list there is", "with a new list"):
        wanted = ["busybox-static", _image_package()]
        done = _run("apt-get", "download", "-qq", *wanted, cwd=into)
        if done.returncode == 0:
            return next(into.glob("linux-image-*.deb")), next(into.glob("busybox-*.deb"))
        if attempt == "with the list there is":
            _run("apt-get", "update", "-qq", cwd=into)
    raise NoGuest(
        f"apt-get cannot download {' and '.join(wanted)}: {done.stdout.strip()[-300:]}; "
        "run `apt-get update` as root and try again"
    )


def _image_package() -> str:
    """linux-image-amd64 is empty and depends on the package of the day."""
    shown = _run("apt-cache", "depends", "linux-image-amd64", cwd=Path("/")).stdout
    found = re.search(r"Depends: (linux-image-\S+-amd64)\b", shown)
    return found[1] if found else "linux-image-amd64"


def _wanted(image: Path) -> list[str]:
    release = image.name.removeprefix("linux-image-").partition("_")[0]
    modules = f"./lib/modules/{release}"
    return [
        f"./boot/vmlinuz-{release}",
        *(f"{modules}/modules.{name}" for name in ("order", "builtin")),
        *(f"{modules}/kernel/{name}" for name in MODULE_DIRECTORIES),
    ]


def _unpack(package: Path, into: Path, *members: str) -> None:
    into.mkdir(exist_ok=True)
    contents = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(contents, stdout=subprocess.PIPE) as tar:
        subprocess.run(
            ["tar", "-x", "--no-same-owner", "-C", into, *members], stdin=tar.stdout, check=True
        )


def elf_of(image: bytes) -> bytes:
    """The kernel inside a bzImage: qemu boots it 5 s sooner than the image unpacks itself."""
    (setup_sectors,) = struct.unpack_from("<B", image, 0x1F1)
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    packed = image[start : start + length]
    if packed.startswith(b"\xfd7zXZ"):
        return lzma.LZMADecompressor().decompress(packed)
    if packed.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(packed)
    if packed.startswith(b"\x28\xb5\x2f\xfd"):
        # The size of the kernel follows the frame, and zstd complains about it after its work.
        return subprocess.run(["zstd", "-dcq"], input=packed[:-4], stdout=-1, check=True).stdout
    raise NoGuest(f"the kernel is packed in an unknown way (it begins with {packed[:4].hex()})")


def _list_modules(kernel: Kernel) -> None:
    """The package leaves this to its installation, and nothing is installed."""
    command = [kernel.busybox, "depmod", "-b", kernel.directory, kernel.release]
    done = _run(*map(str, command), cwd=kernel.directory)
    if done.returncode != 0:
        raise NoGuest(f"depmod of the guest's modules failed: {done.stdout.strip()[-300:]}")


def _run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
