"""The cgroup of a container, which its engine made: where it is, and whether its walls stand."""

from __future__ import annotations

import os
from typing import Final

from paddock.cgroups.files import number, read_or_empty
from paddock.cgroups.group import Group, Walls
from paddock.cgroups.mounts import UNIFIED, cgroups_of, directories_of
from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2

INNER: Final = "container"  # crun's name for one that it makes below the one with the walls


def group_of(pid: int, proc: str = "/proc") -> Group | None:
    """None if it is gone, if no memory controller is to be seen, or if it lives outside of what
    this process can see of the hierarchy."""
    if any(".." in path.split("/") for path in cgroups_of(pid, proc).values()):
        return None
    own = directories_of(pid, proc)
    if "memory" in own:
        return Group1(own)
    path = own.get(UNIFIED, "")
    if not os.path.exists(f"{path}/memory.stat"):  # noqa: PTH110
        return None
    above, _, name = path.rpartition("/")
    return Group2(above) if name == INNER and Group2(above).walls().limit_bytes else Group2(path)


def broken_wall(group: Group, asked: Walls) -> str | None:
    """Which wall is not what was asked for, read back from the kernel."""
    found, most = group.walls(), asked.limit_bytes or 0
    if found.limit_bytes is None or found.limit_bytes > most:
        return f"memory is limited to {found.limit_bytes or 'nothing'}, not to {most} bytes"
    swap = _swap_bytes(group)
    if swap is not None and swap > (0 if isinstance(group, Group2) else most):
        return f"swap is limited to {swap}, not to none"
    if asked.pids and (found.pids is None or found.pids > asked.pids):
        return f"processes are limited to {found.pids or 'nothing'}, not to {asked.pids}"
    return None


def _swap_bytes(group: Group) -> int | None:
    """Of v1 with the memory itself. None: this kernel counts none."""
    name = "memory.swap.max" if isinstance(group, Group2) else "memory.memsw.limit_in_bytes"
    text = read_or_empty(f"{group.path}/{name}").strip()
    return (number(text) if text != "max" else 1 << 62) if text else None
