"""The ladder on real processes: a neighbour of the fleet takes the host's memory, step by step."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.kit.ceiling import AGENTS, MIB, Ceiling, a_ceiling
from tests.kit.house import House, a_house
from tests.kit.waiting import until

HOST_BYTES = 2048 * MIB
RECOVERED_S = 30.0
CONFIG = "performance_profile: high\n"  # more than five at once
# (priority, what it holds, its limit). The lowest is enough for the first round, the next one for
# the second, and all together for nothing like the relief target: the neighbour is too large.
WORKERS = (("critical", 64, 96), ("high", 200, 256), ("normal", 250, 288), ("low", 200, 256))


@dataclass
class Pressed:
    """A paddock on a host of 2 GiB, and a neighbour that takes what it is told to."""

    house: House
    host: Ceiling

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
        runs = "".join(
            f"- {{name: {name}, priority: {name}, memory: {limit_mb}M, "
            f"command: {self.worker(name, size_mb)}}}\n"
            for name, size_mb, limit_mb in WORKERS
        )
        beat = "- {name: pulse, every: 1s, memory: 16M, command: ['true']}\n"
        file = self.house.home / "fleet.yaml"
        file.write_text(f"runs:\n{runs}heartbeats:\n{beat}", encoding="utf-8")
        done = self.house.paddock("fleet", "--detach", file)
        assert done.returncode == 0, done.stderr

    def later(self, name: str, priority: str) -> None:
        options = ("--name", name, "--priority", priority, "--memory", "32M")
        done = self.house.paddock("submit", *options, "--", *self.worker(name, 1))
        assert done.returncode == 0, done.stderr

    def rung(self) -> str:
        with self.house.client() as client:
            host = client.status().host
        return host.ladder if host else ""

    def press(self, percent: float, rung: str) -> None:
        self.host.fill_to(percent)
        until(lambda: self.rung() == rung, within_s=10)

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


@pytest.fixture
def pressed(tmp_path: Path) -> Iterator[Pressed]:
    with a_ceiling(HOST_BYTES) as host, a_house(tmp_path, config=CONFIG) as house:
        done = house.paddock("daemon", "start", before=host.join)
        assert done.returncode == 0, done.stderr
        yield Pressed(house, host)


def test_under_pressure_the_least_urgent_give_way_and_come_back_by_themselves(
    pressed: Pressed,
) -> None:
    names = [name for name, _, _ in WORKERS]
    pressed.fleet()
    until(lambda: all(pressed.last(name) > 5 for name in names), within_s=30)
    until(lambda: pressed.beats()[0] > 0, within_s=30)

    heartbeats_are_skipped_and_low_priority_waits(pressed)
    nothing_starts(pressed)
    one_is_frozen_and_stopped_with_its_work(pressed, 83.0, "low", spared="normal")
    one_is_frozen_and_stopped_with_its_work(pressed, 86.0, "normal", spared="high")
    the_next_is_killed_and_the_critical_is_not(pressed)
    all_come_back(pressed, [*names, "late-low", "late-high"])

    pressed.finish.touch()
    ended = pressed.house.ended([*names, "late-low", "late-high"], within_s=30)
    assert {view.name: view.outcome for view in ended} == dict.fromkeys(
        [*names, "late-low", "late-high"], "succeeded"
    )
    nothing_is_lost_or_done_twice(pressed, names)


def heartbeats_are_skipped_and_low_priority_waits(pressed: Pressed) -> None:
    pressed.press(71.0, "skip_low")
    beats, skipped = pressed.beats()
    until(lambda: pressed.beats()[1] >= skipped + 2, within_s=10)
    assert pressed.beats()[0] == beats
    pressed.later("late-low", "low")
    assert "low priority waits under pressure: " in pressed.why("late-low")


def nothing_starts(pressed: Pressed) -> None:
    pressed.press(80.2, "queue")
    pressed.later("late-high", "high")
    assert "nothing starts under pressure: " in pressed.why("late-high")


def one_is_frozen_and_stopped_with_its_work(
    pressed: Pressed, percent: float, name: str, *, spared: str
) -> None:
    pressed.press(percent, "preempt")
    until(lambda: pressed.is_frozen(name), within_s=10)
    stood_at, others = pressed.last(name), pressed.last("critical")
    until(lambda: pressed.last("critical") > others + 5, within_s=10)
    if pressed.is_frozen(name):
        assert pressed.last(name) == stood_at
    until(lambda: pressed.is_queued(name), within_s=20)
    assert not pressed.is_queued(spared)
    story = pressed.story(name)
    assert "running: frozen by pressure: only " in story
    assert f"({name} priority" in story and f"{spared} ({spared})" in story


def the_next_is_killed_and_the_critical_is_not(pressed: Pressed) -> None:
    pressed.press(96.0, "emergency")
    until(lambda: pressed.is_queued("high"), within_s=10)
    # Seen on the way up, or at the top.
    last_step = r"stopping: (only 1.* of host memory free \(floor 192|host memory at 9\d %)"
    said = until(lambda: re.search(f"{last_step}.*; frees 20.*", pressed.story("high")))
    assert "(high priority); spared critical (critical)" in said.group()
    # It stands on the last step for a while yet, and would have been the only one left to take.
    until(lambda: pressed.rung() == "preempt", within_s=20)
    assert not pressed.is_queued("critical")


def all_come_back(pressed: Pressed, names: list[str]) -> None:
    before = {name: pressed.last(name) for name in names}
    pressed.host.hold(0)
    gone_at = time.monotonic()
    beats, _ = pressed.beats()
    until(lambda: all(pressed.last(name) > before[name] for name in names), within_s=RECOVERED_S)
    until(lambda: pressed.beats()[0] > beats, within_s=RECOVERED_S)
    assert time.monotonic() - gone_at < RECOVERED_S


def nothing_is_lost_or_done_twice(pressed: Pressed, names: list[str]) -> None:
    for name in names:
        numbers = [number for number, _, _ in pressed.counted(name)]
        assert numbers == list(range(1, len(numbers) + 1)), name
    assert [pressed.attempt(name) for name in names] == [1, 2, 2, 2]
    at = [at for _, _, at in pressed.counted("critical")]
    assert max(after - before for before, after in pairwise(at)) < 4.0
    story = pressed.story("critical")
    assert "frozen" not in story and "stopping" not in story
