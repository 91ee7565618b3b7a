"""Long random lives of a fleet from plain seeds: less clever than hypothesis, and busier.

Hypothesis shrinks and looks into corners; a walk keeps the house full for a hundred steps, where
preemption, pressure and breakers meet. Both drive the same machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from paddock.core.events import Host
from paddock.core.policy import Admission, Policy
from paddock.core.run import Exit, Priority, RunSpec
from paddock.core.units import GIB
from tests.kit.factories import a_spec
from tests.properties.aimed_machine import some_live, some_starting
from tests.properties.fleet_machine import FleetMachine
from tests.properties.fleet_strategies import a_small_policy

EXITS = (
    Exit(0), Exit(0), Exit(0), Exit(1), Exit(75), Exit(None, signal=9, oom=True),
    Exit(None, signal=9, fleet_oom=True), Exit(1, retry_after_s=7.0),
    Exit(1, session_lost=True),
)  # fmt: skip
SIZES = ("1G", "2G", "3G", "5G", "8G", "12G")


class Walk:
    """One life: a machine, and chance that says what happens next."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.machine = FleetMachine()
        self.machine.begin(self._policy(), [self._spec() for _ in range(5)])

    def live(self, *, steps: int) -> None:
        happenings = self._happenings()
        for _ in range(steps):
            happens = self.draw.choice(happenings)
            if some_live(self.machine) or happens in happenings[:4]:
                happens()
        self.machine.teardown()

    def _policy(self) -> Policy:
        draw = self.draw
        return a_small_policy(
            draw.choice(list(Admission)),
            draw.choice([None, None, 4, 2]),
            (draw.choice([0.0, 60.0]), draw.choice([600.0, 3600.0, 0.0])),
            draw.choice([3, 1000]),
            draw.choice([0.001, 0.001, 1800.0]),
        )

    def _spec(self) -> RunSpec:
        draw = self.draw
        return a_spec(
            memory=draw.choice(SIZES),
            priority=draw.choice(list(Priority)),
            group=draw.choice("abc"),
            retries=draw.choice([0, 0, 1, 2]),
        )

    def _number(self) -> int:
        return self.draw.randrange(10_000)

    def _happenings(self) -> list[Callable[[], None]]:
        """The first four can happen to an empty house."""
        m, draw, number = self.machine, self.draw, self._number
        return [
            lambda: m.submit_one(self._spec()),
            lambda: m.submit(draw.choice([1, 2, 3]), self._spec(), [number()]),
            lambda: m.host_is_calm(6.0, draw.choice([10.0, 30.0])),
            lambda: m.time_passes(draw.choice([1.0, 20.0, 61.0, 700.0])),
            lambda: m.the_house_fills([self._spec() for _ in range(4)]),
            self._confirm,
            self._confirm,
            lambda: m.attempt_exits(number(), draw.choice(EXITS), empty=draw.random() < 0.7),
            lambda: m.attempt_exits(number(), draw.choice(EXITS), empty=True),
            lambda: m.an_urgent_one_comes(
                self._spec(), draw.choice([6, 10]) * GIB, draw.choice(list(Priority)[:3]), 61.0
            ),
            lambda: m.pressure_stays(draw.choice([86.0, 92.0, 96.0]), draw.choice([1, 2, 3])),
            lambda: m.memory_is_used(
                draw.choice([0.5, 4.0, 8.0]), [draw.random() for _ in range(3)], 1.0, 6.0
            ),
            lambda: m.a_group_goes_wrong(draw.choice("abc"), draw.choice([1, 75])),
            lambda: m.next_deadline_comes(draw.choice([1, 3])),
            lambda: m.host_is_sampled(Host(None, None, 16 * GIB), [], 1.0),
            lambda: m.cancel(number(), force=draw.random() < 0.5),
            lambda: m.change_priority(number(), draw.choice(list(Priority))),
            lambda: m.freeze_or_thaw(number(), thaw=draw.random() < 0.7),
            lambda: m.stale_exit_is_told(number(), 1, Exit(0)),
            lambda: m.an_old_event_is_told_again(number()),
            lambda: m.limit_is_passed(number()),
            lambda: m.attempt_is_lost(number()),
            m.daemon_is_killed,
        ]

    def _confirm(self) -> None:
        if some_starting(self.machine):
            self.machine.start_is_confirmed(self._number())


def walk(seed: int, *, steps: int = 100) -> None:
    Walk(seed).live(steps=steps)
