"""Cgroups made by hand: created, joined, listed, removed. Within the fleet's wall where it is."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import NamedTuple

from paddock.cgroups.files import number, read_or_empty
from paddock.cgroups.group import Group, Walls
from paddock.cgroups.home import Home, NoHome, find_home
from paddock.cgroups.v2 import Group2

from .agents import BY_HAND, is_alive
from .killing import thaw_all
from .records import Records, read_home

LONGEST_NAME = 64
# No dot: `NAME.7` beside the attempts would be taken for one, and tidied away by the daemon.
ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
# Without a paddock to live in. As a home it is called paddock-hand.
NOBODYS = "hand"


class BadName(ValueError):
    """Says what is wrong with it."""


class NotMade(Exception):
    """No cgroup, or not with these walls; says why."""


class Made(NamedTuple):
    name: str
    group: Group


def checked(name: str) -> str:
    if not name:
        raise BadName("a cgroup needs a name")
    if len(name) > LONGEST_NAME:
        raise BadName(f"{name[:20]!r}… is too long for a cgroup: at most {LONGEST_NAME} letters")
    if not set(name) <= ALLOWED:
        raise BadName(f"{name!r} cannot name a cgroup: letters, digits, _ and - are allowed")
    return name


class ByHand:
    def __init__(self, records: Records) -> None:
        self._records = records
        self._home: Home | None = None
        self._problem = ""
        self._parent = self._find()

    def _find(self) -> Group | None:
        """In the fleet of the paddock that runs here; else where a paddock could have its home."""
        there = read_home(self._records)
        if there is not None and there.fleet.exists():
            return there.fleet
        try:
            self._home = find_home(NOBODYS)
        except NoHome as error:
            self._problem = str(error)
            return None
        return self._home.group

    def find(self, name: str) -> Group | None:
        checked(name)
        group = None if self._parent is None else self._parent.child(BY_HAND + name)
        return group if group is not None and group.exists() else None

    def all(self) -> list[Made]:
        parent = self._parent
        if parent is None:
            return []
        names = [name for name in parent.children() if name.startswith(BY_HAND)]
        return [Made(name.removeprefix(BY_HAND), parent.child(name)) for name in names]

    def create(self, name: str, walls: Walls, *, must_have: Sequence[str] = ()) -> Group:
        """With all its walls, or not at all. FileExistsError: there is one of that name."""
        if self._parent is None:
            raise NotMade(f"no cgroup can be made here: {self._problem}")
        group = self._parent.child(BY_HAND + checked(name))
        try:
            self._move_in(self._parent)
            group.make()
        except FileExistsError:
            raise
        except OSError as error:
            self._tidy()
            raise NotMade(f"{group.path} cannot be made: {error.strerror or error}") from None
        try:
            group.set(walls)
            self._check(group, must_have)
        except (OSError, NotMade) as error:
            self.remove(group)
            raise NotMade(f"{name} would have no wall: {error}") from None
        return group

    def _move_in(self, parent: Group) -> None:
        if self._home is None:
            return
        parent.ensure()
        if self._home.version == 2:
            Group2(parent.path.rpartition("/")[0]).hand_down()
        parent.hand_down()

    @staticmethod
    def _check(group: Group, must_have: Sequence[str]) -> None:
        missing = [*group.missing(), *(() if isinstance(group, Group2) else ("high",))]
        lacking = [name for name in must_have if name in missing]
        if lacking:
            raise NotMade(f"cgroups of this host cannot wall {', '.join(lacking)}")

    def remove(self, group: Group) -> bool:
        """False while processes are in it. With the last one goes what was made around it."""
        gone = group.remove()
        self._tidy()
        return gone

    def _tidy(self) -> None:
        parent = self._parent if self._home is not None else None
        if parent is not None and not parent.children():
            parent.remove()


def limit_bytes(group: Group) -> int | None:
    for name in ("memory.max", "memory.limit_in_bytes"):
        found = number(read_or_empty(f"{group.path}/{name}"))
        if found is not None:
            return found
    return None


def processes(group: Group) -> int:
    return sum(is_alive(pid) for pid in group.pids())


def kill(group: Group) -> None:
    group.kill()
    thaw_all(group)


def become(group: Group, command: Sequence[str]) -> None:
    """Joins and turns into the command; returns only by raising OSError."""
    group.join(os.getpid())
    # Python ignores these two, and what is ignored stays so through an exec.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execvp(command[0], list(command))
