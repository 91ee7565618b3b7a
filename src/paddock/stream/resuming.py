"""What a stage has to do after a kill: which steps run, and which streams begin at zero."""

from __future__ import annotations

from .ends import say
from .spec import BY_CHUNK, SEEK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .spec import Stage
    from .spool import Spool


def resume(stage: Stage, spool: Spool) -> list[bool]:
    """Whether each step is to be run. Looked at from the last one, because what a reader still
    needs is what its writer has to do."""
    runs = [False] * len(stage.steps)
    over = False  # the stream that this step writes begins at zero
    for index in reversed(range(len(stage.steps))):
        is_read = index == len(stage.steps) - 1 or runs[index + 1]
        again = is_read and (over or _must_say_again(stage, spool, index))
        runs[index] = is_read and (again or index not in spool.ledger.done)
        over = runs[index] and index > 0 and _begins_at_zero(stage, spool, index, over=over)
        if over:
            spool.start_over(spool.ledger.links[index - 1])
    spool.sweep()
    if not spool.is_new:
        _say(stage, spool, runs)
    return runs


def _must_say_again(stage: Stage, spool: Spool, index: int) -> bool:
    """Chunks that are written down and not there can be made again by who made them."""
    if index == len(stage.steps) - 1:
        return False
    step, link = stage.steps[index], spool.ledger.links[index]
    missing = spool.find_missing(link)
    for chunk in missing:
        done_for_good = step.each == BY_CHUNK and index in spool.ledger.done
        if step.resume == SEEK or chunk.at < link.base or done_for_good:
            raise spool.lost(step.name, chunk)
    return bool(missing)


def _begins_at_zero(stage: Stage, spool: Spool, index: int, *, over: bool) -> bool:
    """Its input was dropped without its word, or all of its output is to be made again."""
    link = spool.ledger.links[index - 1]
    if stage.steps[index].each == BY_CHUNK:
        return over and link.acked > 0
    return link.is_lost


def _say(stage: Stage, spool: Spool, runs: list[bool]) -> None:
    """One line, for whoever wonders why it does what it did already."""
    parts = []
    for index, step in enumerate(stage.steps):
        if not runs[index]:
            parts.append(f"{step.name} is done")
        elif index == 0:
            sealed = spool.ledger.links[0].sealed if spool.ledger.links else 0
            how = "goes on at" if step.resume == SEEK else "is compared up to"
            parts.append(f"{step.name} {how} byte {sealed}")
        else:
            parts.append(f"{step.name} goes on at byte {spool.ledger.links[index - 1].acked}")
    say(f"the stage is resumed: {', '.join(parts)}")
