"""The cgroups this process lives in, its own and every ancestor's, and their memory limits.

Only reads. Making cgroups and setting walls is the drivers' work.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One directory of a hierarchy of cgroups, v1 or v2."""

    path: Path
    is_v2: bool


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """A cgroup's limit, and how much of it is in use and cannot be reclaimed, if it says so."""

    path: Path
    limit_bytes: int
    used_bytes: int | None

    @property
    def left_bytes(self) -> int | None:
        if self.used_bytes is None:
            return None
        return max(0, self.limit_bytes - self.used_bytes)


@dataclass(frozen=True, slots=True)
class _Hierarchy:
    """How one version of cgroups names the same facts."""

    limit_file: str
    use_fields: tuple[str, ...]


# Page cache is not use: it goes when it must. Shared memory cannot, without swap.
_V2 = _Hierarchy(
    "memory.max",
    ("anon", "shmem", "slab_unreclaimable", "kernel_stack", "pagetables", "percpu", "sock"),
)
# v1 does not say which of its kernel memory could be reclaimed, so none is counted here.
_V1 = _Hierarchy("memory.limit_in_bytes", ("total_rss", "total_shmem"))


@dataclass(frozen=True, slots=True)
class _Mount:
    cgroup_root: PurePosixPath  # the part of the hierarchy that is mounted
    mount_point: PurePosixPath
    is_v2: bool


def cgroups_above(controller: str, root: Path = Path("/")) -> list[Cgroup]:
    """This process's cgroup for a controller and all above it: v1, v2, or first one then the other.

    With v2 the controller need not be there: what it has no file of, nobody finds.
    """
    own = _own_cgroups(text_of(root / "proc/self/cgroup"))
    found = []
    for mount in _mounts(text_of(root / "proc/self/mountinfo"), controller):
        name = "" if mount.is_v2 else controller
        if name in own:
            paths = _upwards(mount, own[name])
            found += [Cgroup(root / str(path).lstrip("/"), mount.is_v2) for path in paths]
    return found


def memory_limits(
    root: Path = Path("/"),
    *,
    below_bytes: int | None = None,
    cgroups: Iterable[Cgroup] | None = None,
) -> list[MemoryLimit]:
    """Every limit that is set on the way from this process's cgroup up; unreadable ones are not.

    Only those below a size: a root cgroup's memory.stat is the dearest file of all to read.
    """
    above = cgroups_above("memory", root) if cgroups is None else cgroups
    found = (_limit(cgroup, below_bytes) for cgroup in above)
    return [limit for limit in found if limit is not None]


def _own_cgroups(text: str) -> dict[str, PurePosixPath]:
    """Path by controller, "" for v2: lines are `4:memory:/a/b` and `0::/a/b`."""
    own = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and parts[2].startswith("/"):
            for controller in parts[1].split(","):
                own[controller] = PurePosixPath(parts[2])
    return own


def _mounts(text: str, controller: str) -> Iterator[_Mount]:
    """Lines are `31 24 0:26 ROOT MOUNTPOINT opts … - cgroup SOURCE rw,memory` (proc(5))."""
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if not dash or len(fields) < 5 or len(kind) < 3:
            continue
        paths = PurePosixPath(_unescaped(fields[3])), PurePosixPath(_unescaped(fields[4]))
        if kind[0] == "cgroup2":
            yield _Mount(*paths, is_v2=True)
        elif kind[0] == "cgroup" and controller in kind[2].split(","):
            yield _Mount(*paths, is_v2=False)


def _upwards(mount: _Mount, own: PurePosixPath) -> Iterator[PurePosixPath]:
    """From our own cgroup's directory to the mount point.

    In a container the hierarchy is often mounted from the container's cgroup down while /proc
    still tells the host's path, or a path with `..`: then the mount point is all there is to see.
    """
    inside = PurePosixPath(".")
    if own.is_relative_to(mount.cgroup_root) and ".." not in own.parts:
        inside = own.relative_to(mount.cgroup_root)
    yield mount.mount_point / inside
    for parent in inside.parents:
        yield mount.mount_point / parent


def _limit(cgroup: Cgroup, below_bytes: int | None) -> MemoryLimit | None:
    hierarchy = _V2 if cgroup.is_v2 else _V1
    limit_bytes = whole_number(text_of(cgroup.path / hierarchy.limit_file).strip())
    # "max" is v2's word for none. A limit of 0 is garbage: nothing could be running in it.
    if not limit_bytes or (below_bytes is not None and limit_bytes >= below_bytes):
        return None
    stat = _stat(text_of(cgroup.path / "memory.stat"))
    used = [stat[name] for name in hierarchy.use_fields if name in stat]
    # Without the first field (anonymous memory) the rest would be a guess.
    known = hierarchy.use_fields[0] in stat
    return MemoryLimit(cgroup.path, limit_bytes, sum(used) if known else None)


def whole_number(text: str) -> int | None:
    """None unless it is one; kernel counters have 64 bits, so 20 digits at most."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else None


def _stat(text: str) -> dict[str, int]:
    fields = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        value = whole_number(rest)
        if value is not None:
            fields[name] = value
    return fields


def _unescaped(path: str) -> str:
    """mountinfo writes space, tab, newline and backslash in octal."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(code, char)
    return path


def text_of(path: Path) -> str:
    """A small file of the kernel's; empty where it cannot be read.

    By descriptor: `read_text` takes 25 µs a file, this 11, and there are a dozen a look.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError):  # ValueError: a NUL in a path that /proc told
        return ""
    try:
        parts = list(iter(lambda: os.read(descriptor, 1 << 16), b""))
    except OSError:  # PSI that is switched off says so only here
        return ""
    finally:
        os.close(descriptor)
    return b"".join(parts).decode("utf-8", "replace")
