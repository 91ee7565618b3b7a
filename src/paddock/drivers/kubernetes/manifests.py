"""The Job and the volume of an attempt, as the API server wants them. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any, Final

from paddock.cluster import labels as n
from paddock.cluster.quantities import cpu_text, number_of, size_text
from paddock.cluster.tiers import LARGE_VOLUME, STANDARD_VOLUME, Tier, place_of, tier_of
from paddock.core.run import Attempt
from paddock.drivers.attempts import Signs, environment_of
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.ports import Launch

Object = dict[str, Any]

WORKSPACE: Final = "/workspace"
OWNER_LABEL: Final = "owner"  # the object that a Job and a volume go with, as JSON
SCRATCH: Final = "/tmp"
ASKS: Final = "/paddock/asks"
SIGNS: Final = f"{SCRATCH}/paddock"
# What paddock says to an agent and is true in a pod as well. The rest are a host's paths and ports.
TRUE_HERE: Final = ("PADDOCK_MEMORY_LIMIT", "PADDOCK_MODEL", "PADDOCK_STEP")
SIGNS_OF: Final = Signs(f"{SIGNS}/soft", f"{SIGNS}/checkpoint", f"{SIGNS}/written")


@dataclass(frozen=True, slots=True)
class Names:
    instance: str

    def job(self, attempt: Attempt) -> str:
        return n.job_name(self.instance, attempt.run, attempt.number)

    def volume(self, run: str) -> str:
        return n.volume_name(self.instance, run)

    def mark(self, attempt: Attempt) -> str:
        """The same after a restart; not to be guessed by who does not know the instance."""
        text = f"{self.instance}/{attempt.run}/{attempt.number}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def labels(self, run: str) -> dict[str, str]:
        return {n.MANAGED: "paddock", n.INSTANCE: self.instance, n.RUN: n.label_of(run)}


@cache
def entry() -> str:
    return resources.files(__package__).joinpath("entry.sh").read_text(encoding="utf-8")


def tier_for(launch: Launch, settings: KubernetesSettings) -> Tier:
    said = launch.labels
    at = place_of(launch.attempt.run)
    return tier_of(said.get("role", ""), said.get("model", ""), settings.tiers, at=at)


def resources_of(launch: Launch, settings: KubernetesSettings) -> dict[str, dict[str, str]]:
    """Limits are the run's; requests what the tier says of them."""
    tier = tier_for(launch, settings)
    try:
        cpu_limit = float(launch.labels["cpu"])
    except (KeyError, ValueError):
        cpu_limit = tier.cpu_limit
    memory = tier.request_of(launch.limit_bytes)
    return {
        "requests": {
            "cpu": cpu_text(min(tier.cpu_request, cpu_limit)),
            "memory": size_text(memory),
        },
        "limits": {"cpu": cpu_text(cpu_limit), "memory": size_text(launch.limit_bytes)},
    }


def asked_of_quota(launch: Launch, settings: KubernetesSettings) -> dict[str, Decimal]:
    """What a ResourceQuota will count for its pod, and for its volume if that is new."""
    found = {"pods": Decimal(1), "count/jobs.batch": Decimal(1)}
    for part, values in resources_of(launch, settings).items():
        found |= {f"{part}.{name}": number_of(value) for name, value in values.items()}
    found |= {name: found[f"requests.{name}"] for name in ("cpu", "memory")}
    if settings.volumes and launch.attempt.number == 1:
        size = Decimal(volume_bytes(launch, settings))
        found |= {"persistentvolumeclaims": Decimal(1), "requests.storage": size}
    return found


def volume_bytes(launch: Launch, settings: KubernetesSettings) -> int:
    size = tier_for(launch, settings).volume_bytes
    is_large = launch.labels.get("complexity") == "complex" and size == STANDARD_VOLUME
    return LARGE_VOLUME if is_large else size


def claim_of(launch: Launch, names: Names, settings: KubernetesSettings) -> Object:
    spec: Object = {
        "accessModes": [settings.access_mode],
        "resources": {"requests": {"storage": size_text(volume_bytes(launch, settings))}},
    }
    if settings.storage_class is not None:
        spec["storageClassName"] = settings.storage_class
    run = launch.attempt.run
    meta = {"name": names.volume(run), "labels": names.labels(run), "annotations": {n.RUN: run}}
    return {"metadata": meta | _owners(launch), "spec": spec}


def _owners(launch: Launch) -> Object:
    """What it goes with, where that is an object of the cluster."""
    owner = launch.labels.get(OWNER_LABEL)
    return {"ownerReferences": [json.loads(owner)]} if owner else {}


def job_of(launch: Launch, names: Names, settings: KubernetesSettings) -> Object:
    """One attempt, once: the cluster never tries it again by itself, whatever ends it.

    The rule of `podFailurePolicy` makes the Job itself remember that it was a disruption: its pod,
    which knows, may be gone by the time that anybody looks.
    """
    attempt = launch.attempt
    labels = names.labels(attempt.run) | {n.ATTEMPT: str(attempt.number), n.AGENT: "true"}
    labels[n.TIER] = tier_for(launch, settings).mark
    if "role" in launch.labels:
        labels[n.ROLE] = n.label_of(launch.labels["role"])
    notes = {
        n.RUN: attempt.run,
        n.MARK: names.mark(attempt),
        n.LIMIT: str(launch.limit_bytes),
    }
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    return {
        "metadata": {
            "name": names.job(attempt),
            "labels": labels,
            "annotations": notes,
            **_owners(launch),
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "activeDeadlineSeconds": settings.deadline_s,
            "ttlSecondsAfterFinished": settings.ttl_s,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {"rules": [{"action": "FailJob", "onPodConditions": [disrupted]}]},
            "template": {
                "metadata": {"labels": labels, "annotations": {n.ASK: ""}},
                "spec": _pod_spec(launch, names, settings),
            },
        },
    }


def _pod_spec(launch: Launch, names: Names, settings: KubernetesSettings) -> Object:
    work: Object = {"name": "workspace", "emptyDir": {}}
    if settings.volumes:
        claim = {"claimName": names.volume(launch.attempt.run)}
        work = {"name": "workspace", "persistentVolumeClaim": claim}
    field = {"fieldPath": f"metadata.annotations['{n.ASK}']"}
    asks = {"name": "asks", "downwardAPI": {"items": [{"path": "asked", "fieldRef": field}]}}
    user = settings.user
    spec: Object = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": settings.term_grace_s,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": user,
            "runAsGroup": user,
            "fsGroup": user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumes": [work, {"name": "scratch", "emptyDir": {}}, asks],
        "containers": [_container(launch, names, settings)],
    }
    name = settings.priority_classes.get(launch.priority)
    return spec | ({"priorityClassName": name} if name else {})


def _container(launch: Launch, names: Names, settings: KubernetesSettings) -> Object:
    found: Object = {
        "name": n.CONTAINER,
        "image": settings.image,
        "command": ["/bin/sh", "-c", entry(), "paddock-entry"],
        "args": list(launch.command),
        "workingDir": WORKSPACE,
        "env": [
            {"name": name, "value": value}
            for name, value in sorted(variables_of(launch, names).items())
        ],
        "resources": resources_of(launch, settings),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "workspace", "mountPath": WORKSPACE},
            {"name": "scratch", "mountPath": SCRATCH},
            {"name": "asks", "mountPath": ASKS, "readOnly": True},
        ],
    }
    if settings.secrets:
        found["envFrom"] = [{"secretRef": {"name": name}} for name in settings.secrets]
    return found


def variables_of(launch: Launch, names: Names) -> Mapping[str, str]:
    found = environment_of(launch, names.job(launch.attempt), SIGNS_OF)
    ours = {name: value for name, value in launch.ours.items() if name.startswith(TRUE_HERE)}
    found = {name: value for name, value in found.items() if name not in launch.ours} | ours
    return found | {
        "HOME": f"{WORKSPACE}/.home",
        "TMPDIR": SCRATCH,
        "PADDOCK_CHECKPOINT_DIR": f"{WORKSPACE}/.paddock/checkpoints",
        "ENTRY_ASKS": f"{ASKS}/asked",
        "ENTRY_MARK": names.mark(launch.attempt),
        "ENTRY_SIGNS": SIGNS,
    }
