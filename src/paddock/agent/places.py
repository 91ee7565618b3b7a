"""Which cgroup limits this process: the nearest above it that has a limit, v1 or v2."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_DIGITS = 20
NO_LIMIT = 1 << 60  # v1 has no word for none, only a number that no machine has
ONE_READ = 1 << 16


class Place(NamedTuple):
    """One cgroup's directory, its limits, and how its version calls things."""

    path: str
    limit: int
    high: int | None
    used_file: str
    reclaimable: tuple[str, ...]  # in memory.stat


V1 = ("memory.usage_in_bytes", ("total_active_file", "total_inactive_file"))
V2 = ("memory.current", ("active_file", "inactive_file", "slab_reclaimable"))


def limited_place(root: str = "") -> Place | None:
    """`root` stands for `/` in tests."""
    own = _own_cgroups(f"{root}/proc")
    for is_v2, top, point in _mounts(f"{root}/proc"):
        cgroup = own.get("" if is_v2 else "memory")
        if cgroup is None:
            continue
        for path in _upwards(root + point, _inside(cgroup, top)):
            found = _place(path, is_v2=is_v2)
            if found is not None:
                return found
    return None


def _place(path: str, *, is_v2: bool) -> Place | None:
    limit = number(read(f"{path}/{'memory.max' if is_v2 else 'memory.limit_in_bytes'}"))
    if not limit or limit >= NO_LIMIT:
        return None
    if is_v2:
        return Place(path, limit, number(read(f"{path}/memory.high")), *V2)
    return Place(path, limit, None, *V1)


def _own_cgroups(proc: str) -> dict[str, str]:
    """Lines are `4:memory:/a/b`, and `0::/a/b` for v2."""
    found: dict[str, str] = {}
    # Not splitlines(): a cgroup's name may hold any sign but a newline.
    for line in read(f"{proc}/self/cgroup").split("\n"):
        parts = line.split(":", 2)
        if len(parts) == 3:
            found |= dict.fromkeys(parts[1].split(","), parts[2])
    return found


def _mounts(proc: str) -> Iterator[tuple[bool, str, str]]:
    """Lines are `31 24 0:26 ROOT POINT options … - cgroup SOURCE rw,memory` (proc(5))."""
    for line in read(f"{proc}/self/mountinfo").split("\n"):
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(kind) < 3:
            continue
        is_v1 = kind[0] == "cgroup" and "memory" in kind[2].split(",")
        if is_v1 or kind[0] == "cgroup2":
            yield not is_v1, _plain(fields[3]), _plain(fields[4])


def _inside(cgroup: str, top: str) -> str:
    """Below the mount. In a container /proc may tell a path that is not mounted: then its top."""
    if top == "/":
        return "" if ".." in cgroup.split("/") else cgroup.rstrip("/")
    if cgroup == top or cgroup.startswith(f"{top}/"):
        return cgroup[len(top) :].rstrip("/")
    return ""


def _upwards(point: str, inside: str) -> Iterator[str]:
    while inside:
        yield point + inside
        inside = inside.rpartition("/")[0]
    yield point


def _plain(path: str) -> str:
    """mountinfo writes space, tab, newline and backslash in octal."""
    if "\\" not in path:
        return path
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(code, char)
    return path


def read(path: str) -> str:
    """Empty where it is not there, or not for us."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    text = b""
    try:
        while piece := os.read(descriptor, ONE_READ):
            text += piece
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return text.decode("utf-8", "surrogateescape")


def number(text: str) -> int | None:
    """None for `max`, which is no number, and for whatever else is none."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


def table(text: str) -> dict[str, int]:
    """Lines of `name value`, or of `Name: value kB`."""
    found = {}
    for line in text.splitlines():
        name, *rest = line.split()[:3] or [""]
        value = number(rest[0]) if rest else None
        if value is not None:
            found[name.rstrip(":")] = value * (1024 if rest[1:] == ["kB"] else 1)
    return found
