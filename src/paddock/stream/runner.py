"""A step while it runs. This one has no input; those that read a stream are kinds of it."""

from __future__ import annotations

import os

from . import starting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .intake import Intake
    from .spec import Stage
    from .spool import Spool


class Runner:
    """`pid` is 0 while nothing runs; `code` is how its last process ended, until it is seen to."""

    def __init__(self, stage: Stage, index: int, spool: Spool) -> None:
        self.stage = stage
        self.step = stage.steps[index]
        self.index = index
        self.spool = spool
        self.intake: Intake | None = None  # of its output; the last has none
        self.pid = 0
        self.code: int | None = None
        self.has_begun = False
        self.is_unneeded = False  # whoever read it has ended well
        self.term_at: float | None = None
        self.kill_at: float | None = None

    @property
    def is_done(self) -> bool:
        return self.index in self.spool.ledger.done

    @property
    def is_hungry(self) -> bool:
        """It waits for input, and all that is sealed it has."""
        return False

    @property
    def has_ended_well(self) -> bool:
        """And all that it wrote has come: what it left running may still hold its output."""
        return self.code == 0 and (self.intake is None or self.intake.is_at_end)

    def advance(self, now: float, *, ended: bool) -> float | None:  # noqa: ARG002
        """What can be done now; when to look again. `ended`: no more input will come."""
        if not self.has_begun:
            facts: dict[str, object] = {}
            if self.intake is not None:
                facts["PADDOCK_STREAM_OFFSET"] = self.spool.ledger.links[0].sealed
            self.start(facts, {})
        if self.has_ended_well:
            self.finish()
        return None

    def start(self, facts: dict[str, object], descriptors: dict[int, int]) -> None:
        self.has_begun = True
        self.code = None
        if self.intake is None:
            self.pid = starting.start(self.step, facts, descriptors)
            return
        self.intake.close()
        output = self.intake.pipe()
        try:
            self.pid = starting.start(self.step, facts, {**descriptors, 1: output})
        finally:
            os.close(output)

    def finish(self) -> None:
        if self.intake is not None:
            self.intake.finish()
            self.intake.close()
        self.spool.finish(self.index)

    # -- its input ----------------------------------------------------------------------------

    def wanted(self) -> dict[int, bool]:
        """Descriptors of its input side: True to write to, False to read from."""
        return {}

    def ready(self, descriptor: int) -> None:
        raise AssertionError(f"nobody waits for {descriptor}")

    def leave(self) -> None:
        """Nobody reads what it writes, and it is given nothing more: as at the end of a pipe."""
        self.is_unneeded = True
        if self.intake is not None:
            self.intake.close()

    def last_words(self) -> None:
        """The relay ends: what was heard is written down."""
