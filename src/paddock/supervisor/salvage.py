"""What became of a run's work when its end was not its own: committed, counted, said (RUN-1)."""

from __future__ import annotations

from typing import Final

from paddock.core.run import Attempt, Outcome
from paddock.workspaces.commits import Commit
from paddock.workspaces.errors import BrokenOff, TakenAgain, WorkspaceError
from paddock.workspaces.records import State
from paddock.workspaces.room import Room
from paddock.workspaces.saving import Saved

# Ended by paddock or by the kernel, so that nobody could commit what was under way.
CUT_SHORT: Final = frozenset(
    {
        Outcome.MEMORY_LIMIT_EXCEEDED,
        Outcome.TIMEOUT_EXCEEDED,
        Outcome.PREEMPTED,
        Outcome.CANCELLED,
        Outcome.LOST,
    }
)
SHOWN: Final = 5


def salvage(room: Room, attempt: Attempt, outcome: Outcome) -> dict[str, str]:
    """In a thread: facts for its black box. Empty for a run without a workspace. BrokenOff."""
    run = attempt.run
    record = room.record(run)
    if record is None or record.state is State.MAKING:  # nobody was ever given it
        return {}
    facts: dict[str, str] = {}
    if outcome in CUT_SHORT:
        try:
            why = f"{outcome}: what run {run} had not committed"
            saved = room.save(run, because=why, of=attempt.number)
        except BrokenOff:
            raise  # the next daemon does it
        except TakenAgain:
            facts["saved"] = "the next attempt has its files, and goes on with them"
        except (WorkspaceError, OSError) as error:  # there may be no room on the disk
            facts["saved"] = f"what it had not committed is still in its workspace: {error}"
        else:
            facts["saved"] = _saved(saved)
    try:
        facts["commits"] = _commits([one for one in room.commits(run) if not one.by_paddock])
    except BrokenOff:
        raise
    except (WorkspaceError, OSError) as error:
        facts["commits"] = f"unknown: {error}"
    return facts


def _saved(saved: Saved | None) -> str:
    if saved is None:
        return "there was nothing that it had not committed"
    names = ", ".join(saved.files[:SHOWN])
    more = f" and {len(saved.files) - SHOWN} more" if len(saved.files) > SHOWN else ""
    left = f"; not {', '.join(saved.left_out[:SHOWN])}" if saved.left_out else ""
    return f"committed as {saved.commit[:12]} on {saved.branch}: {names}{more}{left}"


def _commits(found: list[Commit]) -> str:
    if not found:
        return "none"
    newest = found[0]
    return f"{len(found)} since its start, the newest {newest.id[:12]} {newest.subject}"
