"""What the API server refuses, and what it fills in: names, Jobs, what nobody may change."""

from __future__ import annotations

import re

from tests.kit.cluster.amounts import forbidden, invalid, quantity
from tests.kit.cluster.namespaces import hold
from tests.kit.cluster.objects import (
    BINDING,
    CRD,
    DEPLOYMENT,
    JOB,
    LIMITS,
    NAMESPACE,
    POD,
    PRIORITY,
    VOLUME,
    Kind,
    Object,
    Shelves,
)
from tests.kit.cluster.quotas import check_quota
from tests.kit.cluster.ranges import (
    check_ranges,
    check_ranges_of_claims,
    fill_from_ranges,
    fill_range,
)

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
IN_USE = "kubernetes.io/pvc-protection"
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def check_names(kind: Kind, wanted: Object) -> None:
    meta = wanted.get("metadata", {})
    name = meta.get("name", meta.get("generateName", "") + "x")
    if not _NAME.fullmatch(name) or (kind is JOB and len(name) > 63):
        raise invalid(kind, name, f"metadata.name: Invalid value: {name!r}")
    for key, value in meta.get("labels", {}).items():
        if not isinstance(value, str) or not _LABEL.fullmatch(value):
            raise invalid(kind, name, f"metadata.labels: Invalid value: {key}={value!r}")


def fill(shelves: Shelves, kind: Kind, wanted: Object, namespace: str) -> None:
    """What defaults and admission plugins put in before anything is checked."""
    if kind is LIMITS:
        fill_range(wanted)
    if kind is NAMESPACE:
        hold(wanted)
    if kind is VOLUME:
        wanted["metadata"].setdefault("finalizers", []).append(IN_USE)
    if kind is POD:
        _fill_priority(shelves, wanted)
        _fill_requests(wanted)
        fill_from_ranges(shelves, wanted, namespace)


def _fill_priority(shelves: Shelves, pod: Object) -> None:
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    if name is None:
        usual = [one for one in shelves.all(PRIORITY) if one.get("globalDefault")]
        spec["priority"] = usual[0]["value"] if usual else 0
        return
    found = shelves.find(PRIORITY, name)
    if found is None:
        raise forbidden(POD, pod, f"no PriorityClass with name {name} was found")
    spec["priority"] = found["value"]


def _fill_requests(pod: Object) -> None:
    """Before any range is looked at: who names a limit asks for all of it."""
    for container in pod["spec"]["containers"]:
        resources = container.setdefault("resources", {})
        for name, value in resources.get("limits", {}).items():
            resources.setdefault("requests", {}).setdefault(name, value)


def check(shelves: Shelves, kind: Kind, wanted: Object, namespace: str) -> None:
    check_names(kind, wanted)
    if kind is JOB:
        _check_job(wanted)
    if kind is POD:
        _check_containers(kind, wanted["metadata"].get("name", ""), wanted["spec"])
        check_ranges(shelves, wanted, namespace)
    if kind is VOLUME:
        check_ranges_of_claims(shelves, wanted, namespace)
    if kind in (POD, VOLUME, JOB) or kind.plural in ("configmaps", "secrets", "services"):
        check_quota(shelves, kind, wanted, namespace)


def _check_job(wanted: Object) -> None:
    """What the real one checks of what we write. Whether its pods may be made is seen later."""
    name, spec = wanted["metadata"]["name"], wanted["spec"]
    pod = spec["template"]["spec"]
    if pod.get("restartPolicy") not in ("Never", "OnFailure"):
        raise invalid(JOB, name, "spec.template.spec.restartPolicy: Required value")
    rules = spec.get("podFailurePolicy", {}).get("rules", [])
    if rules and pod["restartPolicy"] != "Never":
        raise invalid(JOB, name, "spec.podFailurePolicy: only restartPolicy Never is supported")
    for rule in rules:
        if rule.get("action") not in ("FailJob", "Ignore", "Count", "FailIndex"):
            raise invalid(JOB, name, "spec.podFailurePolicy.rules[].action: Unsupported value")
        for pattern in rule.get("onPodConditions", []):
            if "status" not in pattern:
                raise invalid(JOB, name, "spec.podFailurePolicy…onPodConditions[].status: Required")
    _check_containers(JOB, name, pod)
    check_names(JOB, {"metadata": {"name": name, **spec["template"].get("metadata", {})}})


def check_fixed(kind: Kind, before: Object, after: Object) -> None:
    """What nobody may change of what is there."""
    name = before["metadata"]["name"]
    if kind is JOB and before["spec"]["template"] != after["spec"]["template"]:
        raise invalid(JOB, name, "spec.template: Invalid value: field is immutable")
    _check_kept(kind, before, after)
    if kind is POD and before["spec"] != after["spec"]:
        why = "spec: Forbidden: pod updates may not change fields other than some"
        raise invalid(POD, name, why)


def _check_kept(kind: Kind, before: Object, after: Object) -> None:
    """Of what people configure."""
    name = before["metadata"]["name"]
    if kind is PRIORITY and before["value"] != after.get("value"):
        raise invalid(kind, name, "value: Forbidden: may not be changed in an update.")
    if kind is DEPLOYMENT and before["spec"]["selector"] != after["spec"]["selector"]:
        raise invalid(kind, name, "spec.selector: Invalid value: field is immutable")
    if kind is BINDING and before["roleRef"] != after["roleRef"]:
        raise invalid(kind, name, "roleRef: Invalid value: cannot change roleRef")
    if kind is CRD:
        known = {one["name"] for one in after["spec"]["versions"]}
        for index, version in enumerate(before.get("status", {}).get("storedVersions", [])):
            if version not in known:
                why = f'Invalid value: "{version}": missing from spec.versions; {version} was'
                why += " previously a storage version, and must remain in spec.versions"
                raise invalid(kind, name, f"status.storedVersions[{index}]: {why}")


def _check_containers(kind: Kind, name: str, spec: Object) -> None:
    volumes = {volume["name"] for volume in spec.get("volumes", [])}
    for container in spec["containers"]:
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                raise invalid(kind, name, f"volumeMounts[].name: Not found: {mount['name']!r}")
        resources = container.get("resources", {})
        for what, value in resources.get("requests", {}).items():
            limit = resources.get("limits", {}).get(what)
            if limit is not None and quantity(value) > quantity(limit):
                text = f"resources.requests: Invalid value: {value!r}: must be less than or equal"
                raise invalid(kind, name, f"{text} to {what} limit of {limit}")
