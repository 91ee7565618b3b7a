"""The memory limits of the cgroups this process lives in, its own and every ancestor's.

Only reads. Making cgroups and setting walls is the drivers' work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


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
    hierarchy: _Hierarchy
    cgroup_root: PurePosixPath  # the part of the hierarchy that is mounted
    mount_point: PurePosixPath


def memory_limits(root: Path = Path("/")) -> list[MemoryLimit]:
    """Every limit that is set on the way from this process's cgroup up; unreadable ones are not."""
    own = _own_cgroups(_text(root / "proc/self/cgroup"))
    found = []
    for mount in _memory_mounts(_text(root / "proc/self/mountinfo")):
        name = "" if mount.hierarchy is _V2 else "memory"
        if name not in own:
            continue
        for path in _upwards(mount, own[name]):
            limit = _limit(root / str(path).lstrip("/"), mount.hierarchy)
            if limit is not None:
                found.append(limit)
    return found


def _own_cgroups(text: str) -> dict[str, PurePosixPath]:
    """Path by controller, "" for v2: lines are `4:memory:/a/b` and `0::/a/b`."""
    own = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and parts[2].startswith("/"):
            for controller in parts[1].split(","):
                own[controller] = PurePosixPath(parts[2])
    return own


def _memory_mounts(text: str) -> Iterator[_Mount]:
    """Lines are `31 24 0:26 ROOT MOUNTPOINT opts … - cgroup SOURCE rw,memory` (proc(5))."""
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if not dash or len(fields) < 5 or len(kind) < 3:
            continue
        paths = PurePosixPath(_unescaped(fields[3])), PurePosixPath(_unescaped(fields[4]))
        if kind[0] == "cgroup2":
            yield _Mount(_V2, *paths)
        elif kind[0] == "cgroup" and "memory" in kind[2].split(","):
            yield _Mount(_V1, *paths)


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


def _limit(directory: Path, hierarchy: _Hierarchy) -> MemoryLimit | None:
    limit_bytes = whole_number(_text(directory / hierarchy.limit_file).strip())
    # "max" is v2's word for none. A limit of 0 is garbage: nothing could be running in it.
    if not limit_bytes:
        return None
    stat = _stat(_text(directory / "memory.stat"))
    used = [stat[name] for name in hierarchy.use_fields if name in stat]
    # Without the first field (anonymous memory) the rest would be a guess.
    known = hierarchy.use_fields[0] in stat
    return MemoryLimit(directory, limit_bytes, sum(used) if known else None)


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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
