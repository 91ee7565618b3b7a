"""Going through all workspaces: which may go, which went, what an earlier one left half done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.core.units import DAY_S, format_duration

from .beside import sweep_looks
from .clearing import GOING, Judged, Spot, clear, judge, put_back_or_delete, spots
from .errands import current
from .errors import BrokenOff, Busy, WorkspaceError
from .keeping import Keep, Removable
from .locks import hold
from .old_clones import clear_clone
from .records import Home, State, homes
from .removal import delete_tree, sweep

_GONE_KEPT_S: Final = 30 * DAY_S


@dataclass(frozen=True, slots=True)
class Times:
    """How long one must have been idle, and what time it is."""

    idle_s: float
    now_at: float


def gc(top: Path, times: Times, *, dry_run: bool, thorough: bool = False) -> list[Judged]:
    """Everything that was idle for so long and holds no work of its own goes.

    `thorough`, for people: of an idle one what is in it, before that it is not yet its time.
    """
    if not dry_run:
        for home in homes(top):
            tidy(top, home, now_at=times.now_at)

    def rule(spot: Spot) -> Keep | Removable:
        waits = _waits(spot, times)
        if waits is None:
            return ruled(spot, dry_run=dry_run)
        if not thorough or spot.record.state is not State.IDLE:
            return waits
        inside = ruled(spot, dry_run=True)
        return inside if isinstance(inside, Keep) else waits

    return _all(top, times, rule, dry_run=dry_run)


def finish(top: Path, *, now_at: float) -> None:
    """At a start: what was being made or removed when the last daemon ended is nobody's."""
    for home in homes(top):
        tidy(top, home, now_at=now_at)
    for spot in spots(top):
        if isinstance(spot, Spot) and spot.record.state in (State.MAKING, State.GOING):
            ruled(spot, dry_run=False)


def _all(
    top: Path, times: Times, rule: Callable[[Spot], Keep | Removable], *, dry_run: bool
) -> list[Judged]:
    found: list[Judged] = []
    for spot in spots(top):
        current().check()
        if isinstance(spot, Judged):
            found.append(spot)
            continue
        ruling = rule(spot)
        removed = not dry_run and isinstance(ruling, Removable)
        found.append(_as_judged(spot, ruling, removed=removed))
    clones = [home for home in homes(top) if home.clone.is_dir()]
    return found + [_judged_clone(top, home, times, dry_run=dry_run) for home in clones]


def _judged_clone(top: Path, home: Home, times: Times, *, dry_run: bool) -> Judged:
    current().check()
    ruling = clear_clone(top, home, idle_s=times.idle_s, now_at=times.now_at, dry_run=dry_run)
    return Judged(
        name=home.clone.name,
        path=home.clone,
        repository=home.directory.name,
        state=None,
        verdict=ruling,
        removed=not dry_run and isinstance(ruling, Removable),
    )


def _waits(spot: Spot, times: Times) -> Keep | None:
    """Not yet its time."""
    record, idle = spot.record, times.now_at - spot.record.used_at
    if record.state is State.TAKEN:
        return Keep(f"run {record.name} has it")
    if record.state in (State.MAKING, State.GOING) or record.fleeting:
        return None
    if idle < times.idle_s:
        since, wanted = format_duration(max(0.0, idle)), format_duration(times.idle_s)
        return Keep(f"idle for {since}, and {wanted} are wanted")
    return None


def ruled(spot: Spot, *, dry_run: bool, wait_s: float = 0) -> Keep | Removable:
    """Whatever is wrong with one, the others have their turn."""
    try:
        if not dry_run:
            ruling = clear(spot, wait_s=wait_s)
            current().check()  # one that was broken off is put back, and says so
            return ruling
        with hold(spot.shelf.lock(spot.record.name), who="a look", wait_s=0):
            return judge(spot)
    except BrokenOff:
        raise
    except Busy as error:
        return Keep(str(error))
    except (WorkspaceError, OSError) as error:
        return Keep(f"nobody knows what is in it: {error}")


def _as_judged(spot: Spot, ruling: Keep | Removable, *, removed: bool) -> Judged:
    record = spot.record
    return Judged(
        name=record.name,
        path=spot.path,
        repository=record.repository,
        state=record.state,
        verdict=ruling,
        removed=removed,
    )


def tidy(top: Path, home: Home, *, now_at: float) -> None:
    """What a killed clearing left: back if it still has a record, else away with it."""
    for shelf in (home.runs, home.slots):
        for going in shelf.directory.glob(f"{GOING}*"):
            name = going.name.removeprefix(GOING)
            with suppress(Busy), hold(shelf.lock(name), who="tidying", wait_s=0):
                put_back_or_delete(top, shelf, going, name)
                if name not in shelf.names():
                    shelf.remove(name)
        sweep(top, shelf.directory)
        sweep_looks(top, shelf.directory)
    with suppress(Busy), hold(home.lock, who="tidying", wait_s=0):
        for left in home.directory.glob(".cloning-*"):
            delete_tree(top, left)
    for file in (home.directory / ".gone").glob("*.json"):
        with suppress(FileNotFoundError):  # another one forgets it just now
            if now_at - file.stat().st_mtime > _GONE_KEPT_S:
                file.unlink()
