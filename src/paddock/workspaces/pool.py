"""Prepared workspaces without a run: detached worktrees at a branch's tip, filled in advance.

Handing one over is a rename and two small writes by git; no file of it is looked at.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from .errands import in_peace
from .errors import Busy, WorkspaceError
from .locks import hold
from .records import Home, Record, State
from .removal import delete_tree
from .worktrees import (
    Source,
    add,
    admin_of,
    fill,
    forget,
    hand_over,
    make_branch,
    move_to,
    registered,
    tell_place,
)

LOCK_WAIT_S: Final = 60.0


def prepare_slot(top: Path, home: Home, source: Source, *, plan: Record) -> Record:
    """One more. `plan` was written to its shelf before, and so it has a place among the many."""
    path = home.slots.path(plan.name)
    record = plan
    try:
        with hold(home.lock, who=f"slot {plan.name}", wait_s=LOCK_WAIT_S):
            git_dir = add(source, path, branch=None, commit=plan.start)
        record = replace(plan, git_dir=str(git_dir))
        home.slots.write(record)
        fill(record, path)
        ready = record.to(State.SLOT, at=plan.used_at)
        home.slots.write(ready)
    except BaseException:
        with in_peace():
            discard(top, home, record, path)
            home.slots.remove(plan.name)
        raise
    return ready


def discard(top: Path, home: Home, record: Record, path: Path) -> None:
    """One that nobody was given yet."""
    if path.exists() and not path.is_symlink():
        if not record.git_dir:  # git was ended in the middle of adding it
            with suppress(OSError, ValueError):
                record = replace(record, git_dir=str(admin_of(path)))
        delete_tree(top, path)
    if not record.git_dir and (found := registered(Path(record.common), path)) is not None:
        record = replace(record, git_dir=str(found))
    if record.git_dir:
        with hold(home.lock, who=f"discarding {record.name}", wait_s=LOCK_WAIT_S):
            forget(record, path, half_made=True)


def fresh_name() -> str:
    return uuid.uuid4().hex[:12]


def take_slot(home: Home, plan: Record) -> Record | None:
    """The run's workspace out of a slot, at the commit where `plan` begins; None if there is none.

    One at another commit is taken too: moving it writes only what differs.
    """
    with hold(home.lock, who=f"run {plan.name}", wait_s=LOCK_WAIT_S):
        slot = _choose(home, plan.start)
        if slot is None or not make_branch(Path(plan.common), plan.branch, commit=plan.start):
            return None
        old, path = home.slots.path(slot.name), home.runs.path(plan.name)
        made = replace(plan, git_dir=slot.git_dir)
        home.runs.write(made)
        old.rename(path)
        home.slots.remove(slot.name)
        tell_place(Path(slot.git_dir), path)
    if slot.start != plan.start:
        move_to(made, path, commit=plan.start)
    hand_over(Path(slot.git_dir), path, branch=plan.branch)
    return made


def _choose(home: Home, commit: str) -> Record | None:
    """One at this commit if there is one, else the newest."""
    ready = [slot for slot in slots_of(home) if slot.state is State.SLOT]
    ready = [slot for slot in ready if home.slots.path(slot.name).is_dir()]
    ready.sort(key=lambda slot: (slot.start == commit, slot.made_at))
    return ready[-1] if ready else None


def slots_of(home: Home) -> list[Record]:
    found = []
    for name in home.slots.names():
        try:
            record = home.slots.read(name)
        except WorkspaceError:
            continue  # gc names it
        if record is not None:
            found.append(record)
    return found


def bring_up_to_date(home: Home, slot: Record, *, commit: str, at: float) -> None:
    """Busy if somebody takes it or clears it at this moment."""
    with hold(home.slots.lock(slot.name), who="refilling", wait_s=0):
        path = home.slots.path(slot.name)
        with hold(home.lock, who=f"slot {slot.name}", wait_s=LOCK_WAIT_S):
            # Nobody can take it while it is on its way.
            if home.slots.read(slot.name) != slot:
                raise Busy(f"slot {slot.name} was taken")
            home.slots.write(replace(slot, state=State.MAKING))
        move_to(slot, path, commit=commit)
        home.slots.write(replace(slot, start=commit, made_at=at, used_at=at))
