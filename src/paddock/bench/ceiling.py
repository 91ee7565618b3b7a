"""A small host inside this one: a cgroup with a limit, so that no measurement can take the machine.

What a daemon inside calls the host's memory is this limit, so all that paddock does on a host of
that size is seen, and what goes wrong goes wrong in there.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar
from zlib import crc32

from paddock.cgroups.group import Counters, Group, Walls
from paddock.cgroups.home import could_hold
from paddock.cgroups.mounts import UNIFIED, directories_of, top_of, upwards
from paddock.cgroups.v1 import WANTED, Group1
from paddock.cgroups.v2 import Group2
from paddock.config.places import Places, find_places
from paddock.drivers.local.keeper.members import look_at

NAME: Final = "paddock-bench-"
GONE_S: Final = 30.0  # for what was killed to leave
# Joins before it becomes the program, so that nothing of it is counted elsewhere.
JOIN: Final = 'for file in $0; do echo 0 >"$file" || exit 99; done; exec "$@"'


class NoCeiling(Exception):
    """Says why none can be had here, and what to do."""


class Ceiling:
    def __init__(self, group: Group, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.group = group
        self.inside = group.child("inside")
        self.inside.ensure()

    @property
    def join(self) -> tuple[str, ...]:
        """What to put before a command that is to run in here."""
        return ("/bin/sh", "-c", JOIN, " ".join(self.inside.procs))

    def used_bytes(self) -> int:
        return self.group.used_bytes()

    def counters(self) -> Counters:
        return self.group.counters()

    def end(self) -> None:
        """Whatever is left in it is ended: it was all ours."""
        _end(self.group)


SomeCeiling = TypeVar("SomeCeiling", bound=Ceiling)


def _end(group: Group) -> None:
    give_up_at = time.monotonic() + GONE_S
    while not group.remove():
        group.kill()
        if time.monotonic() > give_up_at:
            raise NoCeiling(f"processes in {group.path} could not be ended")
        time.sleep(0.05)


def label_of(places: Places) -> str:
    """Whose it is: by the paddock beside which it was made."""
    return f"{crc32(os.fsencode(places.state)):08x}"


@contextmanager
def a_ceiling(limit_bytes: int) -> Iterator[Ceiling]:
    mine = f"{NAME}{label_of(find_places())}-"
    group = _place(f"{mine}{os.getpid()}-{secrets.token_hex(4)}")
    _clear_left(group, mine)
    with raised(group, limit_bytes, Ceiling) as ceiling:
        yield ceiling


@contextmanager
def raised(group: Group, limit_bytes: int, kind: type[SomeCeiling]) -> Iterator[SomeCeiling]:
    """A cgroup that is not there yet: made, limited, and in the end gone."""
    try:
        group.make()
        group.set(Walls(limit_bytes=limit_bytes))
        group.hand_down()
        ceiling = kind(group, limit_bytes)
    except OSError as error:
        group.remove()
        raise NoCeiling(f"no cgroup with a limit can be made in {group.path}: {error}") from None
    try:
        yield ceiling
    finally:
        ceiling.end()


def _clear_left(beside: Group, mine: str) -> None:
    """Of measurements that were killed: by the number of the process, which is in the name."""
    above, _, _ = beside.path.rpartition("/")
    for name in os.listdir(above):  # noqa: PTH208
        pid = name.removeprefix(mine).partition("-")[0] if name.startswith(mine) else ""
        if pid.isdigit() and look_at(int(pid)) is None:
            with suppress(NoCeiling):  # what is still leaving goes with the next one
                _end(_place(name))


def _place(name: str) -> Group:
    """Below our own cgroup where that can be, so that no limit around us is left behind."""
    own = directories_of()
    if UNIFIED in own and (top := top_of(UNIFIED)) is not None:
        for directory in upwards(own[UNIFIED], top):
            if could_hold(directory):
                return Group2(f"{directory}/{name}")
    found = {kind: own[kind] for kind in WANTED if kind in own}
    if "memory" in found and os.access(found["memory"], os.W_OK):
        return Group1(found).child(name)
    raise NoCeiling(
        "--within needs a cgroup that this user may divide: be root, or call it through "
        "`systemd-run --user --scope -p Delegate=yes paddock bench …`"
    )
