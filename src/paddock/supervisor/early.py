"""Answers that are made before the disk is asked, and given by the thread that had to wait for it.

To wake the loop so that it answers is a tenth of what a submission takes: so the words are found
before the commit, and the store's thread says them. The loop then does the rest, and gives whatever
was not given here. (To find them while the disk is at work took as long, and more CPU.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

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
        """In the loop's thread, perhaps more than once. Never raises."""

    @abstractmethod
    def give(self) -> None:
        """In the store's thread, when it is kept; if it could be prepared. Never raises."""


def prepared_among(thoughts: Sequence[Thought]) -> Sequence[EarlyAnswer]:
    """Those that may be given when all of these are kept."""
    answers = [thought.answer for thought in thoughts if not thought.refused]
    early = [answer for answer in answers if isinstance(answer, EarlyAnswer)]
    for answer in early:
        answer.prepare()
    return early
