"""What a process has for itself, as its own figures say it."""

from __future__ import annotations

import mmap
import os

from paddock.drivers.local.rough import rough_bytes

MIB = 2**20


def test_memory_of_its_own_counts_and_what_it_only_maps_does_not() -> None:
    pid = os.getpid()
    before = rough_bytes(pid)
    # Not from the heap: what others have left there would be used again.
    own = mmap.mmap(-1, 32 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    own.write(b"x" * len(own))
    grown = rough_bytes(pid) - before
    assert 31 * MIB < grown < 40 * MIB
    with open("/proc/self/exe", "rb") as file:  # noqa: PTH123
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        assert sum(mapped[:: mmap.PAGESIZE]) >= 0  # every page of it was touched
        assert rough_bytes(pid) - before < grown + 4 * MIB
        mapped.close()
    own.close()


def test_large_shared_memory_counts() -> None:
    pid = os.getpid()
    before = rough_bytes(pid)
    shared = mmap.mmap(-1, 96 * MIB)
    for at in range(0, len(shared), mmap.PAGESIZE):
        shared[at] = 1
    assert rough_bytes(pid) - before > 90 * MIB
    shared.close()


def test_one_that_is_gone_has_nothing() -> None:
    assert rough_bytes(4_999_999) == 0
