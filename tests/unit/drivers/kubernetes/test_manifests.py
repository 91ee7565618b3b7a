"""The Job and the volume of an attempt: what a server is asked for, and what a quota counts."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from paddock.cluster import labels as n
from paddock.cluster.tiers import Tier, tier_of
from paddock.core.run import Attempt, Priority
from paddock.core.units import GIB
from paddock.drivers.kubernetes.manifests import (
    OWNER_LABEL,
    Names,
    Object,
    asked_of_quota,
    claim_of,
    job_of,
    resources_of,
    variables_of,
    volume_bytes,
)
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.ports import Launch
from paddock.supervisor.cluster_settings import kubernetes_settings
from tests.unit.config.files import settings as config

NAMES = Names("0123456789abcdef")
SETTINGS = KubernetesSettings(image="agents:1", priority_classes={Priority.HIGH: "urgent"})


def a_launch(*, number: int = 1, memory: int = 16 * GIB, **facts: Any) -> Launch:
    known: dict[str, Any] = {
        "attempt": Attempt("fix-1", number),
        "command": ("claude", "-p", "do it"),
        "environment": {"LANG": "C.UTF-8"},
        "directory": Path("/"),
        "limit_bytes": memory,
        "labels": {"role": "implementation"},
    }
    return Launch(**known | facts)


def a_job(settings: KubernetesSettings = SETTINGS, **facts: Any) -> Object:
    return job_of(a_launch(**facts), NAMES, settings)


def pod_of(job: Object) -> Object:
    found: Object = job["spec"]["template"]["spec"]
    return found


# -- once -----------------------------------------------------------------------------------------


def test_the_same_attempt_has_the_same_name_and_the_next_another() -> None:
    assert a_job()["metadata"]["name"] == a_job()["metadata"]["name"]
    assert a_job()["metadata"]["name"] != a_job(number=2)["metadata"]["name"]
    assert Names("fedcba9876543210").job(Attempt("fix-1", 1)) != NAMES.job(Attempt("fix-1", 1))


def test_all_attempts_of_a_run_have_one_volume() -> None:
    claims = [claim_of(a_launch(number=number), NAMES, SETTINGS) for number in (1, 2)]
    assert claims[0] == claims[1]
    mount = pod_of(a_job(number=2))["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert mount == claims[0]["metadata"]["name"]


def test_the_cluster_never_tries_it_again_and_ends_it_some_day() -> None:
    spec = a_job()["spec"]
    assert (spec["backoffLimit"], spec["completions"], spec["parallelism"]) == (0, 1, 1)
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["activeDeadlineSeconds"] == 86_400 and spec["ttlSecondsAfterFinished"] == 604_800
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert rule["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


def test_a_job_carries_what_another_daemon_needs_to_go_on_with_it() -> None:
    meta = a_job()["metadata"]
    assert meta["annotations"][n.RUN] == "fix-1" and meta["labels"][n.ATTEMPT] == "1"
    assert meta["annotations"][n.LIMIT] == str(16 * GIB)
    assert meta["labels"][n.INSTANCE] == NAMES.instance


@pytest.mark.parametrize("run", ["a/b", "Ünïcode", "x" * 300, "UPPER", "a.b", ""])
def test_any_name_of_a_run_makes_names_that_kubernetes_takes(run: str) -> None:
    job = job_of(a_launch(attempt=Attempt(run, 1)), NAMES, SETTINGS)
    assert len(job["metadata"]["name"]) <= 63
    assert job["metadata"]["name"].replace("-", "").isalnum()
    for value in job["metadata"]["labels"].values():
        assert len(value) <= 63 and value.isascii() and "/" not in value


# -- tight ----------------------------------------------------------------------------------------


def test_an_agent_may_nothing_that_it_need_not() -> None:
    pod = pod_of(a_job())
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False and pod["enableServiceLinks"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] != 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = {
        mount["mountPath"] for mount in container["volumeMounts"] if "readOnly" not in mount
    }
    assert writable == {"/workspace", "/tmp"}


def test_nothing_of_this_host_goes_along() -> None:
    ours = {"PADDOCK_PORT": "4000", "PADDOCK_MEMORY_LIMIT": "17179869184", "PADDOCK_MODEL": "large"}
    found = variables_of(a_launch(ours=ours), NAMES)
    assert "PADDOCK_PORT" not in found
    assert found["PADDOCK_MODEL"] == "large" and found["LANG"] == "C.UTF-8"
    assert found["HOME"].startswith("/workspace")


def test_secrets_are_named_and_not_copied() -> None:
    settings = KubernetesSettings(image="agents:1", secrets=("keys",))
    (container,) = pod_of(a_job(settings))["containers"]
    assert container["envFrom"] == [{"secretRef": {"name": "keys"}}]
    (plain,) = pod_of(a_job())["containers"]
    assert "envFrom" not in plain


def test_a_priority_class_is_named_where_there_is_one() -> None:
    assert pod_of(a_job(priority=Priority.HIGH))["priorityClassName"] == "urgent"
    assert "priorityClassName" not in pod_of(a_job())


def test_what_it_goes_with_is_its_owner() -> None:
    owner = {"apiVersion": "paddock.dev/v1", "kind": "AgentRun", "name": "fix-1", "uid": "u"}
    labels = {"role": "testing", OWNER_LABEL: json.dumps(owner)}
    assert a_job(labels=labels)["metadata"]["ownerReferences"] == [owner]
    claim = claim_of(a_launch(labels=labels), NAMES, SETTINGS)
    assert claim["metadata"]["ownerReferences"] == [owner]
    assert "ownerReferences" not in a_job()["metadata"]


# -- sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "requests", "limits", "volume"),
    [
        ("implementation", ("2", "8Gi"), ("4", "16Gi"), 10),
        ("quality", ("1", "4Gi"), ("2", "8Gi"), 10),
        ("testing", ("2", "8Gi"), ("4", "16Gi"), 50),
    ],
)
def test_every_role_gets_the_sizes_that_were_asked_for(
    role: str, requests: tuple[str, str], limits: tuple[str, str], volume: int
) -> None:
    """Of a run that says nothing of its own: its limit is then the tier's."""
    launch = a_launch(labels={"role": role}, memory=tier_of(role).memory_limit_bytes)
    (container,) = pod_of(job_of(launch, NAMES, SETTINGS))["containers"]
    found = container["resources"]
    assert (found["requests"]["cpu"], found["requests"]["memory"]) == requests
    assert (found["limits"]["cpu"], found["limits"]["memory"]) == limits
    assert volume_bytes(launch, SETTINGS) == volume * GIB


def test_limits_are_the_runs_and_requests_the_tiers_share_of_them() -> None:
    assert resources_of(a_launch(), SETTINGS) == {
        "requests": {"cpu": "2", "memory": "8Gi"},
        "limits": {"cpu": "4", "memory": "16Gi"},
    }
    assert resources_of(a_launch(memory=4 * GIB), SETTINGS)["requests"]["memory"] == "2Gi"


def test_a_run_may_say_its_cores_and_is_never_asked_to_have_more() -> None:
    labels = {"role": "implementation", "cpu": "0.5"}
    found = resources_of(a_launch(labels=labels), SETTINGS)
    assert found["limits"]["cpu"] == "500m" and found["requests"]["cpu"] == "500m"
    assert resources_of(a_launch(labels={"cpu": "many"}), SETTINGS)["limits"]["cpu"] == "2"


def test_ones_own_tier_decides_before_the_built_in_one() -> None:
    tier = Tier("implementation", 1, 1, 4 * GIB, 4 * GIB, 30 * GIB)
    settings = KubernetesSettings(image="agents:1", tiers=(tier,))
    assert resources_of(a_launch(memory=4 * GIB), settings)["requests"]["memory"] == "4Gi"
    assert volume_bytes(a_launch(), settings) == 30 * GIB


def test_a_complex_run_has_a_large_volume_and_a_tester_its_own() -> None:
    assert volume_bytes(a_launch(), SETTINGS) == 10 * GIB
    complex_one = a_launch(labels={"role": "implementation", "complexity": "complex"})
    assert volume_bytes(complex_one, SETTINGS) == 25 * GIB
    tester = a_launch(labels={"role": "testing", "complexity": "complex"})
    assert volume_bytes(tester, SETTINGS) == 50 * GIB


def test_a_quota_counts_the_pod_and_of_the_first_attempt_the_volume() -> None:
    found = asked_of_quota(a_launch(), SETTINGS)
    assert found["requests.cpu"] == found["cpu"] == 2 and found["limits.cpu"] == 4
    assert found["requests.memory"] == 8 * GIB and found["limits.memory"] == 16 * GIB
    assert found["pods"] == found["persistentvolumeclaims"] == Decimal(1)
    assert found["requests.storage"] == 10 * GIB
    again = asked_of_quota(a_launch(number=2), SETTINGS)
    assert "requests.storage" not in again and again["pods"] == 1


def test_without_volumes_work_goes_with_its_pod() -> None:
    settings = KubernetesSettings(image="agents:1", volumes=False)
    assert pod_of(a_job(settings))["volumes"][0] == {"name": "workspace", "emptyDir": {}}
    assert "persistentvolumeclaims" not in asked_of_quota(a_launch(), settings)


def test_the_volumes_class_is_named_where_one_is_chosen() -> None:
    chosen = KubernetesSettings(image="agents:1", storage_class="fast-ssd")
    assert claim_of(a_launch(), NAMES, chosen)["spec"]["storageClassName"] == "fast-ssd"
    assert "storageClassName" not in claim_of(a_launch(), NAMES, SETTINGS)["spec"]


def test_by_default_volumes_are_of_fast_disks_and_one_nodes() -> None:
    """As nobody has said anything (K8S-2); each is a setting."""
    usual = kubernetes_settings(config())
    spec = claim_of(a_launch(), NAMES, usual)["spec"]
    assert (spec["storageClassName"], spec["accessModes"]) == ("fast-ssd", ["ReadWriteOnce"])
    shared = dataclasses.replace(usual, storage_class="slow", access_mode="ReadWriteMany")
    spec = claim_of(a_launch(), NAMES, shared)["spec"]
    assert (spec["storageClassName"], spec["accessModes"]) == ("slow", ["ReadWriteMany"])


@pytest.mark.parametrize(
    ("role", "model", "requests", "limits"),
    [
        ("quality", "large", "9Gi", "12Gi"),
        ("quality", "other", "4Gi", "8Gi"),
        ("", "large", "5Gi", "6Gi"),
        ("", "other", "2Gi", "4Gi"),
    ],
)
def test_a_model_may_have_a_tier_of_its_own(
    role: str, model: str, requests: str, limits: str
) -> None:
    own = (
        Tier("quality", 1, 2, 9 * GIB, 12 * GIB, 10 * GIB, model="large"),
        Tier("", 1, 2, 5 * GIB, 6 * GIB, 10 * GIB, model="large"),
    )
    settings = dataclasses.replace(SETTINGS, tiers=own)
    limit = tier_of(role, model, own).memory_limit_bytes
    job = a_job(settings, labels={"role": role, "model": model}, memory=limit)
    (container,) = pod_of(job)["containers"]
    found = container["resources"]
    assert (found["requests"]["memory"], found["limits"]["memory"]) == (requests, limits)
