"""Answers that are made while the disk is at work, and given by the thread that had to wait for it.

To wake the loop so that it answers is a tenth of what a submission takes, and as much again what
it takes to find the words: so the words are found before the commit is over, and the store's
thread says them. The loop then does the rest, and gives whatever was not given here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from paddock.core.actions import Refuse
from paddock.supervisor.thoughts import Thought


class EarlyAnswer(ABC):
    """An `Answer` that can be given so. `give` is called only for a step that is kept and was not
    refused, `set_result` or `set_exception` at the end in any case."""

    @abstractmethod
    def done(self) -> bool: ...

    @abstractmethod
    def set_result(self, refused: Sequence[Refuse], /) -> None: ...

    @abstractmethod
    def set_exception(self, error: BaseException, /) -> None: ...

    @abstractmethod
    def prepare(self) -> None:
        """In the loop's thread, perhaps more than once, or too late. Never raises."""

    @abstractmethod
    def give(self) -> None:
        """In the store's thread, when it is kept; if it was prepared in time. Never raises."""


class EarlyAnswers:
    """Those of one commit. Both threads have it, and neither changes it."""

    __slots__ = ("_answers", "_tell_loop")

    def __init__(
        self, answers: Sequence[EarlyAnswer], tell_loop: Callable[[Callable[[], None]], None]
    ) -> None:
        self._answers = answers
        self._tell_loop = tell_loop

    def meanwhile(self) -> None:
        """In the store's thread: only the disk is waited for."""
        self._tell_loop(self._prepare)

    def kept(self) -> None:
        """In the store's thread."""
        for answer in self._answers:
            answer.give()

    def _prepare(self) -> None:
        for answer in self._answers:
            answer.prepare()


def early_among(
    thoughts: Sequence[Thought], tell_loop: Callable[[Callable[[], None]], None]
) -> EarlyAnswers | None:
    answers = [thought.answer for thought in thoughts if not thought.refused]
    early = [answer for answer in answers if isinstance(answer, EarlyAnswer)]
    return EarlyAnswers(early, tell_loop) if early else None
