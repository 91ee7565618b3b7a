"""Where the hierarchies of cgroups are mounted, and where in them a process lives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .files import lines_of

UNIFIED = "unified"  # the name of the v2 hierarchy here; the kernel gives it none


@dataclass(frozen=True, slots=True)
class Mount:
    """`root` is the part of the hierarchy that is mounted at `point`; in a container not all is."""

    controllers: frozenset[str]  # only UNIFIED for v2: there they differ from cgroup to cgroup
    root: str
    point: str

    def path(self, cgroup: str) -> str | None:
        """The directory of a cgroup as /proc names it; None if this mount does not show it."""
        if ".." in cgroup.split("/"):
            return self.point
        if self.root == "/":
            return self.point + cgroup.rstrip("/")
        if cgroup == self.root or cgroup.startswith(self.root + "/"):
            return self.point + cgroup[len(self.root) :].rstrip("/")
        return None


def mounts(proc: str = "/proc") -> list[Mount]:
    """Lines are `31 24 0:26 ROOT POINT options … - cgroup SOURCE rw,memory` (proc(5))."""
    found = []
    for line in lines_of(f"{proc}/self/mountinfo"):
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        options = frozenset(kind[2].split(","))
        controllers = frozenset({UNIFIED}) if kind[0] == "cgroup2" else options
        found.append(Mount(controllers, _plain(fields[3]), _plain(fields[4])))
    return found


def cgroups_of(pid: int | str = "self", proc: str = "/proc") -> dict[str, str]:
    """By controller, as /proc names them: lines are `4:memory:/a/b` and `0::/a/b`."""
    found: dict[str, str] = {}
    for line in lines_of(f"{proc}/{pid}/cgroup"):
        parts = line.split(":", 2)
        if len(parts) == 3:
            found |= dict.fromkeys(parts[1].split(",") if parts[1] else (UNIFIED,), parts[2])
    return found


def directories_of(pid: int | str = "self", proc: str = "/proc") -> dict[str, str]:
    """The directory of each of its cgroups, by controller, as far as they are mounted."""
    found: dict[str, str] = {}
    known = mounts(proc)
    for name, cgroup in cgroups_of(pid, proc).items():
        for mount in known:
            path = mount.path(cgroup) if name in mount.controllers else None
            if path is not None:
                found[name] = path
                break
    return found


def cgroup_at(directory: str, controller: str, proc: str = "/proc") -> str | None:
    """What /proc calls the cgroup of a directory: the way back from `Mount.path`."""
    for mount in mounts(proc):
        below = directory.removeprefix(mount.point)
        if controller in mount.controllers and below.startswith("/") and below != directory:
            return below if mount.root == "/" else mount.root + below
    return None


class Place(NamedTuple):
    """One directory of a hierarchy."""

    path: str
    is_v2: bool


def places_above(controller: str, *, root: str = "") -> list[Place]:
    """This process's cgroup for a controller and all above it: v1, v2, or first one then the other.
    With v2 the controller need not be there: what it has no file of, nobody finds. `root` stands
    for `/` in tests."""
    own = cgroups_of(proc=f"{root}/proc")
    found = []
    for mount in mounts(f"{root}/proc"):
        is_v2 = UNIFIED in mount.controllers
        name = UNIFIED if is_v2 else controller
        if name in own and name in mount.controllers:
            # In a container /proc may tell a path that is not mounted: then its top is ours.
            path = mount.path(own[name]) or mount.point
            found += [Place(root + each, is_v2) for each in upwards(path, mount.point)]
    return found


def upwards(path: str, top: str) -> Iterator[str]:
    """A directory and all above it, as far as the top."""
    yield path
    while path != top and path.startswith(top):
        path = path.rpartition("/")[0]
        yield path


def top_of(controller: str, proc: str = "/proc") -> str | None:
    """Where a hierarchy is mounted: the highest that can be seen of it."""
    for mount in mounts(proc):
        if controller in mount.controllers:
            return mount.point
    return None


def _plain(path: str) -> str:
    """mountinfo writes space, tab, newline and backslash in octal."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(code, char)
    return path
