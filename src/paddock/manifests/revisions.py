"""What sizes a cluster was given, one after the other: kept in the cluster, for whoever goes back.

One ConfigMap, written with the version that was read: of two who change sizes at once, one is
refused and has changed nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from paddock.cluster.client import CONFIG, Api, ClusterTrouble, Object, Refused
from paddock.cluster.labels import MANAGED
from paddock.cluster.tiers import Tier

from .objects import NAME
from .sizes import WHOLE, Sizes, same
from .values import Values

RECORD: Final = "paddock-sizes"
KEPT: Final = 10
_REVISIONS, _VALUES = "revisions.json", "values.json"


class State(StrEnum):
    CURRENT = "current"
    TRIAL = "on trial"
    REPLACED = "replaced"
    TAKEN_BACK = "taken back"
    GIVEN_UP = "given up"  # others were wanted before it was decided


class Raced(Exception):
    """Somebody else changed the sizes meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    number: int
    sizes: Sizes
    state: State
    at: str = ""
    stage: int = WHOLE  # how far it is, in percent
    because: str = ""  # why it was taken back


@dataclass(slots=True)
class History:
    """Oldest first. `values`: everything but sizes, as last applied; None: nothing was."""

    revisions: list[Revision] = field(default_factory=list)
    values: Values | None = None
    version: str | None = None  # of the ConfigMap

    @property
    def current(self) -> Revision | None:
        return next((one for one in self.revisions if one.state is State.CURRENT), None)

    @property
    def trial(self) -> Revision | None:
        return next((one for one in self.revisions if one.state is State.TRIAL), None)

    @property
    def before(self) -> Revision | None:
        """The newest that was in force before the current one, and was not found wanting."""
        now = self.current
        found = [
            one
            for one in self.revisions
            if one.state is State.REPLACED and (now is None or one.number < now.number)
        ]
        return found[-1] if found else None

    def numbered(self, number: int) -> Revision | None:
        return next((one for one in self.revisions if one.number == number), None)

    def taken_back(self, sizes: Sizes) -> Revision | None:
        """The newest word on these sizes, where that is that they were taken back."""
        known = [one for one in self.revisions if same(one.sizes, sizes)]
        return known[-1] if known and known[-1].state is State.TAKEN_BACK else None

    # -- changing -------------------------------------------------------------------------

    def begin(self, sizes: Sizes, stage: int) -> Revision:
        """A trial; one that was there is over."""
        if (old := self.trial) is not None:
            self.give_up(old.number)
        number = max((one.number for one in self.revisions), default=0) + 1
        new = Revision(number=number, sizes=sizes, state=State.TRIAL, at=_now(), stage=stage)
        self.revisions.append(new)
        return new

    def reach(self, number: int, stage: int) -> None:
        one = self.numbered(number)
        assert one is not None
        self._put(replace(one, stage=stage))

    def settle(self, number: int) -> None:
        """It is what counts from now on."""
        for one in list(self.revisions):
            if one.number == number:
                self._put(replace(one, state=State.CURRENT, stage=WHOLE, because=""))
            elif one.state is State.CURRENT:
                self._put(replace(one, state=State.REPLACED))

    def take_back(self, number: int, because: str) -> None:
        one = self.numbered(number)
        assert one is not None
        self._put(replace(one, state=State.TAKEN_BACK, because=because))

    def give_up(self, number: int) -> None:
        one = self.numbered(number)
        assert one is not None
        self._put(replace(one, state=State.GIVEN_UP))

    def _put(self, new: Revision) -> None:
        self.revisions = [new if one.number == new.number else one for one in self.revisions]


# -- in the cluster -------------------------------------------------------------------------------


async def read(api: Api, namespace: str, *, patience_s: float) -> History:
    found = await api.find(CONFIG, RECORD, namespace=namespace, patience_s=patience_s)
    if found is None:
        return History()
    data = found.get("data") or {}
    try:
        return History(
            [revision_of(one) for one in json.loads(data.get(_REVISIONS, "[]"))],
            values_of(json.loads(data.get(_VALUES, "null"))),
            found["metadata"]["resourceVersion"],
        )
    except (ValueError, TypeError, KeyError) as error:
        text = f"the ConfigMap {namespace}/{RECORD} cannot be read ({error!r})"
        raise ClusterTrouble(f"{text}: delete it, and sizes are applied at once") from None


async def write(api: Api, namespace: str, history: History, *, patience_s: float) -> None:
    """Raced: what was read is not what is there any more."""
    newest = kept(history.revisions)
    data = {
        _REVISIONS: json.dumps([plain_revision(one) for one in newest], indent=1),
        _VALUES: json.dumps(None if history.values is None else plain_values(history.values)),
    }
    labels = {NAME: "paddock", MANAGED: "paddock"}
    wanted: Object = {"metadata": {"name": RECORD, "namespace": namespace, "labels": labels}}
    wanted["data"] = data
    try:
        if history.version is None:
            done = await api.create(CONFIG, wanted, patience_s=patience_s)
        else:
            wanted["metadata"]["resourceVersion"] = history.version
            done = await api.replace(CONFIG, wanted, patience_s=patience_s)
    except Refused as refused:
        if refused.code == 409:
            raise Raced("somebody else changes the sizes of this cluster: try again") from None
        raise
    history.version = done["metadata"]["resourceVersion"]
    history.revisions = newest


def kept(revisions: Sequence[Revision]) -> list[Revision]:
    """The newest, and whatever they are that count or may be gone back to."""
    newest = {one.number for one in revisions[-KEPT:]}
    replaced = [one.number for one in revisions if one.state is State.REPLACED]
    newest |= set(replaced[-1:])
    return [
        one
        for one in revisions
        if one.number in newest or one.state in (State.CURRENT, State.TRIAL)
    ]


def plain_revision(one: Revision) -> dict[str, Any]:
    sizes = {"tiers": [asdict(tier) for tier in one.sizes.tiers], "quota": dict(one.sizes.quota)}
    rest = {"at": one.at, "stage": one.stage, "because": one.because}
    return {"number": one.number, "state": str(one.state), **rest, **sizes}


def revision_of(told: dict[str, Any]) -> Revision:
    sizes = Sizes(tiers=tuple(_tier(one) for one in told["tiers"]), quota=dict(told["quota"]))
    return Revision(
        number=int(told["number"]),
        sizes=sizes,
        state=State(told["state"]),
        at=str(told.get("at", "")),
        stage=int(told.get("stage", WHOLE)),
        because=str(told.get("because", "")),
    )


def _tier(told: dict[str, Any]) -> Tier:
    """What a later paddock may have said of it, and we do not know, is left out."""
    known = {one.name for one in fields(Tier)}
    return Tier(**{key: value for key, value in told.items() if key in known})


def plain_values(values: Values) -> dict[str, Any]:
    found = {one.name: getattr(values, one.name) for one in fields(Values)}
    found["tiers"] = [asdict(tier) for tier in values.tiers]
    for name in ("compute", "objects", "labels", "said"):
        found[name] = dict(found[name])
    return found


def values_of(told: dict[str, Any] | None) -> Values | None:
    if told is None:
        return None
    known = {one.name for one in fields(Values)}
    said = {key: value for key, value in told.items() if key in known}
    said["tiers"] = tuple(_tier(one) for one in said.get("tiers", ()))
    if "closed" in said:
        said["closed"] = tuple(said["closed"])
    return Values(**said)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
