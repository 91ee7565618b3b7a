"""Runs that live on other machines: this host's memory is not theirs, nor its pressure."""

import pytest

from paddock.core.actions import KillAttempt
from paddock.core.events import HeartbeatDeclared, PolicyChanged, StartPutOff
from paddock.core.pressure import Rung
from paddock.core.run import Ended, Outcome, Priority, Queued, Running, Stopping
from paddock.core.units import GIB
from tests.kit.factories import a_host, a_policy, a_spec
from tests.kit.yard import Yard, only

PRESSED = {Rung.SKIP_LOW: 72.0, Rung.QUEUE: 81.0, Rung.PREEMPT: 86.0, Rung.EMERGENCY: 96.0}


@pytest.mark.parametrize("rung", PRESSED)
def test_they_start_whatever_step_of_the_ladder_this_host_is_at(rung: Rung) -> None:
    yard = Yard()
    yard.sample(a_host(used_percent=PRESSED[rung]))
    assert yard.fleet.ladder.rung is rung
    yard.run(a_spec("there", memory="64G", priority=Priority.LOW, away=True))
    assert yard.running == ["there"]


def test_what_would_live_here_still_waits_under_pressure() -> None:
    yard = Yard()
    yard.sample(a_host(used_percent=81.0))
    yard.run(a_spec("here"), a_spec("there", away=True))
    assert (yard.running, yard.queued) == (["there"], ["here"])
    assert "nothing starts under pressure: host memory at 81 %" in yard.why("here")


def test_they_start_where_this_hosts_memory_cannot_be_read() -> None:
    yard = Yard()
    yard.sample(a_host(used_percent=None))
    yard.run(a_spec("there", away=True))
    assert yard.running == ["there"]


def test_none_starts_before_anybody_has_looked_round() -> None:
    yard = Yard(sampled=False)
    yard.submit(a_spec("there", away=True))
    assert yard.queued == ["there"]
    assert "starts as soon as anything may" in yard.why("there")
    yard.sample()
    assert yard.live == ["there"]


def test_they_pass_a_held_door_and_any_number_of_those_who_wait_for_this_host() -> None:
    yard = Yard(a_policy(backfill_depth=2, backfill_s=10.0))
    yard.run(a_spec("big", memory="11G"))
    yard.submit(*[a_spec(f"w{number}", memory="4G") for number in range(5)])
    yard.advance(20.0)
    yard.run(a_spec("there", away=True))
    assert yard.running == ["big", "there"]


def test_they_take_none_of_the_places_of_this_host() -> None:
    yard = Yard(a_policy(max_agents=1))
    yard.run(*[a_spec(f"there{number}", away=True) for number in range(3)])
    yard.run(a_spec("here"))
    assert yard.running == ["there0", "there1", "there2", "here"]
    yard.submit(a_spec("next"))
    assert "the one agent allowed is at work" in yard.why("next")


def test_a_halted_fleet_sends_nobody_away() -> None:
    yard = Yard()
    yard.tell(PolicyChanged(yard.now, a_policy(max_agents=0)))
    yard.submit(a_spec("there", away=True))
    assert yard.queued == ["there"]
    yard.tell(PolicyChanged(yard.now, a_policy()))
    assert yard.live == ["there"]


def test_the_more_urgent_are_sent_first() -> None:
    yard = Yard(sampled=False)
    low = a_spec("low", priority=Priority.LOW, away=True)
    yard.submit(low, a_spec("normal", away=True))
    yard.submit(a_spec("urgent", priority=Priority.CRITICAL, away=True))
    yard.sample()
    assert yard.order_of_starts() == ["urgent", "normal", "low"]


def test_one_that_was_put_off_is_tried_again_under_pressure() -> None:
    yard = Yard()
    yard.submit(a_spec("there", away=True))
    yard.sample(a_host(used_percent=81.0))
    yard.tell(StartPutOff(yard.now, yard.attempt("there"), "over the quota", retry_s=5.0))
    assert yard.in_state("there", Queued).because == "over the quota"
    yard.advance(6.0)
    assert yard.live == ["there"] and yard["there"].attempts == 1


def test_an_open_breaker_holds_them_back_and_lets_one_probe() -> None:
    yard = Yard()
    for name in "abc":
        yard.run(a_spec(name, away=True, retries=0))
        yard.end(name, 1)
    yard.submit(a_spec("d", away=True), a_spec("e", away=True))
    assert yard.queued == ["d", "e"] and "breaker of coder is open" in yard.why("d")
    yard.advance(yard.fleet.policy.breaker.cooldown_s)
    assert yard.live == ["d"]
    yard.confirm("d")
    yard.end("d")
    assert yard.live == ["e"]


def test_the_memory_they_free_is_not_waited_for_by_this_host() -> None:
    """One of them that is being stopped would otherwise put off what is done about pressure."""
    yard = Yard()
    yard.run(a_spec("there", away=True), a_spec("here", memory="8G"))
    yard.cancel("there")
    yard.sample(a_host(used_percent=86.0), here="8G")
    assert yard.in_state("here", Running).frozen is not None


def test_an_emergency_of_this_host_cuts_short_nobodys_leave_elsewhere() -> None:
    yard = Yard()
    yard.run(a_spec("there", away=True), a_spec("here", memory="8G"))
    yard.cancel("there")
    actions = yard.sample(a_host(used_percent=96.0), here="8G")
    assert [kill.attempt.run for kill in only(actions, KillAttempt)] == ["here"]
    assert yard.in_state("there", Stopping).outcome is Outcome.CANCELLED


def test_their_peak_is_known_and_teaches_nothing_about_this_host() -> None:
    yard = Yard()
    yard.run(a_spec("there", away=True))
    yard.end("there", peak_bytes=5 * GIB)
    assert yard.in_state("there", Ended).peak_bytes == yard["there"].peak_bytes == 5 * GIB
    assert yard.fleet.group("coder").facts() == Yard().fleet.group("coder").facts()


def test_their_heartbeats_beat_under_pressure() -> None:
    yard = Yard()
    yard.tell(HeartbeatDeclared(yard.now, a_spec("beat", away=True), every_s=30.0))
    yard.tell(HeartbeatDeclared(yard.now, a_spec("here"), every_s=30.0))
    yard.sample(a_host(used_percent=72.0))
    yard.advance(31.0)
    assert yard.fleet.heartbeats["beat"].beats == 1
    assert yard.fleet.heartbeats["here"].skipped_pressure == 1


def test_a_new_daemon_lets_them_line_up_where_they_stood() -> None:
    yard = Yard(sampled=False)
    yard.submit(a_spec("a1", group="a", away=True), a_spec("a2", group="a", away=True))
    yard.submit(a_spec("b1", group="b", away=True))
    reborn = yard.reborn()
    reborn.submit(a_spec("c1", group="c", away=True))
    reborn.sample()
    assert reborn.order_of_starts() == ["a1", "b1", "c1", "a2"]
