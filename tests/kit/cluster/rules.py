"""What the API server refuses, and what it fills in: quotas, limit ranges, schemas, names."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import jsonschema

from tests.kit.cluster.objects import (
    JOB,
    LIMITS,
    POD,
    PRIORITY,
    QUOTA,
    VOLUME,
    Kind,
    Object,
    Refusal,
    Shelves,
)

_UNITS: dict[str, Any] = {"m": Decimal("0.001"), "k": 1000, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "": 1}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def quantity(text: str | float) -> Decimal:
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise Refusal(400, "BadRequest", f"quantities must match the regular expression: {text!r}")
    return Decimal(match[1]) * Decimal(_UNITS[match[2] or ""])


def invalid(kind: Kind, name: str, why: str) -> Refusal:
    return Refusal(422, "Invalid", f'{kind.kind} "{name}" is invalid: {why}')


def check_names(kind: Kind, wanted: Object) -> None:
    meta = wanted.get("metadata", {})
    name = meta.get("name", meta.get("generateName", "") + "x")
    if not _NAME.fullmatch(name) or (kind is JOB and len(name) > 63):
        raise invalid(kind, name, f"metadata.name: Invalid value: {name!r}")
    for key, value in meta.get("labels", {}).items():
        if not isinstance(value, str) or not _LABEL.fullmatch(value):
            raise invalid(kind, name, f"metadata.labels: Invalid value: {key}={value!r}")


def fill(shelves: Shelves, kind: Kind, wanted: Object, namespace: str) -> None:
    """What admission plugins put in before anything is checked."""
    if kind is POD:
        _fill_priority(shelves, wanted["spec"])
        for limits in shelves.all(LIMITS, namespace):
            for rule in limits["spec"]["limits"]:
                if rule["type"] == "Container":
                    for container in wanted["spec"]["containers"]:
                        _fill_container(container, rule)


def _fill_priority(shelves: Shelves, spec: Object) -> None:
    name = spec.get("priorityClassName")
    if name is None:
        usual = [one for one in shelves.all(PRIORITY) if one.get("globalDefault")]
        spec["priority"] = usual[0]["value"] if usual else 0
        return
    found = shelves.find(PRIORITY, name)
    if found is None:
        raise Refusal(403, "Forbidden", f"no PriorityClass with name {name} was found")
    spec["priority"] = found["value"]


def _fill_container(container: Object, rule: Object) -> None:
    resources = container.setdefault("resources", {})
    limits, requests = resources.setdefault("limits", {}), resources.setdefault("requests", {})
    for name, value in rule.get("default", {}).items():
        limits.setdefault(name, value)
    for name in list(limits):
        usual = rule.get("defaultRequest", {}).get(name, limits[name])
        requests.setdefault(name, usual)


def check(shelves: Shelves, kind: Kind, wanted: Object, namespace: str) -> None:
    check_names(kind, wanted)
    if kind is JOB:
        _check_job(shelves, wanted)
    if kind is POD:
        _check_containers(kind, wanted["metadata"].get("name", ""), wanted["spec"])
        _check_ranges(shelves, wanted, namespace)
    if kind in (POD, VOLUME) or kind.plural in ("configmaps", "secrets", "services"):
        _check_quota(shelves, kind, wanted, namespace)


def _check_job(shelves: Shelves, wanted: Object) -> None:
    """What the real one checks of what we write; `shelves` for the classes it names."""
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
    _fill_priority(shelves, dict(pod)) if pod.get("priorityClassName") else None


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


def _check_ranges(shelves: Shelves, wanted: Object, namespace: str) -> None:
    for limits in shelves.all(LIMITS, namespace):
        for rule in limits["spec"]["limits"]:
            if rule["type"] != "Container":
                continue
            for container in wanted["spec"]["containers"]:
                asked = container.get("resources", {}).get("limits", {})
                for what, most in rule.get("max", {}).items():
                    if what in asked and quantity(asked[what]) > quantity(most):
                        text = f"maximum {what} usage per Container is {most}, but limit is "
                        raise Refusal(403, "Forbidden", text + str(asked[what]))


# -- quota ----------------------------------------------------------------------------------------


def usage(kind: Kind, found: Object) -> dict[str, Decimal]:
    """What one object takes of a quota."""
    if kind is VOLUME:
        size = found["spec"]["resources"]["requests"]["storage"]
        return {"persistentvolumeclaims": Decimal(1), "requests.storage": quantity(size)}
    if kind is not POD:
        return {kind.plural: Decimal(1), f"count/{kind.plural}": Decimal(1)}
    taken = {"pods": Decimal(1)}
    for container in found["spec"]["containers"]:
        resources = container.get("resources", {})
        for part in ("requests", "limits"):
            for what, value in resources.get(part, {}).items():
                name = f"{part}.{what}"
                taken[name] = taken.get(name, Decimal(0)) + quantity(value)
    return taken


def used(shelves: Shelves, namespace: str, quota: Object) -> dict[str, Decimal]:
    hard = quota["spec"].get("hard", {})
    found = {name: Decimal(0) for name in hard}
    for kind in (POD, VOLUME):
        for one in shelves.all(kind, namespace):
            if kind is POD and one.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                continue
            if not _in_scope(quota, kind, one):
                continue
            for name, value in usage(kind, one).items():
                if name in found:
                    found[name] += value
    return found


def _in_scope(quota: Object, kind: Kind, one: Object) -> bool:
    selector = quota["spec"].get("scopeSelector", {}).get("matchExpressions", [])
    if not selector:
        return True
    if kind is not POD:
        return False
    name = one["spec"].get("priorityClassName")
    return all(
        name in rule.get("values", []) if rule["operator"] == "In" else name is not None
        for rule in selector
        if rule["scopeName"] == "PriorityClass"
    )


def _check_quota(shelves: Shelves, kind: Kind, wanted: Object, namespace: str) -> None:
    name = wanted["metadata"].get("name", "")
    for quota in shelves.all(QUOTA, namespace):
        if not _in_scope(quota, kind, wanted):
            continue
        hard, taken = quota["spec"].get("hard", {}), usage(kind, wanted)
        before = used(shelves, namespace, quota)
        quota_name = quota["metadata"]["name"]
        if kind is POD:
            missing = [
                one for one in hard if one.startswith(("requests.", "limits.")) and one not in taken
            ]
            missing = [one for one in missing if one != "requests.storage"]
            if missing:
                text = f'pods "{name}" is forbidden: failed quota: {quota_name}: must specify '
                raise Refusal(403, "Forbidden", text + ",".join(missing))
        over = [
            one
            for one in hard
            if taken.get(one, Decimal(0)) > 0 and before[one] + taken[one] > quantity(hard[one])
        ]
        if over:
            parts = [
                ",".join(f"{one}={values[one]}" for one in over)
                for values in (taken, before, {one: hard[one] for one in over})
            ]
            text = (
                f'{kind.plural} "{name}" is forbidden: exceeded quota: {quota_name}, '
                f"requested: {parts[0]}, used: {parts[1]}, limited: {parts[2]}"
            )
            raise Refusal(403, "Forbidden", text)


# -- custom resources -----------------------------------------------------------------------------


def pruned(schema: Object, value: Any) -> Any:
    """Structural schemas keep only what they name."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    if isinstance(value, dict):
        known, more = schema.get("properties"), schema.get("additionalProperties")
        if known is None and isinstance(more, dict):
            return {name: pruned(more, each) for name, each in value.items()}
        if known is None:
            return value
        return {name: pruned(known[name], each) for name, each in value.items() if name in known}
    if isinstance(value, list):
        return [pruned(schema.get("items", {}), each) for each in value]
    return value


def defaulted(schema: Object, value: Any) -> Any:
    if isinstance(value, dict):
        for name, each in schema.get("properties", {}).items():
            if name not in value and "default" in each:
                value[name] = each["default"]
            if name in value:
                defaulted(each, value[name])
    return value


def check_custom(kind: Kind, schema: Object, wanted: Object) -> Object:
    """Pruned and filled in; 422 with the path of what is wrong."""
    kept = {name: wanted[name] for name in ("apiVersion", "kind", "metadata") if name in wanted}
    body = {name: value for name, value in wanted.items() if name not in kept}
    body = defaulted(schema, pruned(schema, body))
    rules = {**schema, "properties": {**schema.get("properties", {})}}
    for error in jsonschema.Draft202012Validator(_plain(rules)).iter_errors(body):
        path = ".".join(map(str, error.absolute_path))
        raise invalid(kind, wanted["metadata"].get("name", ""), f"{path}: {error.message}")
    whole: Object = kept | body
    return whole


def _plain(schema: Any) -> Any:
    """Without what only Kubernetes knows."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _plain(each) for name, each in schema.items() if not name.startswith("x-")}
    if schema.get("nullable") and "type" in found:
        found["type"] = [found["type"], "null"]
    found.pop("format", None)
    return found
