"""Failures that were found once, by reading or by chance. Each was real."""

from __future__ import annotations

from paddock.core.actions import KillAttempt
from paddock.core.events import Exited, PriorityChanged
from paddock.core.policy import Admission
from paddock.core.run import Exit, Outcome, Priority, Queued, Running
from paddock.core.units import GIB, MIB
from tests.kit.factories import a_host, a_policy, a_spec
from tests.kit.yard import Yard, only


def learned_yard(limit: str = "4G", used: str = "200M") -> Yard:
    """A group of which twelve attempts have been seen."""
    yard = Yard(a_policy(admission=Admission.LEARNED))
    for number in range(12):
        name = f"seen{number}"
        yard.run(a_spec(name, memory=limit))
        yard.sample(**{name: used})
        yard.advance(600)
        yard.end(name)
    return yard


def test_small_walls_prove_nothing_of_large_ones() -> None:
    """Ten runs of 12G were let in on the history of runs that were held at 16M."""
    yard = learned_yard(limit="16M", used="8M")
    yard.submit(*(a_spec(f"big{i}", memory="12G") for i in range(10)))
    for _ in range(5):
        yard.advance(1)
        yard.sample()
    assert len(yard.live) == 1


def test_a_run_without_a_timeout_does_not_make_the_door_be_held_for_ever() -> None:
    yard = Yard()
    yard.run(a_spec("eternal", memory="1G", hard_timeout_s=float("inf")))
    yard.submit(a_spec("whole", memory="12G"))
    yard.advance(700)
    yard.submit(a_spec("small", memory="1G"))
    assert "small" in yard.live


def test_a_critical_run_is_let_in_where_the_fleet_uses_more_than_its_model() -> None:
    """Admission and preemption made different sums, and each waited for the other."""
    yard = learned_yard()
    names = [f"low{i}" for i in range(6)]
    yard.run(*(a_spec(name, priority=Priority.LOW, memory="4G") for name in names))
    for _ in range(3):
        yard.advance(30)
        yard.sample(a_host(used_percent=60.0), **dict.fromkeys(names, "1990M"))
    yard.confirm()
    yard.submit(a_spec("urgent", priority=Priority.CRITICAL, memory="4G"))
    for _ in range(10):
        yard.advance(10)
        yard.sample(a_host(used_percent=60.0))
    assert "urgent" in yard.live or yard.stopping


def test_room_on_the_host_is_seen_although_the_first_was_short_by_limits() -> None:
    yard = learned_yard()
    slow = a_host(available="5G", used_percent=60.0, slowdown=1.5)
    yard.sample(slow)
    yard.run(a_spec("a", memory="6G", group="new"))
    yard.submit(a_spec("b", memory="8G"), a_spec("c", memory="1G", group="other"))
    yard.advance(1)
    yard.sample(a_host(available="14G", used_percent=10.0, slowdown=1.5))
    assert "c" in yard.live


def test_equals_are_expected_to_use_the_same() -> None:
    yard = learned_yard()
    for number in range(6):
        yard.run(a_spec(f"r{number}", memory="4G"))
        yard.advance(1)
        yard.sample()
    sizes = {yard.in_state(f"r{i}", Running).hold.expected_bytes for i in range(6)}
    assert len(sizes) == 1
    assert sizes.pop() < 400 * MIB


def test_a_group_whose_front_was_cancelled_is_not_passed_for_ever() -> None:
    yard = Yard(a_policy(max_agents=1))
    yard.run(a_spec("first", group="x"))
    yard.submit(*(a_spec(f"a{i}", group="a") for i in range(50)))
    for number in range(45):
        yard.cancel(f"a{number}")
    served: list[str] = []
    for number in range(8):
        yard.submit(a_spec(f"b{number}", group="b"))
        yard.end(next(iter(yard.fleet.live)))
        served += yard.live
    assert sum(name.startswith("a") for name in served) >= 3


def test_an_emergency_kills_nobody_who_frees_nothing() -> None:
    yard = Yard()
    yard.run(*(a_spec(f"idle{i}", memory="1G") for i in range(4)), a_spec("user", memory="1G"))
    yard.advance(1)
    actions = yard.sample(a_host(used_percent=97.0), user="200M")
    assert [kill.attempt.run for kill in only(actions, KillAttempt)] == ["user"]


def test_kills_at_the_fleets_wall_come_to_an_end() -> None:
    yard = Yard()
    yard.submit(a_spec("a", memory="12G"))
    for _ in range(100):
        if yard["a"].live:
            yard.confirm()
            end = Exit(signal=9, oom=True, fleet_oom=True)
            yard.tell(Exited(yard.now, yard.attempt("a"), end))
        yard.advance(10)
    assert yard.outcome("a") is Outcome.MEMORY_LIMIT_EXCEEDED


def test_what_the_agent_ended_with_is_not_rewritten_by_its_strays() -> None:
    yard = Yard()
    yard.run(a_spec("a"))
    attempt = yard.attempt("a")
    yard.tell(Exited(yard.now, attempt, Exit(code=0), empty=False))
    yard.tell(Exited(yard.now, attempt, Exit(signal=9), empty=True))
    assert yard.outcome("a") is Outcome.SUCCEEDED


def test_a_claim_survives_a_restart() -> None:
    yard = Yard()
    yard.run(*(a_spec(f"v{i}", memory="6G", priority=Priority.LOW) for i in range(2)))
    yard.advance(61)
    yard.submit(a_spec("claimant", memory="12G", priority=Priority.HIGH))
    assert yard.stopping == ["v0", "v1"]
    yard = yard.reborn()
    yard.sample()
    yard.submit(a_spec("thief", memory="6G"))
    yard.end("v0", None, signal=15)
    assert yard.live == ["v1"]
    yard.end("v1", None, signal=15)
    assert yard.live == ["claimant"]


def test_being_passed_is_remembered_over_a_restart() -> None:
    yard = Yard()
    yard.run(a_spec("half", memory="7G", hard_timeout_s=1e5))
    yard.submit(a_spec("big", memory="12G"))
    yard.advance(500)
    yard = yard.reborn()
    yard.sample()
    assert yard.in_state("big", Queued).passed_since_at == 0.0


def test_a_running_run_keeps_the_head_of_its_new_priority_when_it_is_stopped() -> None:
    yard = Yard(a_policy(max_agents=1))
    yard.run(a_spec("v", priority=Priority.LOW))
    yard.submit(*(a_spec(f"n{i}") for i in range(3)))
    yard.tell(PriorityChanged(yard.now, "v", Priority.NORMAL))
    yard.end("v", 75)
    yard.advance(61)
    assert yard.fleet.queue.place("v") == 1


def test_the_step_that_holds_is_the_one_that_is_named() -> None:
    yard = Yard(host=a_host(used_percent=81.0))
    yard.sample(a_host(used_percent=78.0))
    yard.submit(a_spec("a"))
    assert "host memory at 78 % (step at 80 %)" in yard.why("a")


def test_nobody_blames_the_cores_where_limits_are_guaranteed() -> None:
    yard = Yard()
    yard.submit(*(a_spec(f"r{i}", memory="3G") for i in range(5)))
    assert "CPU" not in yard.why("r4")
    assert yard.fleet.demand.expected_bytes == 12 * GIB
