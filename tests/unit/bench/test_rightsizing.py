"""What the recorder saw of some simulated days saves memory on the next ones, and kills nobody."""

from __future__ import annotations

from tests.kit.two_months import compare


def test_advised_limits_reserve_a_fifth_less_and_kill_no_more() -> None:
    found = compare("tiers", days=2, runs_a_day=120, seed=3)
    assert found.saved >= 0.20
    assert found.after.oom_kills <= found.before.oom_kills
    assert found.after.succeeded == found.before.succeeded > 200
    assert {advice.change for advice in found.advice} <= {"lower", "keep", "unknown"}


def test_limits_that_were_too_small_are_raised() -> None:
    found = compare("one size", days=2, runs_a_day=200, seed=3)
    raised = [advice.group for advice in found.advice if advice.change == "raise"]
    assert raised == ["builder/kernel"]
    assert found.after.oom_kills < found.before.oom_kills
