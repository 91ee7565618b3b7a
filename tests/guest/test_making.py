"""What a guest is made from, without booting one."""

from __future__ import annotations

import gzip
import lzma
import struct
import subprocess
from pathlib import Path

import pytest

from tests.kit.guest import setting
from tests.kit.guest_initramfs import initramfs, load_order
from tests.kit.guest_kernel import Kernel, NoGuest, elf_of

ELF = b"\x7fELF and the rest of a kernel" * 100


def bzimage(packed: bytes) -> bytes:
    """As the boot protocol lays it out: the sectors of the setup, then the packed kernel."""
    image = bytearray(512 * 4 + 16)
    image[0x1F1] = 3
    struct.pack_into("<II", image, 0x248, 16, len(packed))
    return bytes(image) + packed + b"what follows is not the kernel"


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress])
def test_the_kernel_is_taken_out_of_its_image(pack: object) -> None:
    assert callable(pack)
    # The image holds the unpacked size behind the packed kernel.
    assert elf_of(bzimage(pack(ELF) + struct.pack("<I", len(ELF)))) == ELF


def test_a_kernel_packed_in_an_unknown_way_is_named_and_not_booted() -> None:
    with pytest.raises(NoGuest, match=r"unknown way.*42424242"):
        elf_of(bzimage(b"BBBBBBBB"))


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """One with three modules, the second of them compressed."""
    made = Kernel(tmp_path / "kernel")
    modules = tmp_path / "kernel/lib/modules/6.1.0-1-amd64/kernel"
    modules.mkdir(parents=True)
    (modules / "ring.ko").write_bytes(b"ring")
    (modules / "nine-p.ko.xz").write_bytes(lzma.compress(b"nine"))
    (modules / "unused.ko").write_bytes(b"unused")
    names = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "zram")
    lines = [
        *("kernel/nine-p.ko.xz: kernel/ring.ko", "kernel/unused.ko:", "kernel/ring.ko:"),
        *(f"kernel/{name}.ko: kernel/nine-p.ko.xz kernel/ring.ko" for name in names),
    ]
    for name in names:
        (modules / f"{name}.ko").write_bytes(name.encode())
    (made.modules / "modules.dep").write_text("\n".join(lines), encoding="ascii")
    made.busybox.parent.mkdir()
    made.busybox.write_bytes(b"busybox")
    return made


def test_a_module_is_loaded_after_what_it_needs_and_once(kernel: Kernel) -> None:
    order = load_order(kernel.modules, ("overlay", "nine_p", "9p"))
    names = ["ring.ko", "nine-p.ko.xz", "overlay.ko", "9p.ko"]
    assert [path.name for path in order] == names


def test_a_module_that_is_not_there_is_named(kernel: Kernel) -> None:
    with pytest.raises(NoGuest, match="no module 10p"):
        load_order(kernel.modules, ("10p",))


def test_the_initramfs_is_an_archive_that_holds_modules_unpacked(
    kernel: Kernel, tmp_path: Path
) -> None:
    script = tmp_path / "init"
    script.write_text("#!/bin/busybox sh\n", encoding="ascii")
    archive = initramfs(kernel, script)
    assert len(archive) % 4 == 0
    assert archive.startswith(b"070701")
    assert b"modules/nine-p.ko\0" in archive and b"nine" in archive
    assert b"/modules/ring.ko\n/modules/nine-p.ko\n" in archive
    assert b"unused" not in archive
    assert b"TRAILER!!!\0" in archive


def test_the_setting_is_shell_and_names_what_a_new_tmp_would_hide(kernel: Kernel) -> None:
    shell = setting("systemd", kernel) + 'echo "$pid1 $keep"'
    said = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout
    pid1, *keep = said.split()
    assert pid1 == "systemd"
    assert str(kernel.directory) in keep
