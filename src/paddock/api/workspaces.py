"""Workspaces over the API: what a run changed, which there are, which may go and which went."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from paddock.supervisor.loop import Supervisor
from paddock.wire.views import (
    ClearedView,
    ClearedWord,
    ClearWorkspaces,
    DiffView,
    RemoveWorkspace,
    WorkspaceView,
)
from paddock.workspaces.changes import Diff
from paddock.workspaces.clearing import Judged
from paddock.workspaces.errors import (
    BrokenOff,
    Busy,
    GitFailed,
    GitTimedOut,
    UnsafePlace,
    WorkspaceError,
)
from paddock.workspaces.holding import Holding
from paddock.workspaces.keeping import Keep, Removable
from paddock.workspaces.records import Record, State
from paddock.workspaces.room import Room

from .answering import Ready
from .asking import Asked
from .desk import Desk
from .problems import not_found, refused, trouble

T = TypeVar("T")

# git itself has five minutes a command, and a look into hundreds of workspaces takes some.
PATIENCE_S: Final = 600.0
MOST_DIFF_BYTES: Final = 16 << 20
_OF_RUNS: Final = (State.MAKING, State.TAKEN, State.IDLE, State.GOING, State.GONE)


async def diff(desk: Desk, asked: Asked) -> Ready:
    """From the commit that a run began with to its files as they are now."""
    room, run = _room(desk), await desk.find(asked.path["run"])
    return await _aside(desk, lambda: Ready(msgspec.json.encode(_diff(room, run.id))))


def _diff(room: Room, run: str) -> DiffView:
    found = room.diff(run, most_bytes=MOST_DIFF_BYTES)
    raw = _whole_lines(found)
    text = raw.decode("utf-8", "replace")
    path = room.path(run)
    return DiffView(
        text=text,
        cut=found.cut,
        raw=None if text.encode() == raw else raw,
        path=None if path is None else str(path),
        branch=room.branch(run),
    )


def _whole_lines(found: Diff) -> bytes:
    return found.text[: found.text.rfind(b"\n") + 1] if found.cut else found.text


async def workspaces(desk: Desk, _asked: Asked) -> list[WorkspaceView]:
    room = _room(desk)
    found = await _aside(desk, room.held)
    names = await _names(desk.supervisor, [record.name for record, _, _ in found])
    return [_view(record, path, held, names) for record, path, held in found]


def _view(
    record: Record, path: Path | None, held: Holding, names: Mapping[str, str]
) -> WorkspaceView:
    is_slot = record.state is State.SLOT
    path = None if is_slot else path
    at_rest = record.state in (State.SLOT, State.IDLE)
    return WorkspaceView(
        run=None if is_slot else record.name,
        name=names.get(record.name),
        path=None if path is None else str(path),
        repository=record.repository,
        branch=record.branch,
        state=record.state.value,
        idle_s=max(0.0, time.time() - record.used_at) if at_rest else None,
        made_at=record.made_at,
        commits=held.commits,
        unmerged=held.unmerged,
        base=held.base,
        uncommitted=held.uncommitted,
    )


async def check_workspaces(desk: Desk, _asked: Asked) -> list[ClearedView]:
    """What keeps each from being removed: what is in it first, then that it is not yet time."""
    judged = await _aside(desk, _room(desk).check)
    return await _cleared(desk, judged, dry_run=True)


async def clear_workspaces(desk: Desk, asked: Asked) -> list[ClearedView]:
    """Those that were idle for long and hold nothing of their own go."""
    body, room = await asked.body(ClearWorkspaces), _room(desk)
    clear = room.clear_merged if body.merged else partial(room.gc, thorough=True)
    judged = await _aside(desk, lambda: clear(dry_run=body.dry_run))
    return await _cleared(desk, judged, dry_run=body.dry_run)


async def remove_workspace(desk: Desk, asked: Asked) -> ClearedView:
    """One, now: what it had not committed is on its branch first."""
    body, room = await asked.body(RemoveWorkspace), _room(desk)
    run = await desk.find(body.run)
    path, record = room.path(run.id), room.record(run.id)
    saved, ruling = await _aside(desk, lambda: room.remove(run.id))
    if isinstance(ruling, Keep):
        raise refused(f"{run.spec.name} ({run.id}): its workspace stays: {ruling.because}")
    was = "" if saved is None else f"what it had not committed is now {saved.commit[:12]}; "
    return ClearedView(
        path=str(path or ""),
        run=run.id,
        name=run.spec.name,
        repository=record.repository if record is not None else "",
        done="removed",
        because=f"{was}{ruling.because}",
    )


async def _cleared(desk: Desk, judged: Sequence[Judged], *, dry_run: bool) -> list[ClearedView]:
    names = await _names(desk.supervisor, [one.name for one in judged])
    return [
        ClearedView(
            path=str(one.path),
            run=one.name if one.state in _OF_RUNS else None,
            name=names.get(one.name),
            repository=one.repository,
            done=_word(one, dry_run=dry_run),
            because=one.because,
        )
        for one in judged
    ]


def _word(one: Judged, *, dry_run: bool) -> ClearedWord:
    if one.removed:
        return "removed"
    return "would_remove" if dry_run and isinstance(one.verdict, Removable) else "kept"


# -- for all of them ----------------------------------------------------------------------------


def _room(desk: Desk) -> Room:
    if desk.facts.workspaces is None:
        raise refused("this daemon has no workspaces")
    return desk.facts.workspaces


async def _aside(desk: Desk, work: Callable[[], T]) -> T:
    try:
        return await desk.aside(work, within_s=PATIENCE_S)
    except (BrokenOff, Busy, GitTimedOut) as error:
        raise trouble(str(error)) from None
    except (GitFailed, UnsafePlace) as error:
        raise refused(str(error)) from None
    except WorkspaceError as error:
        raise not_found(str(error)) from None


async def _names(supervisor: Supervisor, ids: Sequence[str]) -> dict[str, str]:
    """Of those that are still known; a slot's is nobody's."""
    known = supervisor.fleet.runs
    missing = [run for run in ids if run not in known]
    stored = await supervisor.look(lambda store: [store.run(run) for run in missing])
    runs = [*(known[run] for run in ids if run in known), *stored]
    return {run.id: run.spec.name for run in runs if run is not None}
