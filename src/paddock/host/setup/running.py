"""Setup and its undoing, change by change: recorded first, then done; a failure stops no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from paddock.host.prepared import STATE
from paddock.host.setup.changes import Change, MakeDirectory, Reload, Step
from paddock.host.setup.doing import apply, revert
from paddock.host.setup.ground import Failed, Ground
from paddock.host.setup.record import Record, alone


@dataclass(frozen=True, slots=True)
class Done:
    """A change that was made, or why it was not."""

    change: Change
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class StepDone:
    step: Step
    done: tuple[Done, ...]

    @property
    def problems(self) -> list[str]:
        stuck = [self.step.stuck] if self.step.stuck else []
        return stuck + [each.problem for each in self.done if each.problem]


def set_up(steps: Iterable[Step], ground: Ground) -> Iterator[StepDone]:
    """Each as it is done. Raises Failed when nothing can be recorded: then nothing is changed."""
    with alone(ground):
        record = Record(ground)
        for step in steps:
            yield StepDone(step, tuple(_do(each, ground, record) for each in step.changes))


def _do(change: Change, ground: Ground, record: Record) -> Done:
    is_new = change not in record
    record.add(change)
    try:
        apply(change, ground)
    except Failed as error:
        # It may be half done, as with one controller of three; taking it back does no harm.
        if is_new and revert(change, ground) is None:
            record.remove(change)
        return Done(change, str(error))
    return Done(change)


def undo(ground: Ground) -> Iterator[Done]:
    """The last first. What cannot be taken back stays recorded, so that it can be tried again."""
    with alone(ground):
        record = Record(ground)
        for change in _backwards(record.changes):
            yield Done(change, _take_back(change, ground, record))


def _backwards(changes: list[Change]) -> list[Change]:
    """systemd reads its units again when they are as they were."""
    plain = [each for each in changes if not isinstance(each, Reload) and not _is_ours(each)]
    reloads = [each for each in changes if isinstance(each, Reload)]
    return [*reversed(plain), *reloads, *filter(_is_ours, changes)]


def _is_ours(change: Change) -> bool:
    return isinstance(change, MakeDirectory) and change.path == STATE


def _take_back(change: Change, ground: Ground, record: Record) -> str | None:
    if not _is_ours(change):
        left = revert(change, ground)
        if left is None:
            record.remove(change)
        return left
    if len(record.changes) > 1:
        return f"{STATE} still holds the record of what is left"
    record.remove(change)  # the record itself is in that directory
    left = revert(change, ground)
    if left is not None:
        record.add(change)
    return left


def recorded(ground: Ground) -> list[Change]:
    return Record(ground).changes
