"""How many agents a namespace has room for: by its quotas, its ranges and the tiers. Pure.

What an agent asks for is what the driver would ask for it, and what is short is what the driver
would find short: there is no second sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from paddock.cluster.quantities import number_of
from paddock.cluster.quota import Line, lines_of, never_fits, plain, short_of
from paddock.cluster.tiers import Tier, in_force
from paddock.core.run import Attempt, Priority
from paddock.drivers.kubernetes.manifests import asked_of_quota, resources_of, volume_bytes
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.ports import Launch

Object = dict[str, Any]
Rules = KubernetesSettings  # of which a quota sees tiers, classes and volumes
Wish = Launch  # as far as a quota sees it
# What stands in a namespace with pods of its own, by the kind that a manifest names.
WITH_PODS: Final = ("Deployment", "StatefulSet")
OF_VOLUMES: Final = ("persistentvolumeclaims", "requests.storage")


class NoQuota(Exception):
    """Nothing was said that holds anybody to anything; in one line."""


@dataclass(frozen=True, slots=True)
class Sized:
    """What one agent asks of a quota, and of whom it is said."""

    role: str
    model: str
    asked: Mapping[str, Decimal]
    resources: Mapping[str, Mapping[str, str]]
    volume_bytes: int  # 0: it has none
    priority_class: str | None
    share: int = 100  # of a hundred such runs, so many ask for this


@dataclass(frozen=True, slots=True)
class Alone:
    """So many of one kind fit at a time, with nobody else; `held_by` says what is all used then."""

    sized: Sized
    count: int
    held_by: tuple[str, ...]


def rules_of(tiers: tuple[Tier, ...], classes: Mapping[Priority, str], *, volumes: bool) -> Rules:
    """What a quota depends on; the image and the rest do not matter."""
    return KubernetesSettings(tiers=tiers, priority_classes=classes, volumes=volumes)


def size_of(wish: Wish, rules: Rules) -> Sized:
    return Sized(
        role=wish.labels.get("role", ""),
        model=wish.labels.get("model", ""),
        asked=asked_of_quota(wish, rules),
        resources=resources_of(wish, rules),
        volume_bytes=volume_bytes(wish, rules) if rules.volumes else 0,
        priority_class=rules.priority_classes.get(wish.priority),
    )


def wish_of(name: str, limit_bytes: int, labels: Mapping[str, str], priority: Priority) -> Wish:
    """The first attempt of a run, as far as a quota sees it."""
    return Launch(
        attempt=Attempt(name, 1),
        command=(),
        environment={},
        directory=Path("/"),
        limit_bytes=limit_bytes,
        labels={key: value for key, value in labels.items() if value},
        priority=priority,
    )


def sizes_of(rules: Rules) -> Iterator[Sized]:
    """One of each tier that some run may get: one's own, then the built-in ones that they leave."""
    for tier in in_force(rules.tiers):
        whole = replace(rules, tiers=(replace(tier, share=100),))
        yield replace(size_of(_one_of(tier), whole), share=tier.share)


def _one_of(tier: Tier) -> Wish:
    labels = {"role": tier.role, "model": tier.model}
    return wish_of("one", tier.memory_limit_bytes, labels, Priority.NORMAL)


class Namespace:
    """Quotas and ranges, and what is taken of the quotas, as it changes."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self._quotas = [one for one in objects if one.get("kind") == "ResourceQuota"]
        if not self._quotas:
            raise NoQuota("there is no ResourceQuota: nothing but the nodes holds agents to a size")
        names = {_space(one) for one in self._quotas}
        if len(names) > 1:
            raise NoQuota(f"there are quotas of {', '.join(sorted(names))}: name one namespace's")
        self.name = names.pop()
        here = [one for one in objects if _space(one) in ("", self.name)]
        self._ranges = [one for one in here if one.get("kind") == "LimitRange"]
        self._taken: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
        self._lines: dict[str | None, list[Line]] = {}  # read once: a fleet asks very often
        for one in here:
            if one.get("kind") in WITH_PODS:
                self._stand(one)

    def quotas(self) -> list[Object]:
        """As the API server would show them now."""
        return [self._as_used(quota) for quota in self._quotas]

    def _as_used(self, quota: Object) -> Object:
        name, known = quota["metadata"]["name"], quota.get("status", {}).get("used", {})
        used = {
            resource: number_of(str(known.get(resource, "0"))) + self._taken[name, resource]
            for resource in quota["spec"].get("hard", {})
        }
        texts = {resource: f"{value.normalize():f}" for resource, value in used.items()}
        return {**quota, "status": {"used": texts}}

    def lines(self, priority_class: str | None) -> list[Line]:
        """Those that bind pods of the class."""
        if priority_class not in self._lines:
            self._lines[priority_class] = lines_of(self._quotas, priority_class)
        taken = self._taken
        return [
            replace(line, used=line.used + taken[line.quota, line.resource])
            for line in self._lines[priority_class]
        ]

    # -- one more -------------------------------------------------------------------------

    def refused(self, sized: Sized) -> str | None:
        """Why it would be refused or wait for ever, with nobody else there."""
        return self._outside(sized) or never_fits(sized.asked, self.lines(sized.priority_class))

    def short(self, sized: Sized, *, of_volume: bool = True) -> str | None:
        return short_of(_part(sized.asked, of_volume), self.lines(sized.priority_class))

    def take(self, sized: Sized, *, of_volume: bool = True, sign: int = 1) -> None:
        asked = _part(sized.asked, of_volume)
        for line in self.lines(sized.priority_class):
            self._taken[line.quota, line.resource] += sign * asked.get(line.resource, Decimal(0))

    def give_volume(self, sized: Sized) -> None:
        for line in self.lines(sized.priority_class):
            if line.resource in OF_VOLUMES:
                back = sized.asked.get(line.resource, Decimal(0))
                self._taken[line.quota, line.resource] -= back

    # -- how many -------------------------------------------------------------------------

    def alone(self, sized: Sized) -> Alone:
        if (problem := self._outside(sized)) is not None:
            return Alone(sized, 0, (problem,))
        rooms: dict[str, int] = {}
        for line in self.lines(sized.priority_class):
            wanted = sized.asked.get(line.resource, Decimal(0))
            if wanted > 0:
                room = max(0, int(line.left // wanted))
                rooms[line.resource] = min(room, rooms.get(line.resource, room))
        if not rooms:
            raise NoQuota(f"no quota counts {_whose(sized)}: see its priority class and scopes")
        count = min(rooms.values())
        return Alone(sized, count, tuple(name for name, room in rooms.items() if room == count))

    def _outside(self, sized: Sized) -> str | None:
        """What a LimitRange refuses, whatever is left."""
        for one in self._ranges:
            for part in one["spec"].get("limits", []):
                for name, request, limit in _of_type(sized, part.get("type", "")):
                    most, least = part.get("max", {}).get(name), part.get("min", {}).get(name)
                    which = f"the LimitRange {one['metadata']['name']}"
                    if most is not None and limit > number_of(str(most)):
                        return f"{which} allows {most} {name}, and {plain(limit)} are asked for"
                    if least is not None and request < number_of(str(least)):
                        return f"{which} wants {least} {name}, and {plain(request)} are asked for"
        return None

    # -- who is there already -------------------------------------------------------------

    def _stand(self, one: Object) -> None:
        """A Deployment beside the agents: its pods count where a quota does not leave them out."""
        spec = one.get("spec", {})
        pod = spec.get("template", {}).get("spec", {})
        asked: defaultdict[str, Decimal] = defaultdict(Decimal, pods=Decimal(1))
        for container in pod.get("containers", []):
            for part, values in self._filled(container.get("resources", {})).items():
                for name, value in values.items():
                    asked[f"{part}.{name}"] += number_of(str(value))
        for line in self.lines(pod.get("priorityClassName")):
            count = Decimal(int(spec.get("replicas", 1)))
            self._taken[line.quota, line.resource] += count * asked[line.resource]

    def _filled(self, said: Object) -> dict[str, dict[str, Any]]:
        """As admission fills in what a container leaves out."""
        limits, requests = dict(said.get("limits", {})), dict(said.get("requests", {}))
        for one in self._ranges:
            for part in one["spec"].get("limits", []):
                if part.get("type") == "Container":
                    limits = {**part.get("default", {}), **limits}
                    requests = {**part.get("defaultRequest", {}), **requests}
        return {"limits": limits, "requests": {**limits, **requests}}


class Gate:
    """Who may start in a namespace, as a driver finds it: pods come and go, volumes stay until
    their run has come to a good end."""

    def __init__(self, namespace: Namespace, wishes: Sequence[Wish], rules: Rules) -> None:
        self.namespace = namespace
        self._rules = rules
        self._wishes = {wish.attempt.run: wish for wish in wishes}
        self._volumes: dict[str, Sized] = {}
        self._pods: dict[Attempt, Sized] = {}

    @property
    def classes(self) -> list[str]:
        """Those that the runs have."""
        known = self._rules.priority_classes
        said = {known.get(wish.priority) for wish in self._wishes.values()}
        return sorted(name for name in said if name is not None)

    @property
    def tiers(self) -> tuple[Tier, ...]:
        return self._rules.tiers

    def take(self, attempt: Attempt, limit_bytes: int) -> str | None:
        """Why not; None: it has its place. After an end for want of memory it asks for more."""
        wish = structs.replace(self._wishes[attempt.run], limit_bytes=limit_bytes)
        sized, is_new = size_of(wish, self._rules), attempt.run not in self._volumes
        short = self.namespace.short(sized, of_volume=is_new)
        if short is None:
            self.namespace.take(sized, of_volume=is_new)
            self._volumes.setdefault(attempt.run, sized)
            self._pods[attempt] = sized
        return short

    def gone(self, attempt: Attempt) -> None:
        sized = self._pods.pop(attempt, None)
        if sized is not None:
            self.namespace.take(sized, of_volume=False, sign=-1)

    def ended(self, run: str) -> None:
        """Well: its volume goes. That of one that failed is kept for who looks at it."""
        sized = self._volumes.pop(run, None)
        if sized is not None:
            self.namespace.give_volume(sized)

    def pods(self) -> list[Object]:
        """As a watch would know them."""
        return [
            {"spec": {"containers": [{"resources": sized.resources}]}}
            for sized in self._pods.values()
        ]

    def at_once(self) -> dict[str, int]:
        """How many of each role are there."""
        found: defaultdict[str, int] = defaultdict(int)
        for sized in self._pods.values():
            found[sized.role or "other"] += 1
        return dict(sorted(found.items()))


def _space(one: Object) -> str:
    return str((one.get("metadata") or {}).get("namespace") or "")


def _part(asked: Mapping[str, Decimal], of_volume: bool) -> dict[str, Decimal]:  # noqa: FBT001
    return {name: value for name, value in asked.items() if of_volume or name not in OF_VOLUMES}


def _of_type(sized: Sized, kind: str) -> Iterator[tuple[str, Decimal, Decimal]]:
    """Of what, how much is requested, and how much is the limit."""
    if kind == "Container":
        for name, value in sized.resources["limits"].items():
            yield name, number_of(sized.resources["requests"][name]), number_of(value)
    if kind == "PersistentVolumeClaim" and sized.volume_bytes:
        yield "storage", Decimal(sized.volume_bytes), Decimal(sized.volume_bytes)


def _whose(sized: Sized) -> str:
    return "/".join(filter(None, (sized.role, sized.model))) or "agents without a role"
