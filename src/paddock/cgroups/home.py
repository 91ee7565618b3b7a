"""Where a paddock has its cgroups: `…/paddock-NAME` with `supervisor` and `fleet` below it.

Below its own cgroup, so that no limit around it is left behind; below `/sys/fs/cgroup/paddock`
where the host was set up; or in a scope that systemd gave it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from .files import number, read_or_empty
from .group import Group
from .mounts import UNIFIED, directories_of, top_of, upwards
from .v1 import WANTED as WANTED_V1
from .v1 import Group1
from .v2 import Group2

OURS = "paddock"
FLEET, SUPERVISOR = "fleet", "supervisor"


class NoHome(Exception):
    """No walls can be had here; says why, and what would help."""


@dataclass(frozen=True, slots=True)
class Home:
    group: Group
    version: int
    because: str  # why here, for people

    @property
    def fleet(self) -> Group:
        return self.group.child(FLEET)

    @property
    def supervisor(self) -> Group:
        return self.group.child(SUPERVISOR)


def find_home(name: str, *, proc: str = "/proc") -> Home:
    """The strongest there is. Nothing is made or moved yet; NoHome says what is in the way."""
    own = directories_of(proc=proc)
    problems = []
    for find in (_home_v2, _home_v1):
        try:
            return find(name, own, proc)
        except NoHome as error:
            problems.append(str(error))
    raise NoHome("; ".join(problems))


# -- v2 -----------------------------------------------------------------------------------------


def _home_v2(name: str, own: dict[str, str], proc: str) -> Home:
    if UNIFIED not in own:
        raise NoHome("cgroup v2 is not mounted")
    top = top_of(UNIFIED, proc)
    assert top is not None
    if "memory" not in Group2(top).controllers() | Group2(own[UNIFIED]).controllers():
        raise NoHome("cgroup v2 has no memory controller here")
    here = outermost(own[UNIFIED])
    if here is not None:
        return Home(Group2(here), 2, "it already lives there")
    prepared = f"{top}/{OURS}"
    if _usable(prepared, own[UNIFIED]):
        return Home(Group2(f"{prepared}/{OURS}-{name}"), 2, "the host was set up for it")
    for directory in upwards(own[UNIFIED], top):
        if could_hold(directory):
            return Home(Group2(f"{directory}/{OURS}-{name}"), 2, f"below {directory}")
        if number(read_or_empty(f"{directory}/memory.max")) is not None:
            raise NoHome(
                f"the cgroup {directory} has a memory limit and other processes in it, so walls "
                "can be made neither in it nor outside it"
            )
    raise NoHome(f"no cgroup above {own[UNIFIED]} can be written by this user")


def outermost(path: str) -> str | None:
    """`…/paddock-x` of a process in `…/paddock-x/supervisor`."""
    parts = path.split("/")
    if parts[-1] == SUPERVISOR and parts[-2].startswith(OURS):
        return "/".join(parts[:-1])
    return None


def _may_use(directory: str) -> bool:
    files = (directory, f"{directory}/cgroup.procs", f"{directory}/cgroup.subtree_control")
    return all(os.access(file, os.W_OK) for file in files)


def _usable(prepared: str, own: str) -> bool:
    is_there = os.path.isdir(prepared)  # noqa: PTH112
    return is_there and _may_use(prepared) and _may_move(own, prepared)


def _may_move(own: str, to: str) -> bool:
    """Who moves a process needs the right to write in the cgroup above both places (v2)."""
    above = os.path.commonpath([own, to])
    return os.access(f"{above}/cgroup.procs", os.W_OK)


def could_hold(directory: str) -> bool:
    """Groups with memory walls below it: handed down already, or we can still do so, which needs a
    cgroup without processes, or with none but us (we move), or the root of all."""
    group = Group2(directory)
    if not _may_use(directory) or "memory" not in group.controllers():
        return False
    if "memory" in group.handed_down():
        return True
    is_root = not os.path.exists(f"{directory}/cgroup.events")  # noqa: PTH110
    return is_root or set(_pids_here(directory)) <= {os.getpid()}


def _pids_here(directory: str) -> list[int]:
    return [int(word) for word in read_or_empty(f"{directory}/cgroup.procs").split()]


# -- v1 -----------------------------------------------------------------------------------------


def _home_v1(name: str, own: dict[str, str], proc: str) -> Home:
    if "memory" not in own:
        raise NoHome("cgroup v1 has no memory controller here")
    prepared = _prepared_v1(proc)
    if prepared is not None:
        return Home(prepared.child(f"{OURS}-{name}"), 1, "the host was set up for it")
    here = outermost(own["memory"])
    if here is not None:
        found = {each: outermost(path) or path for each, path in own.items()}
        return Home(Group1(found), 1, "it already lives there")
    usable = {
        each: path for each, path in own.items() if each in WANTED_V1 and os.access(path, os.W_OK)
    }
    if "memory" not in usable:
        raise NoHome(f"the cgroup {own['memory']} cannot be written by this user")
    group = Group1(usable).child(f"{OURS}-{name}")
    return Home(group, 1, f"below {usable['memory']}")


def _prepared_v1(proc: str) -> Group1 | None:
    found = {}
    for controller in WANTED_V1:
        top = top_of(controller, proc)
        path = f"{top}/{OURS}"
        if top is not None and os.path.isdir(path) and os.access(path, os.W_OK):  # noqa: PTH112
            found[controller] = path
    return Group1(found) if "memory" in found else None


# -- moving in ----------------------------------------------------------------------------------


def move_in(home: Home, *, pids: tuple[int, ...] = ()) -> None:
    """Makes what is not there, moves these processes and ourselves out of the way, and lets the
    fleet have walls. OSError says what could not be done."""
    for group in (home.group, home.supervisor):
        group.ensure()
    for pid in (os.getpid(), *pids):
        home.supervisor.join(pid)
    parent = home.group.path.rpartition("/")[0]
    if home.version == 2:
        Group2(parent).hand_down()
    home.group.hand_down()
    home.fleet.ensure()
    home.fleet.hand_down()
