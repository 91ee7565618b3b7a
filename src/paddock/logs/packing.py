"""Packing: a rotated file as gzip, in members of 256 KiB, each of which says how long it is.

Any gzip program reads it. To find a place in it one hops from member to member, and unpacks one:
however large the file is, a reader holds no more than that.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

MEMBER_BYTES: Final = 1 << 18
# A header with one extra field, "PK", that holds the length of the whole member.
_HEAD: Final = struct.Struct("<4BI2BH2sHI")
_MAGIC: Final = (0x1F, 0x8B, 8, 4)
_UNIX: Final = 3
_TRAILER: Final = struct.Struct("<II")
_OVERHEAD: Final = _HEAD.size + _TRAILER.size
# What cannot be packed grows a little; more than this nobody wrote who packs as we do.
_LONGEST: Final = MEMBER_BYTES + (MEMBER_BYTES >> 3) + _OVERHEAD
UNPACKED_KEPT: Final = 16  # members, 4 MiB

File = tuple[int, int, int, int]

try:
    from isal import igzip_lib, isal_zlib
except ImportError:  # no wheel for this machine

    def deflated(data: bytes) -> bytes:
        """Of a log, 10 times less. zlib at its quickest: 200 MB/s where isal does 1,090."""
        packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
        return packer.compress(data) + packer.flush()

    _crc32: Callable[[bytes], int] = zlib.crc32
else:

    def deflated(data: bytes) -> bytes:
        """Of a log, 10 times less, at 1,090 MB/s; zlib at its quickest does 200."""
        return igzip_lib.compress(data, 1, igzip_lib.COMP_DEFLATE)

    _crc32 = isal_zlib.crc32


class Damaged(Exception):
    """It is not what we packed: cut off, or written by somebody else."""


def pack(source_fd: int, target_fd: int, size: int) -> tuple[int, int]:
    """So many bytes of a file; how many there were, and how many lines."""
    done = lines = 0
    while done < size:
        data = os.pread(source_fd, min(MEMBER_BYTES, size - done), done)
        if not data:
            break
        lines += data.count(b"\n")
        _write(target_fd, member(data))
        done += len(data)
    return done, lines


def member(data: bytes) -> bytes:
    body = deflated(data)
    head = _HEAD.pack(*_MAGIC, 0, 0, _UNIX, 8, b"PK", 4, len(body) + _OVERHEAD)
    return head + body + _TRAILER.pack(_crc32(data), len(data))


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Unpacker:
    """Reads anywhere in packed files, from several threads; keeps the members it saw last.

    A file is known by its inode and the time it was packed: after that it never changes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: OrderedDict[tuple[File, int], bytes] = OrderedDict()
        self._places: OrderedDict[File, list[int]] = OrderedDict()

    def read(self, descriptor: int, at: int, most: int) -> bytes:
        """Empty where nothing is left, and where it cannot be read."""
        try:
            found = self._member(descriptor, at // MEMBER_BYTES)
        except (Damaged, OSError):
            return b""
        begin = at % MEMBER_BYTES
        return found[begin : begin + most]

    def extent(self, descriptor: int) -> int:
        """No more than so many bytes are in it."""
        try:
            return len(self._members_of(descriptor)[1]) * MEMBER_BYTES
        except OSError:
            return 0

    def _members_of(self, descriptor: int) -> tuple[File, list[int]]:
        facts = os.fstat(descriptor)
        file = (facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size)
        with self._lock:
            places = self._places.get(file)
        return file, list(_places(descriptor, facts.st_size)) if places is None else places

    def _member(self, descriptor: int, number: int) -> bytes:
        file, places = self._members_of(descriptor)
        with self._lock:
            known = self._members.get((file, number))
        if known is not None:
            return known
        if number >= len(places):
            return b""
        data = _unpacked(descriptor, places[number])
        with self._lock:
            self._members[file, number] = data
            self._places[file] = places
            if len(self._members) > UNPACKED_KEPT:
                self._members.popitem(last=False)
            if len(self._places) > UNPACKED_KEPT:
                self._places.popitem(last=False)
        return data


def _places(descriptor: int, size: int) -> Iterator[int]:
    """Where the members begin, as far as they can be followed."""
    at = 0
    while at < size:
        yield at
        try:
            at += _length(descriptor, at)
        except Damaged:
            return


def _length(descriptor: int, at: int) -> int:
    head = os.pread(descriptor, _HEAD.size, at)
    if len(head) < _HEAD.size:
        raise Damaged
    *magic, _, _, _, _, field, _, length = _HEAD.unpack(head)
    if tuple(magic) != _MAGIC or field != b"PK" or not _OVERHEAD < length <= _LONGEST:
        raise Damaged
    return int(length)


def _unpacked(descriptor: int, at: int) -> bytes:
    length = _length(descriptor, at)
    body = os.pread(descriptor, length, at)[_HEAD.size :]
    if len(body) != length - _HEAD.size:
        raise Damaged
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = unpacker.decompress(body[: -_TRAILER.size], MEMBER_BYTES)
    except zlib.error:
        raise Damaged from None
    if _TRAILER.unpack(body[-_TRAILER.size :]) != (_crc32(data), len(data)):
        raise Damaged
    return data
