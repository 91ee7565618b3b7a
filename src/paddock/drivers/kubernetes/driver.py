"""Attempts as Jobs: made by the API server, run by nodes, heard of by two watches.

Nothing here waits but `connect`: what the API is asked for runs in tasks, and is asked again while
nobody answers. What a Job carries is all that another daemon needs to go on with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final

from paddock.cluster import labels as n
from paddock.cluster.client import JOB, POD, Api, ClusterTrouble, Object, Refused
from paddock.cluster.tiers import Tier
from paddock.cluster.watching import Watch
from paddock.core.run import Attempt, Outcome
from paddock.drivers.attempts import unsafe
from paddock.drivers.kubernetes.deeds import Deeds
from paddock.drivers.kubernetes.gauging import Gauge
from paddock.drivers.kubernetes.life import Life, Tell
from paddock.drivers.kubernetes.manifests import Names
from paddock.drivers.kubernetes.reading import ending_of_job
from paddock.drivers.kubernetes.seeing import Seeing
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.drivers.kubernetes.telling import Telling
from paddock.ports import Guarantees, Launch, Stop

CONNECT_S: Final = 10.0
# A suspended Job neither ends nor makes a pod: nobody would ever tell of it.
SUSPENDED: Final = "its Job was suspended before it ran, by a daemon before this one or by somebody"

Write = Callable[[Attempt, bytes], None]

log = logging.getLogger("paddock.kubernetes")


class DriverTrouble(Exception):
    """The driver cannot be used, and why."""


class KubernetesDriver:
    """First `connect`, in the event loop; then `adopt`, then the rest of `ports.Driver`."""

    def __init__(  # noqa: PLR0913 - each by name
        self,
        api: Api,
        settings: KubernetesSettings,
        *,
        instance: str,
        write: Write | None = None,
        expect: Callable[[Launch], object] = lambda _: None,
        written: Callable[[Attempt], int] = lambda _: 0,
    ) -> None:
        """`write` takes what agents write; without it output stays in the cluster. `written`: so
        many bytes of an attempt's are kept already."""
        self.api, self.settings = api, settings
        self._expect, self._written = expect, written
        self._names = Names(instance)
        self.wants: Callable[[Attempt], bool] = lambda _: True  # of those that have ended
        self._lives: dict[Attempt, Life] = {}
        self._by_job: dict[str, Life] = {}
        self._shown: dict[str, int] = {}  # Jobs that are about to be let go, and after how long
        self._tasks: set[asyncio.Task[None]] = set()
        self._telling = Telling(over=self._over)
        labels = {n.INSTANCE: instance}
        self._jobs = Watch(api, JOB, self._hear_job, labels=labels)
        self._pods = Watch(api, POD, self._hear_pod, labels=labels)
        self._deeds = Deeds(api, settings, self._names, self._telling)
        self._seeing = Seeing(
            api, self._telling, self._deeds, jobs=self._jobs, do=self._do, write=write
        )
        self._gauge = Gauge(api, labels, self._lives, every_s=settings.gauge_s)

    async def connect(self, *, patience_s: float | None = CONNECT_S) -> None:
        """DriverTrouble: in one line why not."""
        try:
            await self._jobs.begin(patience_s=patience_s)
            await self._pods.begin(patience_s=patience_s)
        except (Refused, ClusterTrouble) as error:
            text = " ".join(str(error).split())
            namespace = self.api.namespace
            raise DriverTrouble(f"{text} (namespace {namespace} of {self.api.server})") from None
        watching = (self._jobs.follow(), self._pods.follow(), self._gauge.look())
        for work in (*watching, self._attend()):
            self._do(work)

    async def close(self) -> None:
        """Agents go on: the cluster needs nobody here."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._lives.clear()
        self._by_job.clear()

    @property
    def is_broken(self) -> bool:
        """Whether a watch broke off and nothing was heard since: the cluster may be silent."""
        return self._jobs.is_broken or self._pods.is_broken

    def pods(self) -> Iterable[Object]:
        """As last seen, also those that are over."""
        return self._pods.known.values()

    async def settled(self) -> None:
        """Until nothing that was asked of the API is under way; the watches go on."""
        while any(life.ending or not (life.created or life.over) for life in self._lives.values()):
            await asyncio.sleep(0.01)

    @property
    def guarantees(self) -> Guarantees:
        return Guarantees(
            name="kubernetes",
            hard_memory_wall=True,
            kills_whole_tree=True,
            can_freeze=False,
            survives_daemon=True,
            ends_strays=True,
            away=True,
        )

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """One's own, before those that are built in."""
        return self.settings.tiers

    # -- beginning ------------------------------------------------------------------------

    def start(self, launch: Launch, tell: Tell) -> None:
        attempt = launch.attempt
        if attempt in self._lives:
            return  # asked twice: it is, or was, under way
        life = Life(attempt, self._names.job(attempt), self._names.mark(attempt), tell)
        life.limit_bytes = launch.limit_bytes
        life.born_at = asyncio.get_running_loop().time()
        self._remember(life)
        self._expect(launch)
        self._do(self._begin(life, launch))

    async def _begin(self, life: Life, launch: Launch) -> None:
        problem = unsafe(launch.attempt.run)
        if not self.settings.image:
            problem = "no image is named: set kubernetes.image to one that has the agent's program"
        if problem is not None:
            self._telling.failed(life, problem, permanent=True)
            return
        while not life.over:
            try:
                await self._deeds.begin(life, launch)
                break
            except ClusterTrouble as trouble:
                self._telling.takes_longer(life, str(trouble))
        if life.attempt not in self._lives:  # it ended before the answer to its beginning came
            self._clear_away(life)

    async def _attend(self) -> None:
        """Those that do not run yet: why, and whether they are to be given up."""
        while True:
            await asyncio.sleep(1.0)
            for life in list(self._lives.values()):
                waits = life.created and not (life.started or life.over or life.stop)
                if waits and life.given_up is None:
                    reason = await self._deeds.look_after(life)
                    if reason is not None:
                        self._do(self._deeds.give_up(life, reason, permanent=False))

    # -- stopping -------------------------------------------------------------------------

    def warn(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is not None:
            self._do(self._deeds.ask(life, "soft-timeout"))

    def ask_checkpoint(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is None:
            return
        if not life.started:  # nothing to keep
            asyncio.get_running_loop().call_soon(self._telling.said, life, "declined")
            return
        self._seeing.listen(life)
        self._do(self._deeds.ask(life, "checkpoint"))

    def terminate(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is not None:
            life.termed = True
            self._do(self._deeds.end(life, gently=True))

    def kill(self, attempt: Attempt, why: Stop) -> None:
        life = self._lives.get(attempt)
        if life is None or life.over:
            return
        life.stop = why
        if life.created:  # else `begin` sees it
            self._do(self._deeds.end(life))

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> None:
        """Nobody can, in a cluster; the guarantees say so."""

    def thaw(self, attempt: Attempt) -> None: ...

    def used_bytes(self) -> Mapping[Attempt, int]:
        return {
            attempt: life.used_bytes
            for attempt, life in self._lives.items()
            if life.started and not life.over
        }

    def cpu_limits(self) -> Mapping[Attempt, float]:
        """The cluster tells them itself: `kube_pod_container_resource_limits`."""
        return {}

    def cpu_s(self) -> Mapping[Attempt, float]:
        """A metrics server tells a rate: the sum is of what it told at each look."""
        return {
            attempt: life.cpu_s
            for attempt, life in self._lives.items()
            if life.started and not life.over
        }

    # -- hearing --------------------------------------------------------------------------

    def _hear_job(self, what: str, job: Object) -> None:
        life = self._by_job.get(job["metadata"]["name"])
        if life is not None and not life.over:
            self._seeing.job(life, what, job)

    def _hear_pod(self, what: str, pod: Object) -> None:
        name = pod["metadata"].get("labels", {}).get(n.JOB_NAME, "")
        life = self._by_job.get(name)
        if life is not None and not life.over:
            self._seeing.pod(life, what, pod)

    # -- after another daemon -------------------------------------------------------------

    def adopt(self, tell: Tell) -> frozenset[Attempt]:
        """Told from the next turn of the loop on: first `StopFound`, then how it ended."""
        pods = {
            pod["metadata"].get("labels", {}).get(n.JOB_NAME, ""): pod
            for pod in self._pods.known.values()
        }
        loop = asyncio.get_running_loop()
        for name, job in self._jobs.known.items():
            attempt = attempt_in(job)
            if attempt is None or attempt in self._lives:
                continue
            if ending_of_job(job) is not None and not self.wants(attempt):
                self._let_go(name, self.settings.shown_s)  # kept for people to look at
                continue
            life = Life(attempt, name, self._names.mark(attempt), tell, created=True)
            notes = job["metadata"].get("annotations", {})
            life.limit_bytes = int(notes.get(n.LIMIT, "0"))
            life.born_at = loop.time()
            life.skip, life.stop = self._written(attempt), stop_in(notes.get(n.STOP))
            self._remember(life)
            loop.call_soon(self._take_up, life, job, pods.get(name))
        return frozenset(self._lives)

    def _take_up(self, life: Life, job: Object, pod: Object | None) -> None:
        self._telling.stop_found(life)
        if pod is not None:
            self._seeing.pod(life, "ADDED", pod)
        if not life.over:
            self._seeing.job(life, "ADDED", job)
        if life.over:
            return
        if life.stop is not None:
            self._do(self._deeds.end(life))
        elif job["spec"].get("suspend") and pod is None and not life.settling:
            self._do(self._deeds.give_up(life, SUSPENDED, permanent=False))

    # -- forgetting -----------------------------------------------------------------------

    def forget(self, attempt: Attempt) -> None:
        life = self._lives.get(attempt)
        if life is not None:
            life.forgotten = True
            if life.over:
                self._clear_away(life)

    def part(self, run: str, *, succeeded: bool, attempts: int = 0) -> None:
        """The run has ended: its volume is not needed any more, unless somebody may want to look at
        it or to try again. Jobs that are kept would hold it: they go soon."""
        if not succeeded:
            return
        for number in range(1, attempts + 1):
            name = self._names.job(Attempt(run, number))
            if name in self._jobs.known:
                self._let_go(name, self.settings.shown_of_success_s)
        if self.settings.volumes:
            self._do(self._deeds.remove_volume(run))

    def tidy_up(self, succeeded: Callable[[str], Awaitable[bool]]) -> None:
        """Volumes of runs whose success was remembered by one who died before they were removed."""
        if self.settings.volumes:
            self._do(self._deeds.tidy_up(succeeded))

    def _over(self, life: Life) -> None:
        life.used_bytes = 0
        if life.listening is not None and not life.settling:
            life.listening.cancel()
        if life.forgotten:
            self._clear_away(life)

    def _clear_away(self, life: Life) -> None:
        self._lives.pop(life.attempt, None)
        self._by_job.pop(life.job, None)
        if not life.created:
            return
        if self.settings.keep_jobs:
            self._let_go(life.job, self.settings.shown_s)
        else:
            self._do(self._deeds.remove_job(life))

    def _let_go(self, job: str, shown_s: int) -> None:
        """Its end is remembered: it need not be kept until somebody comes. Said once, by the
        shortest that was said in one turn of the loop."""
        if not self.settings.keep_jobs:
            return
        is_told = job in self._shown
        self._shown[job] = min(shown_s, self._shown.get(job, shown_s))
        if not is_told:
            self._do(self._deeds.let_go(job, self._shown, of=self._jobs.known.get(job)))

    # -- inside ---------------------------------------------------------------------------

    def _remember(self, life: Life) -> None:
        self._lives[life.attempt] = self._by_job[life.job] = life

    def _alive(self, attempt: Attempt) -> Life | None:
        life = self._lives.get(attempt)
        return None if life is None or life.over else life

    def _do(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task of the driver failed", exc_info=error)


def attempt_in(job: Object) -> Attempt | None:
    meta = job["metadata"]
    run = meta.get("annotations", {}).get(n.RUN)
    number = meta.get("labels", {}).get(n.ATTEMPT, "")
    return Attempt(run, int(number)) if run and number.isdigit() else None


def stop_in(text: str | None) -> Stop | None:
    if not text:
        return None
    with contextlib.suppress(ValueError, KeyError, TypeError):
        known = json.loads(text)
        outcome = known.get("outcome")
        return Stop(Outcome(outcome) if outcome else None, str(known.get("because", "")))
    return None
