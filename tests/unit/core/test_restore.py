"""A fleet built again from what was remembered."""

from __future__ import annotations

from paddock.core.actions import (
    AskCheckpoint,
    FreezeAttempt,
    KillAttempt,
    StartAttempt,
    TerminateAttempt,
    ThawAttempt,
)
from paddock.core.breaker import Open
from paddock.core.events import FreezeRequested, HeartbeatDeclared
from paddock.core.restore import owed
from paddock.core.run import Attempt, Outcome, Priority
from paddock.core.units import GIB
from tests.kit.factories import a_host, a_policy, a_spec, with_parts
from tests.kit.yard import Yard

A = Attempt("a", 1)


def running() -> Yard:
    yard = Yard()
    yard.run(a_spec())
    return yard


def test_a_start_that_may_not_have_been_made_is_owed() -> None:
    yard = Yard()
    yard.submit(a_spec())
    assert owed(yard.reborn().fleet) == [StartAttempt(A, 2 * GIB)]


def test_a_second_attempt_is_owed_as_one_that_resumes() -> None:
    yard = running()
    yard.lose("a")
    yard.advance(10)
    assert owed(yard.reborn().fleet) == [StartAttempt(Attempt("a", 2), 2 * GIB, resume=True)]


def test_a_running_one_is_owed_its_thaw() -> None:
    """The crash may have come between the change and the thaw."""
    assert owed(running().reborn().fleet) == [ThawAttempt(A)]


def test_a_freeze_is_owed_with_its_kind() -> None:
    yard = running()
    yard.tell(FreezeRequested(yard.now, "a"))
    assert owed(yard.reborn().fleet) == [FreezeAttempt(A)]
    yard = running()
    yard.sample(a_host(used_percent=86.0), a="2G")
    assert owed(yard.reborn().fleet) == [FreezeAttempt(A, reclaim=True)]


def test_a_stop_is_owed_in_its_phase_and_the_victim_must_hear_it() -> None:
    yard = running()
    yard.cancel("a")
    assert owed(yard.reborn().fleet) == [
        ThawAttempt(A),
        TerminateAttempt(A, "cancelled on request"),
    ]
    yard.advance(10)
    assert KillAttempt(A, "cancelled on request") in owed(yard.reborn().fleet)


def test_a_checkpoint_request_is_owed() -> None:
    yard = Yard()
    yard.run(a_spec(memory="12G"))
    yard.advance(60)
    yard.submit(a_spec("urgent", memory="12G", priority=Priority.HIGH))
    kinds = [type(action) for action in owed(yard.reborn().fleet)]
    assert kinds == [ThawAttempt, AskCheckpoint]


def test_timers_go_on_as_if_nothing_had_been() -> None:
    yard = running()
    yard.advance(100)
    again = yard.reborn()
    assert again.fleet.next_deadline == yard.fleet.next_deadline == 900.0
    again.advance(1700)
    assert again.in_state("a", type(again.state("a"))).since_at == 1800.0


def test_needs_are_still_waited_for() -> None:
    yard = Yard()
    yard.run(a_spec("a"))
    yard.submit(a_spec("b", needs=("a",)))
    again = yard.reborn()
    again.sample()
    assert again.queued == ["b"]
    again.end("a")
    assert again.live == ["b"]


def test_an_open_breaker_stays_open_and_probes_in_time() -> None:
    yard = Yard(with_parts(a_policy(), breaker={"failures": 1}))
    yard.run(a_spec("a"))
    yard.end("a", 1)
    yard.submit(a_spec("b"))
    again = yard.reborn()
    again.sample()
    assert isinstance(again.fleet.groups["coder"].breaker, Open)
    assert again.queued == ["b"]
    again.advance(60)
    assert again.live == ["b"]


def test_heartbeats_go_on_with_their_count() -> None:
    yard = Yard()
    yard.tell(HeartbeatDeclared(0.0, a_spec("tidy"), 60.0))
    yard.advance(60)
    yard.end("tidy.60")
    again = yard.reborn()
    again.sample()
    again.advance(60)
    assert again.live == ["tidy.120"]
    assert again.fleet.heartbeats["tidy"].beats == 2


def test_newcomers_do_not_pass_those_who_waited_through_the_restart() -> None:
    yard = Yard(a_policy(max_agents=1))
    yard.submit(*(a_spec(f"a{i}", group="a") for i in range(6)))
    for number in range(3):
        yard.end(f"a{number}")
    for restarted in (yard.reborn(), yard):
        restarted.sample()
        restarted.submit(*(a_spec(f"b{i}", group="b") for i in range(3)))
        restarted.drain()
        served = [name for name in restarted.order_of_starts() if name not in ("a0", "a1", "a2")]
        assert served[-5:] == ["a4", "b0", "a5", "b1", "b2"]


def test_ended_runs_stay_ended() -> None:
    yard = running()
    yard.end("a")
    again = yard.reborn()
    again.sample()
    assert again.outcome("a") is Outcome.SUCCEEDED
    assert again.live == []
