"""What a process has for itself, roughly: for agents without a cgroup. Imports next to nothing."""

from __future__ import annotations

import os

from paddock.drivers.local.keeper.members import read_proc

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Programs share 5 to 60 MB of their own text and libraries; above, it may be shared memory.
SHARED_WORTH_A_LOOK_BYTES = 64 << 20


def rough_bytes(pid: int) -> int:
    """What is resident and not shared: 4 µs where the exact figure (PSS) takes 50 and more."""
    fields = read_proc(pid, "statm").split()
    if len(fields) < 3:
        return 0
    resident, shared = int(fields[1]), int(fields[2])
    anonymous = (resident - shared) * PAGE_BYTES
    if shared * PAGE_BYTES < SHARED_WORTH_A_LOOK_BYTES:
        return anonymous
    return anonymous + kilobytes(read_proc(pid, "status"), b"RssShmem:")


def kilobytes(text: bytes, name: bytes) -> int:
    """Of a line `name 12 kB`, in bytes."""
    _, found, rest = text.partition(name)
    return int(rest.split(None, 1)[0]) * 1024 if found else 0
