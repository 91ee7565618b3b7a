"""Rules about what scales and what protects: targets that are there, forms the API takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .objects import Object
from .problems import Problem, of_kind, rule, space_of, where
from .scaling import ARGO

METRICS: Final = {"Resource", "ContainerResource", "Pods", "Object", "External"}
# Names and labels under which Argo's own manifests deploy its server.
ELSEWHERE: Final = {ARGO: {"app": ARGO}}


@rule("hpa-metrics")
def hpa_metrics(objects: Sequence[Object]) -> list[Problem]:
    found = []
    for one in of_kind(objects, "HorizontalPodAutoscaler"):
        for metric in one["spec"].get("metrics", []):
            kind = metric.get("type")
            if kind not in METRICS:
                told = f"there is no metric of type {kind}: External, or Pods with AverageValue"
                found.append(Problem("hpa-metrics", where(one), told))
    return found


@rule("hpa-target")
def hpa_target(objects: Sequence[Object]) -> list[Problem]:
    there = {(space_of(one), one["metadata"]["name"]) for one in of_kind(objects, "Deployment")}
    found = []
    for one in of_kind(objects, "HorizontalPodAutoscaler"):
        name = one["spec"]["scaleTargetRef"]["name"]
        if (space_of(one), name) not in there and name not in ELSEWHERE:
            told = f"nothing is called {name}; Argo's own server is {ARGO}"
            found.append(Problem("hpa-target", where(one), told))
    return found


@rule("hpa-of-a-leader")
def hpa_of_a_leader(objects: Sequence[Object]) -> list[Problem]:
    """Replicas that stand by do no work: whoever scales them says what for."""
    told = "scales what elects a leader, where only one works: say why (annotation paddock.dev/why)"
    leading = {
        one["metadata"]["name"] for one in of_kind(objects, "Deployment") if _elects(one, objects)
    }
    return [
        Problem("hpa-of-a-leader", where(one), told)
        for one in of_kind(objects, "HorizontalPodAutoscaler")
        if one["spec"]["scaleTargetRef"]["name"] in leading
        and not (one["metadata"].get("annotations") or {}).get("paddock.dev/why")
    ]


def _elects(deployment: Object, objects: Sequence[Object]) -> bool:
    """It may write Leases, by a role of its account."""
    account = deployment["spec"]["template"]["spec"].get("serviceAccountName")
    roles = {
        one["roleRef"]["name"]
        for one in of_kind(objects, "RoleBinding", "ClusterRoleBinding")
        if any(each.get("name") == account for each in one.get("subjects", []))
    }
    return any(
        "leases" in each.get("resources", []) and {"update", "patch", "*"} & set(each["verbs"])
        for one in of_kind(objects, "Role", "ClusterRole")
        if one["metadata"]["name"] in roles
        for each in one.get("rules", [])
    )


@rule("vpa-target")
def vpa_target(objects: Sequence[Object]) -> list[Problem]:
    found = []
    for one in of_kind(objects, "VerticalPodAutoscaler"):
        target = one["spec"].get("targetRef", {})
        if target.get("kind") == "Pod" or "selector" in target:
            told = "a VPA follows a controller such as a Deployment, by name; it selects no pods"
            found.append(Problem("vpa-target", where(one), told))
        mode = one["spec"].get("updatePolicy", {}).get("updateMode", "Auto")
        if mode in ("Auto", "Recreate", "InPlaceOrRecreate"):
            told = f"updateMode {mode} puts running pods out, with their work: Initial or Off"
            found.append(Problem("vpa-target", where(one), told))
    return found


@rule("pdb-selects")
def pdb_selects(objects: Sequence[Object]) -> list[Problem]:
    """A budget that selects nobody protects nobody, and says nothing about it."""
    templates = [
        (space_of(one), one["spec"]["template"]["metadata"].get("labels", {}))
        for one in of_kind(objects, "Deployment", "StatefulSet")
    ]
    found = []
    for one in of_kind(objects, "PodDisruptionBudget"):
        wanted = one["spec"].get("selector", {}).get("matchLabels", {})
        here = any(
            space == space_of(one) and wanted.items() <= labels.items()
            for space, labels in templates
        )
        if not here and wanted not in ELSEWHERE.values():
            told = f"selects no pods of these manifests; Argo's server has app: {ARGO}"
            found.append(Problem("pdb-selects", where(one), told))
    return found


@rule("names-fit")
def names_fit(objects: Sequence[Object]) -> list[Problem]:
    """What names another object names one that is there."""
    accounts = {
        (space_of(one), one["metadata"]["name"]) for one in of_kind(objects, "ServiceAccount")
    }
    roles = {one["metadata"]["name"] for one in of_kind(objects, "Role", "ClusterRole")}
    classes = {one["metadata"]["name"] for one in of_kind(objects, "PriorityClass")}
    found = []
    for one in of_kind(objects, "Deployment"):
        pod = one["spec"]["template"]["spec"]
        labels = one["spec"]["template"]["metadata"].get("labels", {})
        if not one["spec"]["selector"]["matchLabels"].items() <= labels.items():
            found.append(Problem("names-fit", where(one), "its selector is not of its own pods"))
        name = pod.get("serviceAccountName", "default")
        if name != "default" and (space_of(one), name) not in accounts:
            found.append(Problem("names-fit", where(one), f"there is no ServiceAccount {name}"))
        kind = pod.get("priorityClassName")
        if kind and not kind.startswith("system-") and kind not in classes:
            found.append(Problem("names-fit", where(one), f"there is no PriorityClass {kind}"))
    for one in of_kind(objects, "RoleBinding", "ClusterRoleBinding"):
        if one["roleRef"]["name"] not in roles:
            told = f"there is no {one['roleRef']['kind']} {one['roleRef']['name']}"
            found.append(Problem("names-fit", where(one), told))
    return found
