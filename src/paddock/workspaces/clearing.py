"""Removing workspaces: judged, moved aside, looked at again, and only then deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from .beside import status
from .commits import pin
from .errors import WorkspaceError
from .facts import gather, gather_of_gone
from .git import Git
from .inhabitants import gits_at, inhabitants_of
from .keeping import Facts, Keep, Removable, verdict
from .locks import hold
from .records import Home, Record, Shelf, State, homes
from .removal import check_inside, delete_tree
from .worktrees import drop_unused_branch, forget, git_of, has_branch, registered

_LOCK_WAIT_S: Final = 60.0
GOING: Final = ".going-"


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
        return self.shelf.directory / f"{GOING}{self.record.name}"


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
    if spot.record.state is State.GOING and not spot.path.exists():
        return Removable("it was judged before, and its removal was broken off")
    if spot.record.state is State.MAKING:
        # Nobody was ever given it, and half of its files look deleted.
        found = inhabitants_of(spot.path) or gits_at(spot.path)
        return verdict(Facts(processes=tuple(map(str, found))))
    if not spot.path.is_symlink() and not spot.path.exists():
        return verdict(gather_of_gone(spot.record))
    return verdict(gather(spot.record, spot.path))


def clear(spot: Spot, *, wait_s: float = 0) -> Keep | Removable:
    """Remove it if nothing is lost with it. Busy: somebody works on it."""
    with (
        hold(spot.shelf.lock(spot.record.name), who="clearing", wait_s=wait_s),
        hold(spot.home.lock, who=f"clearing {spot.record.name}", wait_s=_LOCK_WAIT_S),
    ):
        if spot.shelf.read(spot.record.name) != spot.record:
            return Keep("somebody has taken it meanwhile")
        found = judge(spot)
        if isinstance(found, Removable):
            found = _move_aside(spot, found)
        if isinstance(found, Keep):
            return found
        _let_go(spot)
    if spot.going.exists():
        delete_tree(spot.top, spot.going)
    return found


def _let_go(spot: Spot) -> None:
    """Broken off anywhere in here it is found again by its record, and gone on with."""
    record, at = spot.record, time.time()
    is_run = spot.shelf == spot.home.runs
    if is_run and record.state is not State.GOING:
        spot.home.remember_gone(record.to(State.GONE, at=at))
    spot.shelf.write(record.to(State.GOING, at=at))
    _forget(spot)
    drop_unused_branch(record)
    if is_run and record.fleeting and not _has_branch(record):
        spot.home.forget_gone(record.name)  # a heartbeat has many, and there is nothing to show
    spot.shelf.remove(record.name)  # from here on it is gone, and what is left is rubbish


def _forget(spot: Spot) -> None:
    """Also where a daemon was killed before it could write down where git keeps it: then git was,
    too, or is in the middle of it, and has it locked."""
    record, known = spot.record, spot.record.git_dir
    found = known or registered(Path(record.common), spot.path)
    if found:
        forget(replace(record, git_dir=str(found)), spot.path, half_made=not known)


def _has_branch(record: Record) -> bool:
    return has_branch(
        Git(directory=Path(record.common), git_dir=Path(record.common)), record.branch
    )


def _move_aside(spot: Spot, found: Removable) -> Keep | Removable:
    """Where no agent finds it; then whoever slipped in before is seen, and it goes back."""
    git = Git(directory=Path(spot.record.common), git_dir=Path(spot.record.common))
    if not spot.path.exists():
        pin(git, spot.record.name, found.pins)
        return found
    check_inside(spot.top, spot.path)
    spot.path.rename(spot.going)
    try:
        late = _late_work(spot)
        if not late:
            pin(git, spot.record.name, found.pins)
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
    changed, untracked = status(git_of(spot.record, spot.going).bounded())
    return ", ".join([*changed, *untracked][:3])


def put_back_or_delete(top: Path, shelf: Shelf, going: Path, name: str) -> None:
    if name not in shelf.names():
        delete_tree(top, going)
        return
    record = shelf.read(name)
    if record is None or record.state is State.GOING:
        return  # whoever clears it goes on with that
    if going.is_dir() and not shelf.path(name).exists():
        going.rename(shelf.path(name))
