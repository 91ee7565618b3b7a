"""Removing what the base has: the workspace, and its branch with it. Nothing else may know less."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from . import collecting
from .clearing import Judged, Spot, spots
from .errors import BrokenOff, WorkspaceError
from .holding import base_of, branch_git, held_by, tip_of
from .keeping import Keep, Removable
from .locks import hold
from .records import Home, Record, State, homes


def gone_with_branch(top: Path) -> Iterator[tuple[Home, Record]]:
    """Those whose directory was removed, and whose branch is still there."""
    for home in homes(top):
        for file in sorted((home.directory / ".gone").glob("*.json")):
            with suppress(WorkspaceError, OSError):
                record = home.gone(file.stem)
                known = home.runs.read(file.stem) is not None
                if record is not None and not known and tip_of(record) is not None:
                    yield home, record


def clear_merged(top: Path, *, dry_run: bool) -> Iterator[Judged]:
    for spot in list(spots(top)):
        if isinstance(spot, Spot) and spot.record.state is State.IDLE:
            yield _judged(spot.record, spot.path, _of_one(spot, dry_run=dry_run), dry_run=dry_run)
    for home, record in list(gone_with_branch(top)):
        ruling = _of_branch(home, record, dry_run=dry_run)
        yield _judged(record, home.runs.path(record.name), ruling, dry_run=dry_run)


def _judged(record: Record, path: Path, ruling: Keep | Removable, *, dry_run: bool) -> Judged:
    return Judged(
        name=record.name,
        path=path,
        repository=record.repository,
        state=record.state,
        verdict=ruling,
        removed=not dry_run and isinstance(ruling, Removable),
    )


def _of_one(spot: Spot, *, dry_run: bool) -> Keep | Removable:
    kept = _not_merged(spot.record, spot.path)
    if kept is not None:
        return kept
    ruling = collecting.ruled(spot, dry_run=dry_run)
    if isinstance(ruling, Removable) and not dry_run:
        return _of_branch(spot.home, spot.record, dry_run=False)
    return ruling


def _not_merged(record: Record, path: Path | None) -> Keep | None:
    held = held_by(record, path)
    if held.unmerged is None:
        return Keep("nobody knows whether its base has it: the base is no branch, or is gone")
    if held.unmerged:
        return Keep(f"{held.unmerged} of its commits are not in {held.base}")
    return None


def _of_branch(home: Home, record: Record, *, dry_run: bool) -> Keep | Removable:
    """The branch goes only from where it was seen to be merged."""
    try:
        with hold(home.lock, who=f"removing {record.branch}", wait_s=60.0):
            tip, base = tip_of(record), base_of(record)
            git = branch_git(record)
            if tip is not None:
                if base is None or not git.says_yes("merge-base", "--is-ancestor", tip, base[1]):
                    return _not_merged(record, None) or Keep("its base does not have it any more")
                if not dry_run:
                    git.out("update-ref", "-d", f"refs/heads/{record.branch}", tip)
            if not dry_run:
                home.forget_gone(record.name)
    except BrokenOff:
        raise
    except (WorkspaceError, OSError) as error:
        return Keep(str(error))
    return Removable(f"all of it is in {base[0] if base else 'other branches'}")
