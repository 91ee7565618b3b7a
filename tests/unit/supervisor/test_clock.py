"""The fleet's time, whatever happens to the clock on the wall."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.supervisor.clock import Clock, continue_clock

HOUR_S = 3600.0


@dataclass
class Machine:
    """A machine whose clock can be set, and that can be switched off."""

    boot: str = "one"
    ticks_s: float = 100.0
    wall_s: float = 1_000_000.0

    def start(self, remembered: str = "", last_at: float = 0.0) -> tuple[Clock, bool]:
        return continue_clock(
            remembered,
            last_at,
            boot=self.boot,
            ticks=lambda: self.ticks_s,
            wall_now=lambda: self.wall_s,
        )

    def pass_by(self, seconds: float) -> None:
        self.ticks_s += seconds
        self.wall_s += seconds


def test_it_begins_with_the_time_on_the_wall() -> None:
    machine = Machine()
    clock, same_boot = machine.start()
    assert clock.now() == machine.wall_s
    assert same_boot


def test_a_clock_that_is_set_changes_nothing() -> None:
    machine = Machine()
    clock, _ = machine.start()
    before = clock.now()
    for step_s in (HOUR_S, -2 * HOUR_S, HOUR_S):
        machine.wall_s += step_s
        assert clock.now() == before


def test_a_daemon_that_starts_again_after_the_clock_was_set_finds_no_time_passed() -> None:
    for step_s in (HOUR_S, -HOUR_S):
        machine = Machine()
        first, _ = machine.start()
        machine.pass_by(10)
        last_at = first.now()
        machine.wall_s += step_s
        machine.pass_by(5)
        second, same_boot = machine.start(first.remembered, last_at)
        assert same_boot
        assert second.now() == last_at + 5


def test_after_a_reboot_the_time_the_machine_was_off_has_passed() -> None:
    machine = Machine()
    first, _ = machine.start()
    last_at = first.now()
    machine.boot, machine.ticks_s = "two", 3.0
    machine.wall_s += 600
    second, same_boot = machine.start(first.remembered, last_at)
    assert not same_boot
    assert second.now() == last_at + 600


def test_after_a_reboot_with_the_clock_set_back_time_stands_still_and_never_goes_back() -> None:
    machine = Machine()
    first, _ = machine.start()
    last_at = first.now()
    machine.boot, machine.ticks_s = "two", 3.0
    machine.wall_s -= HOUR_S
    second, _ = machine.start(first.remembered, last_at)
    assert second.now() == last_at


def test_times_are_shown_as_the_wall_clock_would_say_now() -> None:
    machine = Machine()
    clock, _ = machine.start()
    at = clock.now()
    machine.pass_by(60)
    machine.wall_s += HOUR_S
    assert clock.wall(at) == machine.wall_s - 60
