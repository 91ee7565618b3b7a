"""Packed files: any gzip reads them, any place in them is found, and nothing breaks a reader."""

from __future__ import annotations

import gzip
import os
import random
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.logs import packing
from paddock.logs.packing import MEMBER_BYTES, UNPACKED_KEPT, Unpacker, pack

SIZE = 3 * MEMBER_BYTES + 1234


@pytest.fixture(params=["isal", "zlib"])
def deflate(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also as where there is no wheel of isal."""
    if request.param == "zlib":
        made = zlib.compressobj

        def deflated(data: bytes) -> bytes:
            packer = made(1, zlib.DEFLATED, -zlib.MAX_WBITS)
            return packer.compress(data) + packer.flush()

        monkeypatch.setattr(packing, "deflated", deflated)


@pytest.fixture
def data() -> bytes:
    chance = random.Random(1)
    lines = [b"line %d %d\n" % (n, chance.randrange(1 << 30)) for n in range(60_000)]
    return b"".join(lines)[:SIZE]


@pytest.fixture
def packed(tmp_path: Path, data: bytes, deflate: None) -> Iterator[int]:
    del deflate
    (tmp_path / "source").write_bytes(data)
    source = os.open(tmp_path / "source", os.O_RDONLY)
    target = os.open(tmp_path / "packed", os.O_RDWR | os.O_CREAT)
    assert pack(source, target, len(data)) == (len(data), data.count(b"\n"))
    os.close(source)
    yield target
    os.close(target)


def whole(descriptor: int) -> bytes:
    return os.pread(descriptor, 1 << 30, 0)


def test_any_gzip_program_reads_it(packed: int, data: bytes) -> None:
    assert gzip.decompress(whole(packed)) == data
    assert len(whole(packed)) < len(data) / 2


def test_any_place_is_found(packed: int, data: bytes) -> None:
    unpacker = Unpacker()
    for at in (0, 1, MEMBER_BYTES - 1, MEMBER_BYTES, 2 * MEMBER_BYTES + 5, SIZE - 1):
        found = unpacker.read(packed, at, 1000)
        assert found == data[at : at + min(1000, MEMBER_BYTES - at % MEMBER_BYTES)]
    assert unpacker.read(packed, SIZE, 10) == b""
    assert unpacker.read(packed, 10 * SIZE, 10) == b""


def test_a_reader_holds_some_members_and_not_the_file(tmp_path: Path) -> None:
    source = os.open(tmp_path / "zeros", os.O_RDWR | os.O_CREAT)
    os.truncate(source, 100 << 20)
    target = os.open(tmp_path / "packed", os.O_RDWR | os.O_CREAT)
    pack(source, target, 100 << 20)
    unpacker = Unpacker()
    tracemalloc.start()
    for at in range(0, 100 << 20, MEMBER_BYTES):
        assert len(unpacker.read(target, at, 100)) == 100
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (UNPACKED_KEPT + 4) * MEMBER_BYTES
    os.close(source)
    os.close(target)


@pytest.mark.parametrize("seed", range(30))
def test_damage_costs_bytes_and_nothing_else(packed: int, data: bytes, seed: int) -> None:
    """Cut off, or written over: what can still be read is right, the rest is empty."""
    chance = random.Random(seed)
    size = os.fstat(packed).st_size
    if seed % 2:
        os.ftruncate(packed, chance.randrange(size))
    else:
        os.pwrite(packed, chance.randbytes(200), chance.randrange(size - 200))
    unpacker = Unpacker()
    for at in range(0, SIZE, MEMBER_BYTES):
        assert unpacker.read(packed, at, 100) in (b"", data[at : at + 100])


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """An agent may write here: a member that would grow to a gigabyte is none of ours."""
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(bytes(200 << 20), 9))
    descriptor = os.open(bomb, os.O_RDONLY)
    assert Unpacker().read(descriptor, 0, 100) == b""
    os.close(descriptor)
