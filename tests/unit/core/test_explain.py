"""UI-5: whatever waits says why, with numbers."""

from __future__ import annotations

from paddock.core import explain
from paddock.core.events import FreezeRequested, ThawRequested
from paddock.core.run import Priority
from tests.kit.factories import a_host, a_policy, a_spec, with_parts
from tests.kit.yard import Yard


def test_short_of_the_wall() -> None:
    yard = Yard()
    yard.submit(*(a_spec(n, memory="5G") for n in ("a", "b", "c", "d")))
    assert yard.why("c") == (
        "at place 1 in the queue: needs 5 GiB, 3 GiB short "
        "(2 at work are expected to need 10 GiB of the fleet's 12 GiB)"
    )
    assert yard.why("d") == (
        "at place 2 in the queue: needs 5 GiB, 3 GiB short, behind c "
        "(2 at work are expected to need 10 GiB of the fleet's 12 GiB)"
    )


def test_short_of_what_the_host_has_free() -> None:
    yard = Yard(host=a_host(available="4G", used_percent=50.0))
    yard.submit(a_spec("a", memory="6G"))
    assert yard.why("a") == (
        "at place 1 in the queue: needs 6 GiB, 4.4 GiB short "
        "(the host has 4 GiB free, part of it promised, and keeps 2.4 GiB)"
    )


def test_behind_several() -> None:
    yard = Yard()
    yard.submit(a_spec("live", memory="12G"))
    yard.submit(*(a_spec(f"r{i}", memory="12G") for i in range(5)))
    assert "behind r3 and r2 and 2 more" in yard.why("r4")


def test_behind_the_more_urgent() -> None:
    yard = Yard(a_policy(min_run_s=1e6))
    yard.submit(a_spec("live", memory="12G"))
    yard.submit(a_spec("low", memory="12G", priority=Priority.LOW), a_spec("n", memory="12G"))
    assert "behind 1 more urgent" in yard.why("low")


def test_room_but_the_door_is_held_for_another() -> None:
    yard = Yard()
    yard.run(a_spec("half", memory="7G", hard_timeout_s=1e6))
    yard.submit(a_spec("big", memory="12G"))
    yard.advance(600)
    yard.submit(a_spec("small", memory="1G"))
    assert yard.why("small") == (
        "at place 2 in the queue: there is room, kept for big, which was passed for long enough"
    )


def test_all_agents_are_at_work() -> None:
    yard = Yard(a_policy(max_agents=1))
    yard.submit(a_spec("a"), a_spec("b"))
    assert yard.why("b") == "at place 1 in the queue: the one agent allowed is at work"
    yard = Yard(a_policy(max_agents=2, max_agents_by="by the profile low", more_agents_by="a fee"))
    yard.submit(*map(a_spec, ("a", "b", "c")))
    assert yard.why("c") == (
        "at place 1 in the queue: all 2 agents allowed at once are at work "
        "(by the profile low; a fee)"
    )


def test_pressure() -> None:
    yard = Yard(host=a_host(used_percent=83.0))
    yard.submit(a_spec("a"))
    assert yard.why("a") == (
        "at place 1 in the queue: nothing starts under pressure: host memory at 83 % (step at 80 %)"
    )


def test_low_priority_under_pressure() -> None:
    yard = Yard(host=a_host(used_percent=72.0))
    yard.submit(a_spec("a", priority=Priority.LOW))
    assert "low priority waits under pressure: host memory at 72 %" in yard.why("a")


def test_a_host_not_read_yet_and_one_that_cannot_be_read() -> None:
    yard = Yard(sampled=False)
    yard.submit(a_spec("a"))
    assert yard.why("a") == ("at place 1 in the queue: the host's memory could not be read of late")
    yard.sample(a_host(used_percent=None))
    assert yard.why("a").endswith("the host's memory cannot be read")


def test_an_open_breaker() -> None:
    yard = Yard(with_parts(a_policy(), breaker={"failures": 1}))
    yard.run(a_spec("a"))
    yard.end("a", 1)
    yard.submit(a_spec("b"))
    yard.advance(18)
    assert yard.why("b") == (
        "at place 1 in the queue: the breaker of coder is open after 1 failure; one probe in 42 s, "
        "or now, after `paddock breaker reset coder`"
    )


def test_a_later_try() -> None:
    yard = Yard()
    yard.run(a_spec("a"))
    yard.end("a", 75)
    yard.advance(20)
    said = explain.waiting(yard.fleet, yard["a"])
    assert said.place is None
    assert said.sentence == (
        "tried again in 40 s (asked to be tried again in 1 min (exit code 75))"
    )


def test_every_other_state_has_its_sentence() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    yard.advance(3)
    assert yard.why("a") == "starting for 3 s"
    yard.confirm()
    yard.advance(90)
    assert yard.why("a") == "running for 1 min 30 s"
    yard.tell(FreezeRequested(yard.now, "a"))
    yard.advance(20)
    assert yard.why("a") == "running for 1 min 30 s, frozen by user for 20 s"
    yard.tell(ThawRequested(yard.now, "a"))
    yard.advance(10)
    assert yard.why("a") == "running for 1 min 40 s"
    yard.cancel("a")
    assert yard.why("a") == "stopping (told): cancelled on request"
    yard.end("a")
    assert yard.why("a") == "cancelled: cancelled on request"


def test_asking_changes_nothing() -> None:
    yard = Yard(sampled=False)
    yard.submit(a_spec("a"))
    groups = dict(yard.fleet.groups)
    yard.why("a")
    assert yard.fleet.groups == groups


def test_needs_are_named_in_the_order_in_which_they_were_said() -> None:
    yard = Yard()
    yard.submit(a_spec("z"), a_spec("b"), a_spec("late", needs=("z", "b")))
    assert yard.why("late") == "waits for z and b to succeed"
