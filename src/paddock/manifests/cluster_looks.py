"""Looks at a cluster: its version, kinds, rights, storage, classes, and what stands of paddock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from paddock.cluster.agent_run import VERSION, crd
from paddock.cluster.client import (
    CLAIM,
    JOB,
    NAMESPACE,
    POD,
    SECRET,
    ClusterTrouble,
    Kind,
    Object,
)

from . import revisions
from .checking import VERSIONS
from .kinds import CRD, stored
from .objects import CONTROLLER
from .prerequisites import PATIENCE_S, Finding, Ground, Look, good, missing, note
from .rendering import all_of, render
from .rollout import find_controllers, is_ready
from .values import PRIORITIES

OLDEST: Final = (1, 31)  # since then podFailurePolicy, by which we know a disruption, is for good
APPLY: Final = "paddock kubernetes apply"
STORAGE: Final = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
PRIORITY: Final = Kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)
ACCOUNT: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts")
REVIEW: Final = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)
OPERATORS: Final = {
    "VerticalPodAutoscaler": ("autoscaling.k8s.io/v1", "vertical autoscaler", "--no-vpa"),
    "PrometheusRule": ("monitoring.coreos.com/v1", "Prometheus operator", "--no-monitoring"),
}
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
USUAL_CLASS: Final = "fast-ssd"  # what paddock asks for where nobody says another
IN_PULLING: Final = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")


async def version(ground: Ground) -> AsyncIterator[Finding]:
    found = await ground.discovery.version()
    text = f"Kubernetes {found[0]}.{found[1]}"
    if found < OLDEST:
        oldest = f"{OLDEST[0]}.{OLDEST[1]}"
        yield missing("version", text, f"upgrade it: {oldest} or newer tells evictions from ends")
    elif f"{found[0]}.{found[1]}" not in VERSIONS:
        known = f"{VERSIONS[0]} to {VERSIONS[-1]}"
        yield note("version", text, f"nothing to do; manifests are checked for {known}")
    else:
        yield good("version", text)


async def kinds(ground: Ground) -> AsyncIterator[Finding]:
    wanted = crd()
    found = await ground.find(CRD, wanted["metadata"]["name"])
    if found is None:
        yield missing("AgentRun", "the cluster does not know the kind", APPLY)
        return
    said = {one["type"]: one["status"] for one in found.get("status", {}).get("conditions", [])}
    versions = [one["name"] for one in found["spec"]["versions"] if one.get("served")]
    if said.get("Established") != "True":
        yield missing(
            "AgentRun", "is not Established", "kubectl describe crd agentruns.paddock.dev"
        )
    elif VERSION not in versions:
        yield missing("AgentRun", f"is served as {', '.join(versions)}, not {VERSION}", APPLY)
    elif set(stored(found)) - {VERSION}:
        older = ", ".join(sorted(set(stored(found)) - {VERSION}))
        yield note("AgentRun", f"some may be stored as {older}", f"{APPLY} writes them anew")
    else:
        yield good("AgentRun", f"is served as {VERSION}")


async def namespace(ground: Ground) -> AsyncIterator[Finding]:
    name = ground.values.namespace
    found = await ground.find(NAMESPACE, name)
    if found is None:
        yield missing("namespace", f"there is no {name}", APPLY)
    else:
        yield good("namespace", f"{name} is there")


async def storage(ground: Ground) -> AsyncIterator[Finding]:
    wanted = ground.values.storage_class or USUAL_CLASS
    classes = await ground.all(STORAGE)
    names = sorted(one["metadata"]["name"] for one in classes)
    usual = [one["metadata"]["name"] for one in classes if _is_default(one)]
    known = f", or one of {', '.join(names)}" if names else ""
    if wanted == "default":
        if usual:
            yield good("storage class", f"the cluster's own is {', '.join(usual)}")
        else:
            mend = f"name one as the default{known}; or kubernetes.volumes: false"
            yield missing("storage class", "the cluster has no default", mend)
    elif wanted in names:
        yield good("storage class", f"{wanted} is there")
    else:
        mend = f"kubernetes.storage_class: default{known}"
        yield missing("storage class", f"there is no {wanted}", mend)


def _is_default(one: Object) -> bool:
    return (one["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"


async def metrics(ground: Ground) -> AsyncIterator[Finding]:
    """Of the metrics server, which autoscaling of controllers is by; and of the external ones."""
    mend = "install metrics-server: without it controllers are not scaled, only two of them stay"
    try:
        if await ground.discovery.serves("metrics.k8s.io/v1beta1"):
            yield good("metrics server", "answers")
        else:
            yield note("metrics server", "is not there", mend)
    except ClusterTrouble:
        mend = "kubectl get apiservice v1beta1.metrics.k8s.io says why"
        yield note("metrics server", "is there and does not answer", mend)
    if not ground.values.argo:
        return
    if await ground.discovery.serves("external.metrics.k8s.io/v1beta1"):
        yield good("external metrics", "are served")
    else:
        mend = "install prometheus-adapter or KEDA, with argo_workflows_gauge; or leave --argo out"
        yield note("external metrics", "nobody serves them: Argo's server scales by CPU only", mend)


async def operators(ground: Ground) -> AsyncIterator[Finding]:
    rendered = {one["kind"] for one in all_of(render(ground.values))}
    for kind, (api, name, without) in OPERATORS.items():
        if kind not in rendered:
            continue
        if await ground.discovery.kind(api, kind) is not None:
            yield good(name, "is there")
        else:
            mend = f"install it, or say {without}; the rest works without it"
            yield note(name, f"is not there: its {kind} is left out", mend)


# -- rights ---------------------------------------------------------------------------------------


async def rights(ground: Ground) -> AsyncIterator[Finding]:
    """Of whoever asks now: to apply everything, and to run agents from here."""
    rendered = [pair async for pair in _rendered(ground)]
    wanted = [(kind, verb, space) for kind, space in rendered for verb in OF_APPLY]
    space = ground.values.namespace
    wanted += [(kind, verb, space) for kind, verbs in OF_A_DAEMON.items() for verb in verbs]
    lacking: dict[tuple[str, str | None], list[str]] = {}
    for kind, verb, where in dict.fromkeys(wanted):
        if not await _may(ground, kind, verb, where):
            lacking.setdefault((_resource(kind), where), []).append(verb)
    for (resource, where), verbs in lacking.items():
        place = f" in {where}" if where else ", which are the whole cluster's"
        what = f"you may not {', '.join(verbs)} {resource}{place}"
        mend = "ask whoever runs the cluster for a role, or have them run apply"
        yield missing("rights", what, mend)
    if not lacking:
        yield good("rights", f"all {len(dict.fromkeys(wanted))} that apply and a daemon need")


OF_APPLY: Final = ("get", "create", "patch")
OF_A_DAEMON: Final = {
    JOB: ("list", "watch", "create", "patch", "delete"),
    POD: ("list", "watch", "patch", "delete"),
    Kind("", "v1", "Pod", "pods/log"): ("get",),
    CLAIM: ("list", "create", "delete"),
}


async def _rendered(ground: Ground) -> AsyncIterator[tuple[Kind, str | None]]:
    for one in all_of(render(ground.values)):
        kind = await ground.discovery.kind(one["apiVersion"], one["kind"])
        if kind is not None:
            yield kind, one["metadata"].get("namespace")


def _resource(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}".rstrip(".")


async def _may(ground: Ground, kind: Kind, verb: str, namespace: str | None) -> bool:
    plural, _, part = kind.plural.partition("/")
    asked = {"group": kind.group, "version": kind.version, "resource": plural, "verb": verb}
    asked |= {"subresource": part} if part else {}
    asked |= {"namespace": namespace} if namespace else {}
    wanted = {"metadata": {}, "spec": {"resourceAttributes": asked}}
    told = await ground.api.create(REVIEW, wanted, patience_s=PATIENCE_S)
    return bool((told.get("status") or {}).get("allowed"))


# -- pods -----------------------------------------------------------------------------------------


async def images(ground: Ground) -> AsyncIterator[Finding]:
    """Agents use the namespace's usual account: what it has to pull with, and who waits for it."""
    space = ground.values.namespace
    account = await ground.find(ACCOUNT, "default", namespace=space)
    named = [one["name"] for one in (account or {}).get("imagePullSecrets") or []]
    there = [one for one in named if await ground.find(SECRET, one, namespace=space) is not None]
    for name in set(named) - set(there):
        mend = f"kubectl create secret docker-registry {name} -n {space} …"
        yield missing("image pull secret", f"the account default names {name}, not there", mend)
    if not named:
        mend = (
            "nothing, for public images; else kubectl patch serviceaccount default "
            f'-n {space} -p \'{{"imagePullSecrets": [{{"name": "NAME"}}]}}\''
        )
        yield note("image pull secret", "agents have none", mend)
    if there:
        yield good("image pull secret", ", ".join(there))
    async for finding in _pulling(ground):
        yield finding


async def _pulling(ground: Ground) -> AsyncIterator[Finding]:
    space = ground.values.namespace
    stuck = [one for one in await ground.all(POD, namespace=space) if _cannot_pull(one)]
    if stuck:
        images = sorted({c["image"] for one in stuck for c in one["spec"]["containers"]})
        mend = "push it, or give the account default a pull secret"
        yield missing("images", f"{len(stuck)} pods cannot pull {', '.join(images)}", mend)
    secret = ground.values.secret
    if secret and await ground.find(SECRET, secret, namespace=space) is None:
        mend = f"kubectl create secret generic {secret} -n {space} --from-literal=KEY=…"
        yield missing("secret", f"kubernetes.secret names {secret}, which is not there", mend)


def _cannot_pull(pod: Object) -> bool:
    statuses: Sequence[Any] = (pod.get("status") or {}).get("containerStatuses") or []
    waiting = [(one.get("state") or {}).get("waiting") or {} for one in statuses]
    return any(one.get("reason") in IN_PULLING for one in waiting)


async def priorities(ground: Ground) -> AsyncIterator[Finding]:
    found = {one["metadata"]["name"]: one for one in await ground.all(PRIORITY)}
    clash = [
        f"{name} is {found[name]['value']}, not {value}"
        for name, (value, _) in PRIORITIES.items()
        if name in found and found[name].get("value") != value
    ]
    for told in clash:
        mend = f"a value cannot be changed: kubectl delete priorityclass {told.split()[0]}, {APPLY}"
        yield missing("priority classes", told, mend)
    usual = [one for one in found.values() if one.get("globalDefault")]
    for one in usual:
        name, value = one["metadata"]["name"], one.get("value", 0)
        above = [ours for ours, (rank, _) in PRIORITIES.items() if rank < value]
        if above:
            mend = "give what runs beside agents a class of its own, or agents give way to it"
            what = f"{name} ({value}) is everybody's default, above {', '.join(above)}"
            yield note("priority classes", what, mend)
    there = [name for name in PRIORITIES if name in found]
    if len(there) < len(PRIORITIES):
        absent = ", ".join(name for name in PRIORITIES if name not in found)
        yield missing("priority classes", f"not there: {absent}", APPLY)
    elif not clash:
        yield good("priority classes", ", ".join(there))


async def controllers(ground: Ground) -> AsyncIterator[Finding]:
    space = ground.values.namespace
    found = await find_controllers(ground.api, space)
    if found is None:
        mend = f"{APPLY}; a daemon's own runs need none"
        yield note("controllers", "none are deployed: AgentRuns would wait", mend)
    elif is_ready(found):
        yield good("controllers", f"{found['status']['availableReplicas']} serve")
    else:
        count = (found.get("status") or {}).get("availableReplicas", 0)
        mend = f"kubectl get pods -n {space} -l app.kubernetes.io/name=paddock says why"
        verdict = note if count else missing
        wanted = found["spec"].get("replicas", 1)
        yield verdict("controllers", f"{count} of {wanted} serve", mend)
    history = await revisions.read(ground.api, space, patience_s=PATIENCE_S)
    if (trial := history.trial) is not None:
        what = f"revision {trial.number} of them is on trial at {trial.stage} %"
        yield note("sizes", what, f"{APPLY} goes on, {APPLY} --rollback takes it back")
    elif history.current is not None:
        yield good("sizes", f"revision {history.current.number} is in force")


LOOKS: Final[dict[str, Look]] = {
    "version": version,
    "AgentRun": kinds,
    "namespace": namespace,
    "rights": rights,
    "storage class": storage,
    "metrics server": metrics,
    "operators": operators,
    "image pull secret": images,
    "priority classes": priorities,
    CONTROLLER: controllers,
}
