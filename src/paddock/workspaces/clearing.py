"""Removing workspaces: judged, moved aside, looked at again, and only then deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.core.units import DAY_S, format_duration

from .commits import pin
from .errors import Busy, WorkspaceError
from .facts import gather, gather_of_gone, status
from .git import Git
from .inhabitants import inhabitants_of
from .keeping import Facts, Keep, Removable, verdict
from .locks import hold
from .old_clones import clear_clone
from .records import Home, Record, Shelf, State, homes
from .removal import check_inside, delete_tree, sweep
from .worktrees import drop_unused_branch, forget, git_of

_LOCK_WAIT_S: Final = 60.0
_GONE_KEPT_S: Final = 30 * DAY_S
_GOING: Final = ".going-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One line of `paddock workspace gc`."""

    name: str
    path: Path
    repository: str
    state: State | None
    verdict: Keep | Removable
    removed: bool = False

    @property
    def because(self) -> str:
        return self.verdict.because


@dataclass(frozen=True, slots=True)
class Spot:
    """One workspace, and where all of its things are."""

    top: Path
    home: Home
    shelf: Shelf
    record: Record

    @property
    def path(self) -> Path:
        return self.shelf.path(self.record.name)

    @property
    def going(self) -> Path:
        return self.shelf.directory / f"{_GOING}{self.record.name}"


def spots(top: Path) -> Iterator[Spot | Judged]:
    """All workspaces; of those that nobody can know a verdict instead."""
    for home in homes(top):
        for shelf in (home.runs, home.slots):
            for name in shelf.names():
                try:
                    record = shelf.read(name)
                except WorkspaceError as error:
                    yield _stays(shelf, name, str(error))
                    continue
                if record is not None:
                    yield Spot(top, home, shelf, record)
            for name in shelf.strangers():
                yield _stays(shelf, name, "paddock has no record of it")


def _stays(shelf: Shelf, name: str, because: str) -> Judged:
    path, where = shelf.path(name), shelf.directory.name
    return Judged(name=name, path=path, repository=where, state=None, verdict=Keep(because))


def judge(spot: Spot) -> Keep | Removable:
    """By what is in it, not by who has it."""
    if spot.record.state is State.MAKING:
        # Nobody was ever given it, and half of its files look deleted.
        found = inhabitants_of(spot.path)
        return verdict(Facts(processes=tuple(map(str, found))))
    if not spot.path.is_symlink() and not spot.path.exists():
        return verdict(gather_of_gone(spot.record))
    return verdict(gather(spot.record, spot.path))


def clear(spot: Spot) -> Keep | Removable:
    """Remove it if nothing is lost with it. Busy: somebody works on it."""
    with (
        hold(spot.shelf.lock(spot.record.name), who="clearing", wait_s=0),
        hold(spot.home.lock, who=f"clearing {spot.record.name}", wait_s=_LOCK_WAIT_S),
    ):
        if spot.shelf.read(spot.record.name) != spot.record:
            return Keep("somebody has taken it meanwhile")
        found = judge(spot)
        if isinstance(found, Removable):
            found = _move_aside(spot, found)
        if isinstance(found, Keep):
            return found
        git = Git(directory=Path(spot.record.common), git_dir=Path(spot.record.common))
        pin(git, spot.record.name, found.pins)
        forget(spot.record, spot.path)
        drop_unused_branch(spot.record)
        if spot.shelf == spot.home.runs:
            spot.home.remember_gone(spot.record.to(State.GONE, at=time.time()))
        spot.shelf.remove(spot.record.name)  # from here on it is gone, and what is left is rubbish
    if spot.going.exists():
        delete_tree(spot.top, spot.going)
    return found


def _move_aside(spot: Spot, found: Removable) -> Keep | Removable:
    """Where no agent finds it; then whoever slipped in before is seen, and it goes back."""
    if not spot.path.exists():
        return found
    check_inside(spot.top, spot.path)
    spot.path.rename(spot.going)
    try:
        late = _late_work(spot)
    except (WorkspaceError, OSError, ValueError) as error:
        late = str(error)
    if late:
        spot.going.rename(spot.path)
        return Keep(f"something began in it while it was looked at: {late}")
    return found


def _late_work(spot: Spot) -> str:
    found = inhabitants_of(spot.going)
    if found:
        return ", ".join(map(str, found))
    # Submodules know where they are by path, so git cannot look at them here; and of one that was
    # never handed out, or whose work was saved beside its index, files always differ.
    skips = (Path(spot.record.git_dir) / "modules").exists() or spot.record.saved is not None
    if skips or spot.record.state is State.MAKING:
        return ""
    changed, untracked = status(git_of(spot.record, spot.going))
    return ", ".join([*changed, *untracked][:3])


def gc(top: Path, *, idle_s: float, now_at: float, dry_run: bool) -> list[Judged]:
    """Everything that was idle for so long and holds no work of its own goes."""
    if not dry_run:
        for home in homes(top):
            tidy(top, home, now_at=now_at)
    found: list[Judged] = []
    for spot in spots(top):
        if isinstance(spot, Judged):
            found.append(spot)
            continue
        ruling = _waits(spot, idle_s=idle_s, now_at=now_at) or _ruled(spot, dry_run=dry_run)
        removed = not dry_run and isinstance(ruling, Removable)
        found.append(as_judged(spot, ruling, removed=removed))
    clones = [home for home in homes(top) if home.clone.is_dir()]
    how = {"idle_s": idle_s, "now_at": now_at}
    return found + [_judged_clone(top, home, dry_run=dry_run, **how) for home in clones]


def _judged_clone(top: Path, home: Home, *, idle_s: float, now_at: float, dry_run: bool) -> Judged:
    ruling = clear_clone(top, home, idle_s=idle_s, now_at=now_at, dry_run=dry_run)
    return Judged(
        name=home.clone.name,
        path=home.clone,
        repository=home.directory.name,
        state=None,
        verdict=ruling,
        removed=not dry_run and isinstance(ruling, Removable),
    )


def _waits(spot: Spot, *, idle_s: float, now_at: float) -> Keep | None:
    """Not yet its time."""
    record, idle = spot.record, now_at - spot.record.used_at
    if record.state is State.TAKEN:
        return Keep(f"run {record.name} has it")
    if record.state is not State.MAKING and idle < idle_s:
        since, wanted = format_duration(max(0.0, idle)), format_duration(idle_s)
        return Keep(f"idle for {since}, and {wanted} are wanted")
    return None


def _ruled(spot: Spot, *, dry_run: bool) -> Keep | Removable:
    try:
        if not dry_run:
            return clear(spot)
        with hold(spot.shelf.lock(spot.record.name), who="a look", wait_s=0):
            return judge(spot)
    except Busy as error:
        return Keep(str(error))
    except (WorkspaceError, OSError) as error:
        return Keep(f"nobody knows what is in it: {error}")


def as_judged(spot: Spot, ruling: Keep | Removable, *, removed: bool) -> Judged:
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
        for going in shelf.directory.glob(f"{_GOING}*"):
            name = going.name.removeprefix(_GOING)
            with suppress(Busy), hold(shelf.lock(name), who="tidying", wait_s=0):
                put_back_or_delete(top, shelf, going, name)
                if name not in shelf.names():
                    shelf.remove(name)
        sweep(top, shelf.directory)
    for file in (home.directory / ".gone").glob("*.json"):
        if now_at - file.stat().st_mtime > _GONE_KEPT_S:
            file.unlink(missing_ok=True)


def put_back_or_delete(top: Path, shelf: Shelf, going: Path, name: str) -> None:
    if name in shelf.names():
        if going.is_dir() and not shelf.path(name).exists():
            going.rename(shelf.path(name))
    else:
        delete_tree(top, going)
