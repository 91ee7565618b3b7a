"""A change of sizes, stage by stage, watched, and taken back by itself where agents suffer (K8S-6).

Where it stands is in the cluster (`revisions`): whoever is cut off goes on from there, and a stage
that nobody goes on with stays as it is, which is safe.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from paddock.cluster.client import DEPLOYMENT, POD, Api, Object
from paddock.cluster.labels import AGENT
from paddock.cluster.watching import Watch

from . import revisions
from .applying import Applier, Deed, Did
from .objects import CONTROLLER
from .rendering import all_of, render
from .revisions import History, Revision
from .sightings import Sightings
from .sizes import WHOLE, Sizes, between, changed, same, sizes_of, with_sizes
from .values import Values

STAGES: Final = (10, 50, WHOLE)
# Which objects say sizes; the Deployment, because controllers start anew when theirs change.
OF_SIZES: Final = ("ResourceQuota", "LimitRange", "ConfigMap", "Deployment")
PATIENCE_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    stages: tuple[int, ...] = STAGES  # in percent, rising, the last is 100
    watch_s: float = 600.0  # at each stage
    tolerated: float = 0.05  # this share of agents may be hurt
    no_place_s: float = 120.0  # longer without a node is hurt
    ready_s: float = 300.0  # until controllers have the new sizes
    look_s: float = 1.0


@dataclass(frozen=True, slots=True)
class News:
    """One line for people; `deed` where an object was changed for it."""

    text: str
    deed: Deed | None = None


class TakenBack(Exception):
    """The change was; why."""


class Failed(Exception):
    """Objects were refused, or controllers do not come up; nothing more was tried."""


class Rollout:
    def __init__(self, api: Api, applier: Applier, values: Values, *, pace: Pace) -> None:
        """`values`: with the sizes that are wanted."""
        self._api, self._applier, self._values, self._pace = api, applier, values, pace

    async def run(self, history: History) -> AsyncIterator[News]:
        """From where it stands to the end. TakenBack: the sizes of before are in force again."""
        old, new = history.current, sizes_of(self._values)
        assert old is not None
        trial = history.trial
        if trial is None or not same(trial.sizes, new):
            trial = history.begin(new, self._pace.stages[0])
        elif trial.stage > self._pace.stages[0]:
            yield News(f"goes on at {trial.stage} %")
        for stage in [each for each in self._pace.stages if each >= trial.stage]:
            history.reach(trial.number, stage)
            await self._write(history)
            try:
                async for news in self._stage(old.sizes, new, stage):
                    yield news
            except (TakenBack, Failed) as trouble:
                async for news in self._back(history, trial, old, str(trouble)):
                    yield news
                raise TakenBack(str(trouble)) from None
        history.settle(trial.number)
        await self._write(history)

    async def _stage(self, old: Sizes, new: Sizes, stage: int) -> AsyncIterator[News]:
        yield News(f"{stage} %: {_about(stage)}")
        async for news in self._apply(between(old, new, stage)):
            yield news
        since = datetime.now(UTC)
        await self._controllers_ready()
        tiers = [replace(tier, share=WHOLE) for tier in changed(old, new)]
        seen = Sightings(
            tiers, since=since.replace(microsecond=0), no_place_s=self._pace.no_place_s
        )
        await self._watch(seen)
        yield News(f"{stage} %: watched for {self._pace.watch_s:g} s: {_seen(seen)}")

    async def _apply(self, sizes: Sizes) -> AsyncIterator[News]:
        async for deed in apply_sizes(self._applier, with_sizes(self._values, sizes)):
            if deed.did is Did.REFUSED:
                raise Failed(f"{deed.where} was refused: {deed.what}")
            if deed.did is not Did.UNCHANGED:
                yield News(f"{deed.where}: {deed.did}", deed)

    async def _back(
        self, history: History, trial: Revision, old: Revision, because: str
    ) -> AsyncIterator[News]:
        """What is remembered comes last: cut off here, the trial is still known as one."""
        yield News(f"taken back to revision {old.number}: {because}")
        async for deed in apply_sizes(self._applier, with_sizes(self._values, old.sizes)):
            if deed.did is Did.REFUSED:
                raise Failed(
                    f"{because}; and it could not be taken back: {deed.where}: {deed.what}"
                )
            if deed.did is not Did.UNCHANGED:
                yield News(f"{deed.where}: {deed.did}", deed)
        history.take_back(trial.number, because)
        await self._write(history)

    async def _write(self, history: History) -> None:
        await revisions.write(self._api, self._values.namespace, history, patience_s=PATIENCE_S)

    # -- watching -------------------------------------------------------------------------

    async def _watch(self, seen: Sightings) -> None:
        """For its time; TakenBack as soon as it is clear."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._pace.watch_s
        watch = Watch(self._api, POD, seen.hear, labels={AGENT: "true"})
        await watch.begin(patience_s=PATIENCE_S)
        following = asyncio.ensure_future(watch.follow())
        try:
            while True:
                await asyncio.sleep(min(self._pace.look_s, max(0.0, until - loop.time())))
                seen.look(list(watch.known.values()), datetime.now(UTC))
                verdict = seen.verdict(self._pace.tolerated)
                if verdict is not None:
                    raise TakenBack(verdict)
                if loop.time() >= until:
                    return
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following

    async def _controllers_ready(self) -> None:
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + self._pace.ready_s
        while True:
            found = await find_controllers(self._api, self._values.namespace)
            if found is None or is_ready(found):
                return
            if loop.time() > give_up_at:
                said = f"controllers were not ready within {self._pace.ready_s:g} s"
                raise Failed(f"{said} ({_counts(found)})")
            await asyncio.sleep(self._pace.look_s)


async def apply_sizes(applier: Applier, values: Values) -> AsyncIterator[Deed]:
    """Only what says sizes: everything else of a cluster is left as it is."""
    wanted = [one for one in all_of(render(values)) if says_sizes(one)]
    async for deed in applier.apply(wanted):
        yield deed


def says_sizes(one: Object) -> bool:
    if one["kind"] == "ConfigMap":
        return bool(one["metadata"]["name"] == CONTROLLER)
    return one["kind"] in OF_SIZES


async def find_controllers(api: Api, namespace: str) -> Object | None:
    return await api.find(DEPLOYMENT, CONTROLLER, namespace=namespace, patience_s=PATIENCE_S)


def is_ready(deployment: Object) -> bool:
    """All of them have the newest template, and serve."""
    status: dict[str, Any] = deployment.get("status") or {}
    wanted = deployment["spec"].get("replicas", 1)
    counts = [status.get(f"{name}Replicas", 0) for name in ("updated", "available")]
    seen = bool(status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 1))
    return bool(seen and counts == [wanted, wanted] and status.get("replicas", 0) == wanted)


def _counts(deployment: Object) -> str:
    status: dict[str, Any] = deployment.get("status") or {}
    return (
        f"{status.get('availableReplicas', 0)} of {deployment['spec'].get('replicas', 1)} serve, "
        f"{status.get('updatedReplicas', 0)} with the new sizes"
    )


def _seen(seen: Sightings) -> str:
    count = len(seen.trial.seen)
    if not count:
        return "nobody began with the new sizes, so nothing is known of them"
    return f"{count} began with the new sizes and fared no worse"


def _about(stage: int) -> str:
    return "everybody" if stage >= WHOLE else "so many of new runs, and of what quotas change by"
