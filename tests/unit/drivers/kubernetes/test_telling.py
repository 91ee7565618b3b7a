"""What becomes of an ending: which events are told, in which order, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from paddock.core.events import (
    AttemptLost,
    CheckpointDeclined,
    CheckpointWritten,
    Event,
    Exited,
    Noticed,
    SpawnFailed,
    Started,
    StartPutOff,
    StartTakesLonger,
    StopFound,
)
from paddock.core.run import Attempt, Exit, Outcome
from paddock.drivers.kubernetes.life import Life
from paddock.drivers.kubernetes.reading import Ending, Object, ending_of
from paddock.drivers.kubernetes.telling import Telling
from paddock.ports import Stop
from tests.unit.drivers.kubernetes.pods import LIMIT, MARK, a_job, a_pod, disruption, ended


class Told:
    """One attempt that runs, and everything that is told of it."""

    def __init__(self, *, started: bool = True) -> None:
        self.events: list[Event] = []
        self.over: list[Life] = []
        self.life = Life(Attempt("a", 1), "pd-1-a-1", MARK, self.events.append)
        self.life.created, self.life.started = True, started
        self.telling = Telling(over=self.over.append)

    def now(self, do: Callable[[], None]) -> list[Event]:
        async def doing() -> None:
            do()

        asyncio.run(doing())
        told, self.events[:] = list(self.events), []
        return told

    def ends(self, pod: Object, job: Object | None = None) -> list[Event]:
        ending = ending_of(pod, job, limit_bytes=LIMIT, mark=MARK)
        return self.now(lambda: self.telling.ended(self.life, ending))


def kinds(events: list[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


def exit_in(events: list[Event]) -> Exit:
    (found,) = [event.exit for event in events if isinstance(event, Exited)]
    return found


# -- one for every way a pod ends -----------------------------------------------------------------


def test_oom_killed_is_an_exit_at_the_wall() -> None:
    told = Told().ends(a_pod("Failed", state=ended(137, "OOMKilled")))
    assert kinds(told) == [Exited]
    assert exit_in(told) == Exit(signal=9, oom=True, peak_bytes=LIMIT)


def test_evicted_is_lost() -> None:
    told = Told().ends(a_pod("Failed", state=ended(137), reason="Evicted", message="low"))
    (lost,) = told
    assert isinstance(lost, AttemptLost) and lost.reason == "evicted by its node: low"
    assert not lost.permanent  # it is tried again


def test_deadline_exceeded_is_a_stop_and_then_an_exit() -> None:
    told = Told().ends(a_pod("Failed", state=ended(137)), a_job("Failed", "DeadlineExceeded"))
    assert kinds(told) == [StopFound, Exited]
    assert isinstance(told[0], StopFound) and told[0].outcome is Outcome.TIMEOUT_EXCEEDED


def test_preempted_is_a_stop_and_then_an_exit() -> None:
    pod = a_pod("Failed", state=ended(143), conditions=disruption("PreemptionByScheduler"))
    told = Told().ends(pod)
    assert kinds(told) == [StopFound, Exited]
    assert isinstance(told[0], StopFound) and told[0].outcome is Outcome.PREEMPTED


def test_a_lost_node_is_lost() -> None:
    told = Told().ends(a_pod("Running", conditions=disruption("DeletionByTaintManager")))
    assert kinds(told) == [AttemptLost]


def test_an_image_that_never_came_is_a_start_that_failed() -> None:
    """Given up: whatever its pod says when it goes, it was never begun."""
    found = Told(started=False)
    found.life.given_up = ("the image cannot be pulled", False)
    told = found.ends(a_pod("Failed", state=ended(137)))
    assert kinds(told) == [SpawnFailed]
    assert isinstance(told[0], SpawnFailed) and not told[0].permanent


def test_unschedulable_takes_longer_and_is_told_when_it_is_new_or_old() -> None:
    found = Told(started=False)
    why = "no node takes it yet (Unschedulable: 0/3 nodes)"
    told = found.now(lambda: found.telling.takes_longer(found.life, why))
    assert kinds(told) == [StartTakesLonger]
    assert found.now(lambda: found.telling.takes_longer(found.life, why)) == []
    other = found.now(lambda: found.telling.takes_longer(found.life, "its image is pulled"))
    assert kinds(other) == [StartTakesLonger]
    found.life.told_at -= 60.0
    again = found.now(lambda: found.telling.takes_longer(found.life, "its image is pulled"))
    assert kinds(again) == [StartTakesLonger]


def test_a_command_that_is_not_there_fails_for_good() -> None:
    said = f"\x1e{MARK}:missing\x1e"
    told = Told(started=False).ends(a_pod("Failed", state=ended(127, message=said)))
    assert kinds(told) == [SpawnFailed]
    assert isinstance(told[0], SpawnFailed) and told[0].permanent


def test_one_that_ended_before_it_was_seen_to_run_has_run() -> None:
    told = Told(started=False).ends(a_pod("Succeeded", state=ended(0)))
    assert kinds(told) == [Started, Exited]


# -- ends that we wanted --------------------------------------------------------------------------


def test_whom_we_killed_died_of_it_whatever_the_pod_says() -> None:
    found = Told()
    found.life.stop = Stop(Outcome.CANCELLED, "on request")
    told = found.ends(a_pod("Running", state={"running": {}}))
    assert kinds(told) == [Exited] and exit_in(told) == Exit(signal=9)


def test_whom_we_killed_and_who_ended_well_ended_well() -> None:
    found = Told()
    found.life.stop = Stop(Outcome.CANCELLED, "on request")
    assert exit_in(found.ends(a_pod("Succeeded", state=ended(0)))) == Exit(code=0)


def test_who_was_told_to_leave_and_left_no_word_left_at_that() -> None:
    found = Told()
    found.life.termed = True
    assert exit_in(found.ends(a_pod("Running"))) == Exit(signal=15)


# -- once, and in order ---------------------------------------------------------------------------


def test_an_end_is_told_once_and_nothing_after_it() -> None:
    found = Told()
    assert kinds(found.ends(a_pod("Succeeded", state=ended(0)))) == [Exited]
    assert found.over == [found.life]
    assert found.ends(a_pod("Failed", state=ended(1))) == []
    assert found.now(lambda: found.telling.noticed(found.life, "late")) == []
    assert found.now(lambda: found.telling.said(found.life, "written")) == []
    assert found.over == [found.life]


def test_of_one_that_is_forgotten_nothing_is_told() -> None:
    found = Told()
    found.life.forgotten = True
    assert found.ends(a_pod("Succeeded", state=ended(0))) == []
    assert found.over == [found.life]


def test_what_its_entry_says_becomes_an_event() -> None:
    found = Told(started=False)
    words = ("begun", "begun", "written", "declined", "gibberish")
    told = [event for word in words for event in found.now(_saying(found, word))]
    assert kinds(told) == [Started, CheckpointWritten, CheckpointDeclined]


def _saying(found: Told, word: str) -> Callable[[], None]:
    return lambda: found.telling.said(found.life, word)


def test_a_disruption_that_is_announced_is_noticed_once() -> None:
    found = Told()
    told = [found.now(lambda: found.telling.noticed(found.life, "about to end")) for _ in "ab"]
    assert [kinds(each) for each in told] == [[Noticed], []]


def test_a_quota_puts_it_off_and_leaves_nothing() -> None:
    found = Told(started=False)
    told = found.now(lambda: found.telling.put_off(found.life, "over the quota", retry_s=5.0))
    assert kinds(told) == [StartPutOff]
    assert isinstance(told[0], StartPutOff) and told[0].retry_s == 5.0
    assert found.over == [found.life]


def test_a_stop_of_an_earlier_daemon_is_found_before_the_end() -> None:
    found = Told()
    found.life.stop = Stop(Outcome.CANCELLED, "on request")
    told = found.now(lambda: found.telling.stop_found(found.life))
    assert kinds(told) == [StopFound]
    found.life.stop = Stop(None, "its strays")
    assert found.now(lambda: found.telling.stop_found(found.life)) == []


def test_the_peak_is_the_larger_of_what_was_gauged_and_what_was_told() -> None:
    found = Told()
    found.life.peak_bytes = 3 << 30
    assert exit_in(found.ends(a_pod("Succeeded", state=ended(0)))).peak_bytes == 3 << 30
    none = Told()
    told = none.now(lambda: none.telling.ended(none.life, Ending(exit=Exit(code=0))))
    assert exit_in(told).peak_bytes is None
