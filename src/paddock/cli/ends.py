"""How a command ends for how runs ended. Scripts rely on these codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from .exits import ExitCode

if TYPE_CHECKING:
    from paddock.wire.views import RunView

_CODES: Final = {
    "succeeded": ExitCode.DONE,
    "timeout_exceeded": ExitCode.TIMEOUT_EXCEEDED,
    "memory_limit_exceeded": ExitCode.MEMORY_LIMIT_EXCEEDED,
    "cancelled": ExitCode.INTERRUPTED,
    "refused": ExitCode.REFUSED,
}
# For tables, where the long ones would take the room of everything else.
SHORT: Final = {
    "timeout_exceeded": "timeout",
    "memory_limit_exceeded": "memory",
    "spawn_failed": "spawn",
}
OUTCOMES: Final = (
    *("succeeded", "failed", "timeout_exceeded", "memory_limit_exceeded", "spawn_failed"),
    *("cancelled", "skipped", "refused", "lost"),
)


def short_word(run: RunView) -> str:
    """Its outcome, or its state until it has one."""
    word = run.outcome or run.state
    return SHORT.get(word, word)


def code_of(run: RunView) -> int:
    """As `paddock run` ends: with the agent's own code, unless paddock ended it."""
    if run.outcome == "failed":
        return _own_code(run)
    if run.outcome == "spawn_failed":
        return _spawn_code(run.because or "")
    return _CODES.get(run.outcome or "", ExitCode.ENDED_OTHERWISE)


def code_of_all(runs: Iterable[RunView]) -> ExitCode:
    """As `wait` and `fleet` end."""
    good = all(run.outcome == "succeeded" for run in runs)
    return ExitCode.DONE if good else ExitCode.ENDED_OTHERWISE


def in_words(run: RunView) -> str:
    """`failed (exit code 7)`, `timeout_exceeded: …`: for a line of progress."""
    if run.outcome == "succeeded":
        return "succeeded (exit code 0)"
    if run.outcome == "failed" and run.exit_code is not None:
        return f"failed (exit code {run.exit_code})"
    return with_reason(run)


def with_reason(run: RunView) -> str:
    """`timeout_exceeded: ran into its hard timeout of 2 s`."""
    return f"{run.outcome}: {run.because}" if run.because else str(run.outcome)


def _own_code(run: RunView) -> int:
    if run.signal is not None:
        return 128 + run.signal
    # Failed with 0: it did not do what was promised, or asked too often to be tried later.
    return run.exit_code or ExitCode.ENDED_OTHERWISE


def _spawn_code(because: str) -> ExitCode:
    """By the words of the keeper's shim, `CMD: not found`."""
    if because.endswith(": not found"):
        return ExitCode.NO_SUCH_COMMAND
    if because.endswith(": not executable"):
        return ExitCode.NOT_EXECUTABLE
    return ExitCode.PADDOCK_FAILED
