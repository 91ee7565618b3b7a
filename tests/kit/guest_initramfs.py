"""The first files of a guest: busybox, the modules that reach the host's, and its first script."""

from __future__ import annotations

import lzma
import stat
from collections.abc import Iterator
from pathlib import Path

from tests.kit.guest_kernel import Kernel, NoGuest

MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "zram")


def initramfs(kernel: Kernel, script: Path) -> bytes:
    """An archive the kernel unpacks and starts as `/init`. Small enough to make for every boot."""
    modules = [_named(path) for path in load_order(kernel.modules, MODULES)]
    order = "".join(f"/modules/{name}\n" for name, _ in modules).encode()
    archive = [
        *(_directory(name) for name in ("bin", "modules")),
        _file("bin/busybox", kernel.busybox.read_bytes()),
        _file("init", script.read_bytes()),
        _file("modules/order", order),
        *(_file(f"modules/{name}", content) for name, content in modules),
        _entry("TRAILER!!!", 0, b""),
    ]
    return b"".join(archive)


def load_order(modules: Path, wanted: tuple[str, ...]) -> list[Path]:
    """The modules and all they need, each after what it needs."""
    lines = (modules / "modules.dep").read_text(encoding="utf-8").splitlines()
    needs = {path: rest.split() for path, _, rest in (line.partition(":") for line in lines)}
    names = {Path(path).name.partition(".")[0].replace("-", "_"): path for path in needs}
    loaded: list[str] = []

    def load(path: str) -> None:
        for needed in needs[path]:
            load(needed)
        if path not in loaded:
            loaded.append(path)

    for name in wanted:
        path = names.get(name.replace("-", "_"))
        if path is None:
            raise NoGuest(f"the guest's kernel has no module {name}; a -cloud- kernel will not do")
        load(path)
    return [modules / path for path in loaded]


def _named(module: Path) -> tuple[str, bytes]:
    """As busybox can load it: newer packages hold modules compressed."""
    if module.suffix == ".xz":
        return module.stem, lzma.decompress(module.read_bytes())
    return module.name, module.read_bytes()


def _directory(name: str) -> bytes:
    return _entry(name, stat.S_IFDIR | 0o755, b"")


def _file(name: str, content: bytes) -> bytes:
    return _entry(name, stat.S_IFREG | 0o755, content)


def _entry(name: str, mode: int, content: bytes) -> bytes:
    """One member of a cpio archive (newc): 13 numbers in hex, the name, the content."""
    path = name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    numbers = [0, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(path), 0]
    header = b"070701" + b"".join(b"%08X" % number for number in numbers)
    return b"".join(_padded(header + path)) + b"".join(_padded(content))


def _padded(part: bytes) -> Iterator[bytes]:
    yield part
    yield b"\0" * (-len(part) % 4)
