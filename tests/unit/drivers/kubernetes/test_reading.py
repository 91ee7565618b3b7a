"""What pods and Jobs say, in paddock's words: one test for every way to wait and to end."""

from __future__ import annotations

import pytest

from paddock.core.run import Exit, Outcome
from paddock.drivers.kubernetes.reading import (
    Ending,
    Object,
    container_state,
    ending_of,
    ending_of_job,
    exit_of,
    is_over,
    waiting_of,
)
from tests.unit.drivers.kubernetes.pods import (
    LIMIT,
    MARK,
    a_job,
    a_pod,
    disruption,
    ended,
    waiting,
)


def how(pod: Object, job: Object | None = None) -> Ending:
    return ending_of(pod, job, limit_bytes=LIMIT, mark=MARK)


# -- ends by themselves ---------------------------------------------------------------------------


def test_an_agent_that_ends_has_its_own_exit_code() -> None:
    assert how(a_pod("Succeeded", state=ended(0, "Completed"))) == Ending(exit=Exit(code=0))
    assert how(a_pod("Failed", state=ended(7))) == Ending(exit=Exit(code=7))


@pytest.mark.parametrize(("code", "signal"), [(137, 9), (143, 15), (139, 11)])
def test_a_code_above_128_is_a_signal_as_shells_tell_it(code: int, signal: int) -> None:
    assert how(a_pod("Failed", state=ended(code))) == Ending(exit=Exit(signal=signal))


def test_a_code_that_no_signal_has_stays_a_code() -> None:
    assert how(a_pod("Failed", state=ended(255))) == Ending(exit=Exit(code=255))


def test_a_command_that_is_not_in_the_image_never_ran() -> None:
    said = f"sh: no\n\x1e{MARK}:missing\x1e"
    assert how(a_pod("Failed", state=ended(127, message=said))).missing
    assert not how(a_pod("Failed", state=ended(127, message="no such thing"))).missing


# -- OOMKilled, Evicted, DeadlineExceeded, preempted, node lost -----------------------------------


def test_oom_killed_is_a_wall_that_was_met_with_the_limit_as_its_peak() -> None:
    found = how(a_pod("Failed", state=ended(137, "OOMKilled")))
    assert found == Ending(exit=Exit(signal=9, oom=True, peak_bytes=LIMIT))


def test_oom_killed_stays_so_whatever_the_cluster_was_about_to_do() -> None:
    pod = a_pod(
        "Failed",
        state=ended(137, "OOMKilled"),
        reason="Evicted",
        conditions=disruption("EvictionByEvictionAPI"),
    )
    found = how(pod, a_job("Failed", "DeadlineExceeded"))
    assert found.exit is not None and found.exit.oom and found.stop is None


def test_evicted_by_its_node_is_lost_with_the_nodes_reason() -> None:
    text = "The node was low on resource: memory. Threshold quantity: 100Mi"
    pod = a_pod("Failed", state=ended(137), reason="Evicted", message=text)
    assert how(pod) == Ending(lost=f"evicted by its node: {text}")


def test_evicted_by_its_node_with_a_condition_is_told_by_the_nodes_words() -> None:
    conditions = disruption("TerminationByKubelet", "low on memory")
    pod = a_pod("Failed", state=ended(137), reason="Evicted", conditions=conditions)
    assert how(pod) == Ending(lost="evicted by its node: low on memory")


def test_drained_is_a_preemption_and_may_happen_as_often_as_it_likes() -> None:
    pod = a_pod("Failed", state=ended(143), conditions=disruption("EvictionByEvictionAPI"))
    found = how(pod)
    assert found.stop is not None and found.stop.outcome is Outcome.PREEMPTED
    assert "as when its node is drained" in found.stop.because
    assert found.exit == Exit(signal=15)


def test_preempted_by_the_scheduler_is_a_preemption() -> None:
    pod = a_pod("Failed", state=ended(137), conditions=disruption("PreemptionByScheduler"))
    found = how(pod)
    assert found.stop is not None and found.stop.outcome is Outcome.PREEMPTED
    assert "for something more important (PreemptionByScheduler: told so)" in found.stop.because


def test_preempted_before_its_container_was_seen_is_one_too() -> None:
    found = how(a_pod("Failed", conditions=disruption("PreemptionByScheduler")))
    assert found.stop is not None and found.exit == Exit(signal=9)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("DeletionByTaintManager", "its node is lost or may not keep it"),
        ("DeletionByPodGC", "its node is gone"),
        ("SomethingNew", "disrupted by the cluster"),
    ],
)
def test_a_lost_node_is_lost_and_counts(reason: str, said: str) -> None:
    found = how(a_pod("Running", conditions=disruption(reason)))
    assert found.stop is None and found.lost == f"{said} ({reason}: told so)"


def test_the_deadline_of_its_job_is_a_timeout() -> None:
    found = how(a_pod("Failed", state=ended(143)), a_job("Failed", "DeadlineExceeded"))
    assert found.stop is not None and found.stop.outcome is Outcome.TIMEOUT_EXCEEDED
    assert "kubernetes.deadline" in found.stop.because and found.exit == Exit(signal=15)


def test_the_deadline_is_known_before_the_job_has_failed_for_good() -> None:
    found = how(a_pod("Failed", state=ended(137)), a_job("FailureTarget", "DeadlineExceeded"))
    assert found.stop is not None and found.stop.outcome is Outcome.TIMEOUT_EXCEEDED


def test_a_good_end_is_a_good_end_whatever_came_for_it() -> None:
    pod = a_pod("Succeeded", state=ended(0), conditions=disruption("PreemptionByScheduler"))
    assert how(pod, a_job("Failed", "DeadlineExceeded")) == Ending(exit=Exit(code=0))


def test_a_condition_that_is_not_true_says_nothing() -> None:
    conditions = disruption("PreemptionByScheduler")
    conditions[1]["status"] = "False"
    assert how(a_pod("Failed", state=ended(3), conditions=conditions)) == Ending(exit=Exit(code=3))


def test_a_pod_that_was_removed_while_it_ran_is_lost() -> None:
    found = how(a_pod("Running", state={"running": {}}))
    assert found == Ending(lost="its pod was removed while it was running, by somebody else")


# -- where only the Job is left -------------------------------------------------------------------


def test_a_job_under_way_tells_no_end() -> None:
    assert ending_of_job(a_job()) is None


def test_a_complete_job_is_a_good_end() -> None:
    assert ending_of_job(a_job("Complete")) == Ending(exit=Exit(code=0))


def test_a_job_remembers_a_disruption_when_its_pod_is_gone() -> None:
    found = ending_of_job(a_job("Failed", "PodFailurePolicy", "Pod a/b has condition …"))
    assert found == Ending(lost="disrupted by the cluster: Pod a/b has condition …")


def test_a_job_over_its_deadline_is_a_timeout() -> None:
    found = ending_of_job(a_job("Failed", "DeadlineExceeded"))
    assert found is not None and found.stop is not None
    assert found.stop.outcome is Outcome.TIMEOUT_EXCEEDED


def test_a_job_that_failed_for_another_reason_is_lost_with_it() -> None:
    found = ending_of_job(a_job("Failed", "BackoffLimitExceeded", "it has\nreached"))
    assert found is not None and found.lost is not None
    assert found.lost.endswith("its Job failed (BackoffLimitExceeded: it has reached)")


# -- waiting --------------------------------------------------------------------------------------


def test_an_image_that_cannot_be_pulled_is_hopeless_for_now() -> None:
    text = 'Back-off pulling image "agents:9"'
    found = waiting_of(a_pod("Pending", state=waiting("ImagePullBackOff", text)))
    assert found is not None and found.hopeless and not found.permanent
    assert found.because == f"the image cannot be pulled (ImagePullBackOff: {text})"


@pytest.mark.parametrize(
    "reason", ["InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"]
)
def test_what_no_later_try_can_mend_is_hopeless_for_good(reason: str) -> None:
    found = waiting_of(a_pod("Pending", state=waiting(reason)))
    assert found is not None and found.hopeless and found.permanent


def test_unschedulable_waits_with_the_schedulers_reason() -> None:
    text = "0/3 nodes are available: 3 Insufficient memory."
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": text,
    }
    found = waiting_of(a_pod("Pending", conditions=[condition]))
    assert found is not None and not found.hopeless
    assert found.because == f"no node takes it yet (Unschedulable: {text})"


def test_a_pod_that_is_just_being_made_says_nothing() -> None:
    assert waiting_of(a_pod("Pending", state=waiting("ContainerCreating"))) is None
    assert waiting_of(a_pod("Running", state={"running": {}})) is None


def test_a_long_reason_is_cut_and_on_one_line() -> None:
    found = waiting_of(a_pod("Pending", state=waiting("ImagePullBackOff", "x y\n" * 200)))
    assert found is not None and len(found.because) < 300 and "\n" not in found.because


# -- small things ---------------------------------------------------------------------------------


def test_only_the_agents_container_counts() -> None:
    assert container_state(a_pod("Running", state={"running": {}})) == ("running", {})
    assert container_state(a_pod("Pending")) == ("waiting", {})


@pytest.mark.parametrize(
    ("phase", "over"),
    [("Pending", False), ("Running", False), ("Unknown", False), ("Failed", True)],
)
def test_over_is_what_is_certain(phase: str, over: bool) -> None:  # noqa: FBT001
    assert is_over(a_pod(phase)) is over


def test_a_signal_may_be_told_beside_a_code() -> None:
    assert exit_of({"exitCode": 0, "signal": 6}, limit_bytes=0) == Exit(signal=6)
