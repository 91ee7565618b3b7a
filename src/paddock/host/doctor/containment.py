"""Which walls agents get here: those of the daemon that runs, or those that one would find."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

from paddock.cgroups.group import Group
from paddock.cgroups.home import Home, NoHome, could_hold, find_home, outermost
from paddock.cgroups.mounts import UNIFIED, directories_of
from paddock.cgroups.protection import KEPT_BYTES, in_the_way, protected_bytes
from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2
from paddock.host.doctor.facts import Facts
from paddock.host.setup.plan_cgroups import way_in

Word = Literal["cgroup2", "cgroup1", "systemd", "none"]
PREPARED: Final = "paddock"
NO_IMAGE: Final = "no image to begin with: sandbox.container_image names none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """What holds whatever an agent does. Without walls some of it holds only as far as it is
    seen in time, and is not promised."""

    hard_memory_wall: bool = False
    fleet_wall: bool = False
    no_swap: bool = False
    pids_wall: bool = False
    kills_whole_tree: bool = False
    catches_escapes: bool = False
    can_freeze: bool = True
    survives_daemon: bool = True
    keeps_daemon_memory: bool = False  # from the kernel, however hard the rest presses

    def as_json(self) -> dict[str, bool]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Containment:
    word: Word
    because: str
    promises: Promises
    home: Home | None = None
    missing: tuple[str, ...] = ()  # kinds of walls, as `Group.missing` says them
    not_kept_by: tuple[str, ...] = ()  # cgroups above that keep no memory for daemon and keeper
    mend: str | None = None  # what would give (more) walls
    chosen: bool = False  # none, because the configuration says so


def of_daemon(pid: int, facts: Facts) -> Containment:
    """By where it lives: that is true, whatever it found when it was started."""
    own = directories_of(pid)
    path = own.get("memory") or own.get(UNIFIED, "")
    home = outermost(path)
    if home is None:
        return without_walls("the daemon that runs found no walls", mend=_mend(facts))
    if "memory" in own:
        group: Group = Group1({each: outermost(where) or where for each, where in own.items()})
        return with_walls(Home(group, 1, "its daemon lives there"), facts)
    return with_walls(Home(Group2(home), 2, "its daemon lives there"), facts)


def predicted(facts: Facts) -> Containment:
    """What a daemon would find if it were started from here."""
    if not facts.linux:
        return without_walls("only Linux has cgroups; containers have walls everywhere")
    own = directories_of().get(UNIFIED)
    if facts.systemd and own is not None and not could_hold(own):
        scope = _by_systemd(facts)
        if scope is not None:
            return scope
    try:
        home = find_home("doctor")
    except NoHome as error:
        return without_walls(str(error), mend=_mend(facts))
    if _is_outside(home, own, facts):
        path = home.group.path.rpartition("/")[0]
        because = f"{path} is there for this user, and this shell is not in it"
        return without_walls(because, mend=way_in(path))
    return with_walls(home, facts)


def _by_systemd(facts: Facts) -> Containment | None:
    if facts.uid != 0 and not facts.user_manager:
        return None
    if facts.top is None or "memory" not in Group2(facts.top).controllers():
        return None
    if facts.uid != 0 and "memory" not in Group2(_user_service(facts)).controllers():
        return None
    whose = "system" if facts.uid == 0 else "user"
    above = f"{facts.top}/system.slice" if facts.uid == 0 else _user_service(facts)
    not_kept_by = tuple(in_the_way(above, KEPT_BYTES))
    return Containment(
        word="systemd",
        because=f"systemd gives the daemon a scope of the {whose}'s",
        promises=replace(_promises((), facts), keeps_daemon_memory=not not_kept_by),
        not_kept_by=not_kept_by,
    )


def _user_service(facts: Facts) -> str:
    return f"{facts.top}/user.slice/user-{facts.uid}.slice/user@{facts.uid}.service"


def _is_outside(home: Home, own: str | None, facts: Facts) -> bool:
    """v2 lets a user move a process only below a cgroup that holds both places."""
    prepared = home.group.path.rpartition("/")[0]
    if (
        home.version != 2
        or own is None
        or facts.top is None
        or prepared != f"{facts.top}/{PREPARED}"
    ):
        return False
    inside = own == prepared or own.startswith(f"{prepared}/")
    return not inside and not os.access(f"{facts.top}/cgroup.procs", os.W_OK)


def with_walls(home: Home, facts: Facts) -> Containment:
    missing = _missing(home)
    in_scope = ".scope/" in f"{home.group.path}/" and facts.systemd
    word: Word = "cgroup1" if home.version == 1 else "systemd" if in_scope else "cgroup2"
    not_kept_by = _not_kept_by(home)
    keeps = home.version == 2 and not not_kept_by
    return Containment(
        word=word,
        because=f"{home.group.path} ({home.because})",
        promises=replace(_promises(missing, facts), keeps_daemon_memory=keeps),
        home=home,
        missing=missing,
        not_kept_by=not_kept_by,
        mend=_mend(facts) if missing else None,
    )


def _not_kept_by(home: Home) -> tuple[str, ...]:
    """Of a daemon that runs, all that keeps less than its own; of one that does not, all above the
    cgroups that it would make."""
    if home.version == 1:
        return ()
    if home.supervisor.exists():
        return tuple(in_the_way(home.supervisor.path, protected_bytes(home) or 1))
    return tuple(in_the_way(home.group.path.rpartition("/")[0], KEPT_BYTES))


def _missing(home: Home) -> tuple[str, ...]:
    """Of the nearest that is there already."""
    if home.group.exists():
        return home.group.missing()
    if isinstance(home.group, Group1):
        parents = {e: p.rpartition("/")[0] for e, p in home.group.directories.items()}
        return Group1(parents).missing()
    return Group2(home.group.path.rpartition("/")[0]).missing()


def _promises(missing: tuple[str, ...], facts: Facts) -> Promises:
    return Promises(
        hard_memory_wall=True,
        fleet_wall=True,
        no_swap="swap" not in missing or facts.swap_bytes == 0,
        pids_wall="pids" not in missing,
        kills_whole_tree=True,
        catches_escapes=True,
        can_freeze="freeze" not in missing,
    )


def without_walls(because: str, *, mend: str | None = None, chosen: bool = False) -> Containment:
    return Containment(word="none", because=because, promises=Promises(), mend=mend, chosen=chosen)


def of_containers(facts: Facts, walls: Containment) -> Promises:
    """Each has every wall; one around all of them only where the engine takes it from us."""
    return Promises(
        hard_memory_wall=True,
        fleet_wall=_no_fleet_wall(facts, walls) is None,
        no_swap=True,
        pids_wall=True,
        kills_whole_tree=True,
        catches_escapes=True,  # cgroups are read-only inside: there is no way out to begin with
    )


def said_of_containers(facts: Facts, walls: Containment) -> str:
    if not facts.engines:
        return "no podman, docker or Apple container here"
    why = _no_fleet_wall(facts, walls)
    around = "within the fleet's wall" if why is None else f"each in its own wall only: {why}"
    image = "" if facts.given.image else f"; {NO_IMAGE}"
    return f"{', '.join(facts.engines)}; {around}{image}"


def _no_fleet_wall(facts: Facts, walls: Containment) -> str | None:
    if walls.word == "none":
        return "local agents have no walls here"
    if facts.uid != 0:
        return "only an engine of root's can be told where to make cgroups"
    if facts.engines[:1] != ("podman",):
        return "docker takes one from us only where it was set to cgroupfs"
    return None


def _mend(facts: Facts) -> str:
    as_root = "paddock host setup" if facts.uid == 0 else "sudo paddock host setup"
    return f"{as_root}, then log in again" if facts.systemd and facts.uid else as_root
