"""Leaving an agent's cgroup at birth, and the supervisor's at the end; for keeper and daemon.

Who is started inside an agent must not be charged to it, frozen with it or killed with it. Told by
the path and not by the environment, which an agent may have cleared: agents live in
`…/paddock…/fleet/LEAF`, and who looks after them in `…/paddock…/supervisor` beside it.
"""

# pathlib would cost 1.4 MB and contextlib 0.6 MB of memory.
# ruff: noqa: PTH102, PTH106, PTH123, SIM105
from __future__ import annotations

import os

OURS = "paddock"
FLEET, SUPERVISOR = "fleet", "supervisor"
VERSION_2 = "cgroup2"


def leave_agents_cgroups(proc: str = "/proc/self") -> list[str]:
    """In every hierarchy where we are in an agent's; one line for each that holds us back."""
    troubles = []
    mounts = _mounts(f"{proc}/mountinfo")
    for line in _lines(f"{proc}/cgroup"):
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        home = home_of(path)
        if home is None:
            continue
        where = _place(mounts, controllers, home)
        try:
            _enter(where or "")
        except OSError as error:
            hindrance = f"{where}: {error.strerror}" if where else "its hierarchy is not mounted"
            troubles.append(f"stays in an agent's cgroup ({path}): {hindrance}")
    return troubles


def home_of(path: str) -> str | None:
    """Where the supervisor of the innermost paddock lives; None if this is no agent's cgroup."""
    parts = path.split("/")
    for at in range(len(parts) - 2, 0, -1):
        if parts[at] == FLEET and parts[at - 1].startswith(OURS):
            return "/".join([*parts[:at], SUPERVISOR])
    return None


def leave_home(proc: str = "/proc/self") -> None:
    """With no agent left: up, and the last one who leaves takes the empty cgroups along.

    Where processes may not live above (v2, below other than its root) everything stays as it is,
    for the next daemon.
    """
    mounts = _mounts(f"{proc}/mountinfo")
    for line in _lines(f"{proc}/cgroup"):
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        parts = path.split("/")
        if len(parts) < 3 or parts[-1] != SUPERVISOR or not parts[-2].startswith(OURS):
            continue
        home = _place(mounts, controllers, "/".join(parts[:-1]))
        if home is None:
            continue
        try:
            _join(home.rpartition("/")[0])
            for directory in (f"{home}/{SUPERVISOR}", f"{home}/{FLEET}", home):
                os.rmdir(directory)
        except OSError:
            continue


def _enter(directory: str) -> None:
    try:
        os.mkdir(directory)
    except FileExistsError:
        pass
    _join(directory)


def _join(directory: str) -> None:
    with open(f"{directory}/cgroup.procs", "w", encoding="ascii") as file:
        file.write("0")


def _place(mounts: list[tuple[set[str], str, str]], controllers: str, path: str) -> str | None:
    """A hierarchy may be mounted from below its top, as inside containers."""
    wanted = set(controllers.split(",")) if controllers else {VERSION_2}
    for has, root, point in mounts:
        if wanted <= has and root == "/":
            return point + path
        if wanted <= has and path.startswith(root + "/"):
            return point + path[len(root) :]
    return None


def _mounts(mountinfo: str) -> list[tuple[set[str], str, str]]:
    """The controllers of each mounted hierarchy, which part of it is mounted, and where."""
    found = []
    for line in _lines(mountinfo):
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", VERSION_2):
            continue
        has = {VERSION_2} if kind[0] == VERSION_2 else set(kind[2].split(","))
        found.append((has, _plain(fields[3]), _plain(fields[4])))
    return found


def _plain(path: str) -> str:
    return path.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            return file.read().split("\n")  # not splitlines(): names hold any sign but that
    except OSError:
        return []
