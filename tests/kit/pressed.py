"""The ladder on real processes: a neighbour of the fleet takes the host's memory, step by step.

The scenario is one for cgroup v1 and v2; only the sizes and the patience differ (`Figures`).
"""

from __future__ import annotations

import functools
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from paddock.wire.run_request import PriorityWord, RunRequest
from tests.kit.ceiling import AGENTS, MIB, Ceiling, a_ceiling
from tests.kit.house import House, a_house
from tests.kit.waiting import until

# (priority, what it holds, its limit). The lowest is enough for the first round, the next one for
# the second, and all together for nothing like the relief target: the neighbour is too large.
WORKERS = (("critical", 64, 96), ("high", 200, 256), ("normal", 250, 288), ("low", 200, 256))
LATER = ("late-low", "late-high")


@dataclass(frozen=True)
class Figures:
    """`part`: everything, floors too, is so many times smaller than on a host of 2 GiB."""

    part: int = 1
    within_s: float = 30.0  # that anything may take
    commands_s: float = 60.0  # of which each is a start of Python, with all that it imports
    recovered_s: float = 30.0  # from the end of the pressure until all are back
    longest_gap_s: float = 4.0  # in the counting of one that is never disturbed

    @property
    def config(self) -> str:
        """More than five at once. Throttled by v2 below its wall, nobody would hold what it is to
        hold."""
        return (
            "performance_profile: high\nsandbox: {memory_high: 99%}\n"
            f"ladder: {{free_floor: {512 // self.part}M}}\n"
        )


USUAL = Figures()
# The guest has 2 GB, and under emulation everything takes long, the starts of Python first.
EMULATED = Figures(part=2, within_s=240.0, commands_s=240.0, recovered_s=90.0, longest_gap_s=30.0)


@dataclass
class Pressed:
    """A paddock on a small host, and a neighbour that takes what it is told to."""

    house: House
    host: Ceiling
    figures: Figures

    @property
    def finish(self) -> Path:
        return self.house.home / "finish"

    def worker(self, name: str, size_mb: int) -> list[str]:
        words = (size_mb, self.lines_of(name), self.finish)
        return [sys.executable, "-I", "-S", str(AGENTS / "counting.py"), *map(str, words)]

    def lines_of(self, name: str) -> Path:
        return self.house.home / f"{name}.lines"

    def counted(self, name: str) -> list[tuple[int, int, float]]:
        """Of each tick: its number, its attempt, and when it was."""
        file = self.lines_of(name)
        text = file.read_text(encoding="ascii") if file.exists() else ""
        lines = [line.split() for line in text.splitlines()]
        return [(int(number), int(attempt), float(at)) for number, attempt, at in lines]

    def last(self, name: str) -> int:
        return len(self.counted(name))

    def attempt(self, name: str) -> int:
        """Whose turn it was to count last."""
        return max((attempt for _, attempt, _ in self.counted(name)), default=0)

    def fleet(self) -> None:
        """One worker of each priority, and a heartbeat."""
        part = self.figures.part
        runs = "".join(
            f"- {{name: {name}, priority: {name}, memory: {limit_mb // part}M, "
            f"command: {self.worker(name, size_mb // part)}}}\n"
            for name, size_mb, limit_mb in WORKERS
        )
        beat = "- {name: pulse, every: 1s, memory: 16M, command: ['true']}\n"
        file = self.house.home / "fleet.yaml"
        file.write_text(f"runs:\n{runs}heartbeats:\n{beat}", encoding="utf-8")
        within_s = self.figures.commands_s
        done = self.house.paddock("fleet", "--detach", file, within_s=within_s)
        assert done.returncode == 0, done.stderr

    def later(self, name: str, priority: PriorityWord) -> None:
        words = tuple(self.worker(name, 1))
        self.house.submit(
            RunRequest(name=name, command=words, priority=priority, memory_bytes=16 * MIB)
        )

    def rung(self) -> str:
        with self.house.client() as client:
            host = client.status().host
        return host.ladder if host else ""

    def press(self, percent: float, rung: str) -> None:
        self.host.fill_to(percent)
        until(lambda: self.rung() == rung, within_s=self.figures.within_s)

    def beats(self) -> tuple[int, int]:
        """Those that were, and those that were skipped under pressure."""
        with self.house.client() as client:
            (pulse,) = client.status().heartbeats
        return pulse.beats, pulse.skipped_pressure

    def why(self, name: str) -> str:
        with self.house.client() as client:
            return client.why(name).sentence

    def story(self, name: str) -> str:
        with self.house.client() as client:
            return "\n".join(f"{move.state}: {move.because}" for move in client.story(name))

    def is_frozen(self, name: str) -> bool:
        with self.house.client() as client:
            return client.run(name).frozen == "pressure"

    def is_queued(self, name: str) -> bool:
        with self.house.client() as client:
            return client.run(name).state == "queued"

    def goes_on(self, name: str, ticks: int) -> None:
        before = self.last(name)
        until(lambda: self.last(name) > before + ticks, within_s=self.figures.within_s)


@contextmanager
def a_pressed_host(directory: Path, figures: Figures = USUAL) -> Iterator[Pressed]:
    total = 2048 * MIB // figures.part
    with a_ceiling(total) as host, a_house(directory, config=figures.config) as house:
        # Under emulation it may take longer to start than a command waits for it.
        start = functools.partial(house.paddock, "daemon", "start", before=host.join)
        within_s = figures.commands_s
        until(lambda: start(within_s=within_s).returncode == 0, within_s=within_s)
        yield Pressed(house, host, figures)


def the_least_urgent_give_way_and_come_back_by_themselves(pressed: Pressed) -> None:
    """The whole of the ladder, up and down again."""
    names = [name for name, _, _ in WORKERS]
    within_s = pressed.figures.within_s
    pressed.fleet()
    until(lambda: all(pressed.last(name) > 5 for name in names), within_s=within_s)
    until(lambda: pressed.beats()[0] > 0, within_s=within_s)

    _heartbeats_are_skipped_and_low_priority_waits(pressed)
    _nothing_starts(pressed)
    _one_is_frozen_and_stopped_with_its_work(pressed, 83.0, "low", spared="normal")
    _one_is_frozen_and_stopped_with_its_work(pressed, 86.0, "normal", spared="high")
    _the_next_is_killed_and_the_critical_is_not(pressed)
    _all_come_back(pressed, [*names, *LATER])

    pressed.finish.touch()
    ended = pressed.house.ended([*names, *LATER], within_s=within_s)
    outcomes = {view.name: view.outcome for view in ended}
    assert outcomes == dict.fromkeys([*names, *LATER], "succeeded")
    _nothing_is_lost_or_done_twice(pressed, names)


def _heartbeats_are_skipped_and_low_priority_waits(pressed: Pressed) -> None:
    pressed.press(71.0, "skip_low")
    beats, skipped = pressed.beats()
    until(lambda: pressed.beats()[1] >= skipped + 2, within_s=pressed.figures.within_s)
    assert pressed.beats()[0] == beats
    pressed.later("late-low", "low")
    assert "low priority waits under pressure: " in pressed.why("late-low")


def _nothing_starts(pressed: Pressed) -> None:
    pressed.press(80.2, "queue")
    pressed.later("late-high", "high")
    assert "nothing starts under pressure: " in pressed.why("late-high")


def _one_is_frozen_and_stopped_with_its_work(
    pressed: Pressed, percent: float, name: str, *, spared: str
) -> None:
    within_s = pressed.figures.within_s
    pressed.press(percent, "preempt")
    until(lambda: pressed.is_frozen(name), within_s=within_s)
    pressed.goes_on("critical", 3)  # v1 freezes in its own time
    stood_at = pressed.last(name)
    pressed.goes_on("critical", 5)
    stands_at = pressed.last(name)
    if pressed.is_frozen(name):  # still, and so all the while
        assert stands_at == stood_at
    until(lambda: pressed.is_queued(name), within_s=within_s)
    assert not pressed.is_queued(spared)
    story = pressed.story(name)
    # By the free memory or by the percentage: on a slow host it may stand a little below the step.
    assert re.search(r"running: frozen by pressure: .*(host memory|stall)", story), story
    assert f"({name} priority" in story and f"{spared} ({spared})" in story


def _the_next_is_killed_and_the_critical_is_not(pressed: Pressed) -> None:
    """It may be under way to be stopped already when the last step is reached."""
    within_s = pressed.figures.within_s
    pressed.press(96.0, "emergency")
    until(lambda: pressed.is_queued("high"), within_s=within_s)
    said = until(lambda: re.search(r"stopping: .*host memory.*; frees .*", pressed.story("high")))
    assert "(high priority); spared critical (critical)" in said.group()
    # It stands on the last step for a while yet, and would have been the only one left to take.
    until(lambda: pressed.rung() == "preempt", within_s=within_s)
    assert not pressed.is_queued("critical")


def _all_come_back(pressed: Pressed, names: list[str]) -> None:
    before = {name: pressed.last(name) for name in names}
    beats, _ = pressed.beats()
    pressed.host.hold(0)
    recovered_at = time.monotonic() + pressed.figures.recovered_s
    for is_back in (
        lambda: all(pressed.last(name) > before[name] for name in names),
        lambda: pressed.beats()[0] > beats,
    ):
        until(is_back, within_s=max(0.0, recovered_at - time.monotonic()))


def _nothing_is_lost_or_done_twice(pressed: Pressed, names: list[str]) -> None:
    for name in names:
        numbers = [number for number, _, _ in pressed.counted(name)]
        assert numbers == list(range(1, len(numbers) + 1)), name
    assert pressed.attempt("critical") == 1
    assert all(pressed.attempt(name) >= 2 for name in names if name != "critical")
    at = [at for _, _, at in pressed.counted("critical")]
    longest_s = max(after - before for before, after in pairwise(at))
    assert longest_s < pressed.figures.longest_gap_s
    story = pressed.story("critical")
    assert "frozen" not in story and "stopping" not in story
