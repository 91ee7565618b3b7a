"""What the driver asks of the API server, each so that asking twice is harmless."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal
from math import inf
from typing import Final

from paddock.cluster import labels as n
from paddock.cluster.client import (
    CLAIM,
    EVENT,
    JOB,
    POD,
    QUOTA,
    Api,
    ClusterTrouble,
    Kind,
    Object,
    Refused,
)
from paddock.cluster.quota import Line, lines_of
from paddock.drivers.kubernetes.life import Life
from paddock.drivers.kubernetes.lining import QUOTA_RETRY_S, Lining, Wish
from paddock.drivers.kubernetes.manifests import Names, asked_of_quota, claim_of, job_of
from paddock.drivers.kubernetes.reading import Ending, is_over
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.drivers.kubernetes.telling import Telling
from paddock.ports import Launch

PATIENCE_S: Final = 10.0  # then whoever waits is told why
QUOTA_FRESH_S: Final = 1.0
NO_POD_S: Final = 3.0  # then it is worth asking why there is none
EVENTS_S: Final = 10.0
GONE_LOOK_S: Final = 0.1
LONGEST_GONE_LOOK_S: Final = 5.0
# Many creations at once in a namespace with a quota: whoever could not write the quota's count is
# told of a conflict, though nothing of its own was there.
MOST_CONFLICTS: Final = 5
CONFLICT_S: Final = 0.1
KILL_GRACE_S: Final = 1  # with 0 the API forgets a pod that may still run

log = logging.getLogger("paddock.kubernetes")


class Deeds:
    def __init__(
        self, api: Api, settings: KubernetesSettings, names: Names, telling: Telling
    ) -> None:
        self._api, self._settings, self._names, self._telling = api, settings, names, telling
        self._quotas: tuple[float, list[Object]] | None = None
        self._counted: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
        self._looking = asyncio.Lock()
        self._lining = Lining()
        self._asked_at: dict[str, float] = {}

    # -- beginning ------------------------------------------------------------------------

    async def begin(self, life: Life, launch: Launch) -> None:
        """ClusterTrouble: nobody answered for a while; it may be asked again."""
        if life.is_killed():  # killed before anything of it was there
            self._telling.ended(life, Ending())
            return
        try:
            if self._settings.check_quota and await self._has_no_room(life, launch):
                return
            if self._settings.volumes:
                claim = claim_of(launch, self._names, self._settings)
                await self._create_once(CLAIM, claim)
            job = job_of(launch, self._names, self._settings)
            await self._create_once(JOB, job)
        except Refused as refused:
            self._refused(life, refused)
            return
        life.created = True
        if life.is_killed():
            await self.end(life)

    async def _has_no_room(self, life: Life, launch: Launch) -> bool:
        """Told, where it is so: it waits."""
        asked = asked_of_quota(launch, self._settings)
        name = self._settings.priority_classes.get(launch.priority)
        lines = await self._lines(name)
        wish = Wish(life.attempt.run, launch.priority, asked)
        short = self._lining.short(wish, lines, asyncio.get_running_loop().time())
        if short is not None:
            self._telling.put_off(life, short, retry_s=QUOTA_RETRY_S)
            self._quotas = None
            return True
        for line in lines:  # before it is asked for: others look meanwhile
            self._counted[line.quota, line.resource] += asked.get(line.resource, Decimal(0))
        return False

    async def _lines(self, priority_class: str | None) -> list[Line]:
        """Of the quotas that hold for the class, with what is in no status yet."""
        async with self._looking:  # one after the other: none undoes what another has counted
            now = asyncio.get_running_loop().time()
            if self._quotas is None or now - self._quotas[0] > QUOTA_FRESH_S:
                found, _ = await self._api.list(QUOTA, patience_s=PATIENCE_S)
                self._quotas = now, found
                self._counted.clear()
            lines, more = lines_of(self._quotas[1], priority_class), self._counted
        return [replace(one, used=one.used + more[one.quota, one.resource]) for one in lines]

    async def _create_once(self, kind: Kind, wanted: Object) -> None:
        """There already: it is ours, by its name. Unless it is about to go."""
        conflicts = 0
        while True:
            try:
                await self._api.create(kind, wanted, patience_s=PATIENCE_S)
            except Refused as refused:
                if refused.reason == "Conflict" and conflicts < MOST_CONFLICTS:
                    conflicts += 1
                    await asyncio.sleep(CONFLICT_S * conflicts)
                    continue
                if refused.reason != "AlreadyExists":
                    raise
                found = await self._found(kind, wanted["metadata"]["name"])
                if found is None or "deletionTimestamp" in found["metadata"]:
                    await asyncio.sleep(0.2)
                    continue
            return

    async def _found(self, kind: Kind, name: str) -> Object | None:
        try:
            return await self._api.get(kind, name, patience_s=PATIENCE_S)
        except Refused as refused:
            if refused.code != 404:
                raise
            return None

    def _refused(self, life: Life, refused: Refused) -> None:
        """Over a quota it waits: others were quicker. Anything else is refused for good."""
        if life.stop is not None:
            self._telling.ended(life, Ending())
        elif refused.over_quota or refused.reason == "Conflict":
            self._telling.put_off(life, _line(refused), retry_s=QUOTA_RETRY_S)
        else:
            permanent = refused.code in (400, 403, 422)
            self._telling.failed(
                life, f"the cluster refused it: {_line(refused)}", permanent=permanent
            )

    # -- while it does not run --------------------------------------------------------------

    async def look_after(self, life: Life) -> str | None:
        """Why it is to be given up, once it is."""
        now = asyncio.get_running_loop().time()
        if now - life.born_at > self._settings.start_s:
            why = life.because or "nobody says why"
            return f"it did not run within {self._settings.start_s:g} s ({why})"
        because = life.because or "its pod is being made"
        if life.pod is None and now - life.born_at > NO_POD_S:
            because = await self._why_no_pod(life, now) or because
        self._telling.takes_longer(life, because)
        return None

    async def give_up(self, life: Life, reason: str, *, permanent: bool) -> None:
        """Told when nothing of it is left and nothing can come: the next attempt has its volume."""
        if life.given_up is not None:
            return
        life.given_up, pause_s = (reason, permanent), GONE_LOOK_S
        while not (life.over or life.is_killed()):
            try:
                if await self._is_gone(life):
                    self._telling.failed(life, reason, permanent=permanent)
                    break
            except Refused as refused:
                log.warning("%s cannot be given up: %s", life.job, refused)
            self._telling.takes_longer(life, f"{reason}; it is waited for until it is gone")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_GONE_LOOK_S)
        if life.over:
            await self.remove_job(life)

    async def _is_gone(self, life: Life) -> bool:
        await self._suspend(life)
        pods, _ = await self._api.list(POD, labels={n.JOB_NAME: life.job})
        left = [pod for pod in pods if not is_over(pod)]
        for pod in left:
            if "deletionTimestamp" not in pod["metadata"]:
                await self._api.delete(POD, pod["metadata"]["name"], grace_s=KILL_GRACE_S)
        return not left

    async def _suspend(self, life: Life) -> None:
        """From then on no pod is made for it."""
        try:
            await self._api.patch(JOB, life.job, {"spec": {"suspend": True}})
        except Refused as refused:
            if refused.code != 404:
                raise

    async def _why_no_pod(self, life: Life, now: float) -> str | None:
        """The Job controller says so in an event: a quota, mostly. It goes on trying."""
        if now - self._asked_at.get(life.job, -EVENTS_S) < EVENTS_S:
            return None
        self._asked_at[life.job] = now
        fields = {"involvedObject.name": life.job, "reason": "FailedCreate"}
        try:
            found, _ = await self._api.list(EVENT, fields=fields, patience_s=PATIENCE_S)
        except (Refused, ClusterTrouble) as error:
            return str(error)
        said = [str(one.get("message", "")) for one in found]
        return (
            f"the cluster makes no pod for it yet: {' '.join(said[-1].split())}" if said else None
        )

    # -- ending ---------------------------------------------------------------------------

    async def ask(self, life: Life, what: str) -> None:
        """The kubelet shows it to the entry of the container, usually within seconds."""
        life.asks.add(what)
        if life.pod_name is None:
            return
        asked = {"metadata": {"annotations": {n.ASK: " ".join(sorted(life.asks))}}}
        try:
            await self._api.patch(POD, life.pod_name, asked, patience_s=60.0)
        except (Refused, ClusterTrouble) as error:
            log.warning("%s could not be asked for a %s: %s", life.job, what, error)

    async def end(self, life: Life, *, gently: bool = False) -> None:
        """For good: a suspended Job makes no pod, whatever it was about to do. Why is kept with it,
        for whoever comes after us."""
        if life.ending and not (life.stop is not None and life.termed):
            return
        life.ending = True
        try:
            await self._end(life, gently=gently and life.pod_name is not None)
        except Refused as refused:
            if refused.code != 404:
                log.error("%s cannot be ended: %s", life.job, refused)
            elif life.pod_name is None:
                self._telling.ended(life, Ending())
        finally:
            life.ending = False

    async def _end(self, life: Life, *, gently: bool) -> None:
        if gently:
            assert life.pod_name is not None
            grace_s = self._settings.term_grace_s
            await self._api.delete(POD, life.pod_name, grace_s=grace_s)
            return
        patch: dict[str, dict[str, object]] = {"spec": {"suspend": True}}
        if life.stop is not None:
            outcome = None if life.stop.outcome is None else str(life.stop.outcome)
            why = json.dumps({"outcome": outcome, "because": life.stop.because})
            patch["metadata"] = {"annotations": {n.STOP: why}}
        await self._api.patch(JOB, life.job, patch)
        pods, _ = await self._api.list(POD, labels={n.JOB_NAME: life.job})
        for pod in pods:
            await self._api.delete(POD, pod["metadata"]["name"], grace_s=KILL_GRACE_S)
        if not pods and life.pod_name is None:
            self._telling.ended(life, Ending())  # its program never ran

    async def remove_job(self, life: Life) -> None:
        self._asked_at.pop(life.job, None)
        await self._remove(life)

    async def _remove(self, life: Life) -> None:
        try:
            await self._api.delete(JOB, life.job, patience_s=600.0)
        except (Refused, ClusterTrouble) as error:  # its time to live ends it as well
            log.warning("%s could not be removed: %s", life.job, error)

    async def let_go(self, job: str, shown: dict[str, int], *, of: Object | None) -> None:
        """By its time to live, which ends it also when nobody is here any more."""
        shown_s = shown.pop(job)
        if of is not None and of["spec"].get("ttlSecondsAfterFinished", inf) <= shown_s:
            return
        patch = {"spec": {"ttlSecondsAfterFinished": shown_s}}
        try:
            await self._api.patch(JOB, job, patch, patience_s=600.0)
        except (Refused, ClusterTrouble) as error:
            if not (isinstance(error, Refused) and error.code == 404):
                log.warning("%s is kept for longer: %s", job, error)

    async def tidy_up(self, succeeded: Callable[[str], Awaitable[bool]]) -> None:
        labels = {n.INSTANCE: self._names.instance}
        try:
            found, _ = await self._api.list(CLAIM, labels=labels, patience_s=600.0)
        except (Refused, ClusterTrouble) as error:
            log.warning("volumes that nobody needs are not looked for: %s", error)
            return
        for one in found:
            run = one["metadata"].get("annotations", {}).get(n.RUN)
            going = "deletionTimestamp" in one["metadata"]
            if run is not None and not going and await succeeded(run):
                await self.remove_volume(run)

    async def remove_volume(self, run: str) -> None:
        try:
            await self._api.delete(CLAIM, self._names.volume(run), patience_s=600.0)
        except (Refused, ClusterTrouble) as error:
            log.warning("the volume of %s could not be removed: %s", run, error)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
