"""Runs in steps: which one is next, what is known of it, what is kept when one is done (STEP-1).

Each step is an attempt of its own, so that what holds for attempts holds for steps: its exit is
journaled until it is remembered, and what is remembered is never done again.
"""

from __future__ import annotations

from msgspec.structs import replace

from .actions import StartAttempt
from .fleet import Fleet
from .run import Exit, Outcome, Queued, Run, StepDone


def start_action(run: Run, limit_bytes: int) -> StartAttempt:
    step = run.steps_done if run.spec.steps else None
    resume = goes_on(run)
    return StartAttempt(run.attempt, limit_bytes, resume=resume, step=step, in_doubt=run.in_doubt)


def tries(run: Run) -> int:
    """Attempts that may have left something behind. One that was only put off has not."""
    return run.failures + run.laters + run.losses + run.preemptions


def step_done(fleet: Fleet, run: Run, ended: Exit) -> Run:
    """The run as it is after its present step, whose checkpoint goes to the store with it."""
    step = run.steps_done
    fleet.steps_done.append(
        StepDone(
            run=run.id,
            step=step,
            name=run.spec.steps[step],
            at=fleet.now,
            attempt=run.attempts,
            exit_code=ended.code,
            output_digest=ended.output_digest,
            commit=ended.commit,
        )
    )
    return replace(run, steps_done=step + 1, in_doubt=False, tries_before=tries(run))


def begun_afresh(run: Run) -> Run:
    """Nothing that was begun before can be gone on with."""
    return replace(run, tries_before=tries(run))


def goes_on(run: Run) -> bool:
    """Whether the present attempt follows one that was cut short."""
    return tries(run) > run.tries_before


def is_between_steps(run: Run) -> bool:
    """Whether it waits for the next one, and nothing has gone wrong since the last."""
    begun = isinstance(run.state, Queued) and run.steps_done > run.spec.first_step
    return begun and tries(run) == run.tries_before


def has_more(run: Run) -> bool:
    return run.steps_done < len(run.spec.steps)


def may_go_on(reason: Outcome | None) -> bool:
    """Whether the next step follows. One that was asked to make room has made it, with its work
    done; one that was cancelled or took too long is over all the same."""
    return reason is None or reason is Outcome.PREEMPTED


def is_doubtful(run: Run, outcome: Outcome, ended: Exit | None) -> bool:
    """Whether the present step may have been done without anybody knowing."""
    if not run.spec.steps or outcome in (Outcome.SPAWN_FAILED, Outcome.SUCCEEDED):
        return False
    return ended is None or (ended.code is None and ended.signal is None)
