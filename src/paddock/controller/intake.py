"""AgentRuns as they come, change and go: each is submitted once, when all it needs is there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final

from paddock.cluster.client import Object, Refused
from paddock.cluster.quota import lines_of, never_fits, short_of
from paddock.cluster.watching import DELETED
from paddock.controller.requests import Asked, BadRun, Reader, id_of, needs_of
from paddock.core.actions import Refuse
from paddock.core.events import CancelRequested, PriorityChanged, Submitted
from paddock.core.explain import waiting
from paddock.core.run import Attempt, Outcome, Priority, Queued, Run
from paddock.drivers.kubernetes.manifests import asked_of_quota
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.ports import Launch, Recipe
from paddock.storage.agent_runs import AgentRunStore
from paddock.storage.errors import StoreError
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.trouble import StoreTrouble

WAITED_S: Final = 5.0  # before somebody is told why
TELL_AGAIN_S: Final = 300.0
AT_ONCE: Final = 100  # told in one round

log = logging.getLogger("paddock.controller")


class Intake:
    def __init__(self, reader: Reader, store: AgentRunStore) -> None:
        self._reader, self._store = reader, store
        self._objects: dict[str, Object] = {}  # by name
        self._supervisor: Supervisor | None = None
        self._waiting: dict[str, None] = {}  # names of those that need one that is not there
        self._told_at: dict[str, float] = {}
        self._refused: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.fresh: list[str] = []  # ids that no leader has remembered

    def known(self) -> dict[str, Object]:
        return {id_of(one): one for one in self._objects.values()}

    def recipes(self, found: Mapping[str, Object]) -> dict[str, Recipe]:
        """Of all that can be read: what cannot has ended, or is told so when it is to start."""
        recipes = {}
        for run, one in found.items():
            if one.get("status", {}).get("state") == "ended":
                continue
            try:
                recipes[run] = self._read(one).recipe
            except (BadRun, KeyError) as error:
                log.warning("AgentRun %s: %s", one["metadata"]["name"], error)
        return recipes

    def serve(self, supervisor: Supervisor) -> None:
        """From now on what is heard is done; first what was heard before."""
        self._supervisor = supervisor
        self._store.unwritable = self._give_up
        fresh = set(self.fresh)
        for one in list(self._objects.values()):
            if id_of(one) in fresh:
                self._take(one)
            else:
                self._changed(one)
        for run in list(supervisor.fleet.runs):  # deleted while nobody led
            if run not in self._store.names:
                supervisor.post(CancelRequested(0.0, run, force=True))

    async def close(self) -> None:
        """It leads no more: nothing is said any more, also nothing that was being said."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _give_up(self, run: str, why: str) -> None:
        """What cannot be kept ends: the next leader would know nothing of it."""
        if self._supervisor is not None and run not in self._refused:
            self._refused.add(run)
            self._supervisor.post(CancelRequested(0.0, run, force=True, refused=why))

    # -- what the watch tells -----------------------------------------------------------------

    def hear(self, what: str, one: Object) -> None:
        name = one["metadata"]["name"]
        before = self._objects.get(name)
        if what == DELETED:
            self._objects.pop(name, None)
            self._gone(one)
            return
        self._objects[name] = one
        if self._supervisor is None:
            return
        if before is not None and id_of(before) != id_of(one):
            self._gone(before)
        if id_of(one) in self._supervisor.fleet.runs:
            self._changed(one)
        elif one.get("status", {}).get("record") is None:
            self._take(one)

    def _gone(self, one: Object) -> None:
        run = id_of(one)
        self._waiting.pop(one["metadata"]["name"], None)
        self._told_at.pop(run, None)
        self._store.names.pop(run, None)
        if self._supervisor is not None and run in self._supervisor.fleet.runs:
            self._supervisor.post(CancelRequested(0.0, run, force=True))

    def _changed(self, one: Object) -> None:
        assert self._supervisor is not None
        run = self._supervisor.fleet.runs.get(id_of(one))
        if run is None:
            return
        spec = one.get("spec", {})
        if spec.get("cancel"):
            self._supervisor.post(CancelRequested(0.0, run.id))
        priority = Priority[spec.get("priority", "normal").upper()]
        if priority is not run.spec.priority and run.priority is not priority:
            self._supervisor.post(PriorityChanged(0.0, run.id, priority))

    # -- taking -------------------------------------------------------------------------------

    def _take(self, one: Object) -> None:
        assert self._supervisor is not None
        name, run = one["metadata"]["name"], id_of(one)
        if run in self._supervisor.fleet.runs or run in self._refused:
            return
        if one.get("spec", {}).get("cancel"):
            self._refuse(one, "it was cancelled before it was taken", Outcome.CANCELLED)
            return
        missing = [need for need in needs_of(one) if not self._is_taken(need)]
        if missing:
            self._waiting[name] = None
            self._do(self._tell(one, f"waits for AgentRun {missing[0]}, which is not there yet"))
            return
        try:
            asked = self._read(one)
        except BadRun as error:
            self._refuse(one, str(error), Outcome.REFUSED)
            return
        self._submit(one, asked)

    def _submit(self, one: Object, asked: Asked) -> None:
        assert self._supervisor is not None
        run, name = asked.spec.id, one["metadata"]["name"]
        self._waiting.pop(name, None)
        self._store.names[run] = name
        try:
            answer = self._supervisor.ask(
                lambda now: Submitted(now, (asked.spec,)), recipes={run: asked.recipe}
            )
        except StoreTrouble as error:  # likewise
            log.warning("AgentRun %s: %s", name, error)
            return
        self._do(self._hear_answer(one, answer))
        for other in list(self._waiting):
            if name in needs_of(self._objects.get(other, {"metadata": {}})):
                self._take(self._objects[other])

    async def _hear_answer(self, one: Object, answer: asyncio.Future[Sequence[Refuse]]) -> None:
        try:
            refused = await answer
        except (StoreError, StoreTrouble) as error:  # it leads no more: the next one takes it
            log.warning("AgentRun %s: %s", one["metadata"]["name"], error)
            return
        for each in refused:
            self._refuse(one, each.because, Outcome.REFUSED)

    def _is_taken(self, name: str) -> bool:
        assert self._supervisor is not None
        one = self._objects.get(name)
        return one is not None and id_of(one) in self._supervisor.fleet.runs

    def _read(self, one: Object) -> Asked:
        ids = {need: id_of(self._objects[need]) for need in needs_of(one) if need in self._objects}
        missing = [need for need in needs_of(one) if need not in ids]
        if missing:
            raise BadRun(f"it needs AgentRun {missing[0]}, which is not there any more")
        return self._reader.read(one, ids)

    def _refuse(self, one: Object, because: str, outcome: Outcome) -> None:
        self._refused.add(id_of(one))
        self._do(self._store.refuse(one["metadata"]["name"], because, str(outcome)))

    # -- telling ------------------------------------------------------------------------------

    async def _tell(self, one: Object, because: str) -> None:
        run = id_of(one)
        self._store.names.setdefault(run, one["metadata"]["name"])
        await self._store.tell(run, because)

    async def explain(self, quotas: Iterable[Object], settings: KubernetesSettings) -> None:
        if self._supervisor is None:
            return
        fleet, now = self._supervisor.fleet, asyncio.get_running_loop().time()
        due: list[str] = []
        for run in fleet.runs.values():
            if isinstance(run.state, Queued) and fleet.now - run.state.since_at > WAITED_S:
                told_at = self._told_at.get(run.id)
                if told_at is None or now - told_at > TELL_AGAIN_S:
                    due.append(run.id)
        quotas = list(quotas)
        for each in due[:AT_ONCE]:
            found = fleet.runs.get(each)
            if found is None or not isinstance(found.state, Queued):
                continue  # it was started while the others were told
            self._told_at[each] = now
            try:
                await self._store.tell(each, self._why(found, quotas, settings))
            except (StoreError, Refused, BadRun) as error:
                log.info("nobody was told why %s waits: %s", each, error)

    def _why(self, run: Run, quotas: list[Object], settings: KubernetesSettings) -> str:
        assert self._supervisor is not None and isinstance(run.state, Queued)
        fleet, name = self._supervisor.fleet, self._store.names.get(run.id, "")
        one = self._objects.get(name)
        if one is not None and run.state.ready:
            launch = _launch(run, self._read(one).recipe)
            lines = lines_of(quotas, settings.priority_classes.get(run.priority))
            asked = asked_of_quota(launch, settings)
            short = never_fits(asked, lines) or short_of(asked, lines)
            if short is not None:
                place = fleet.queue.place(run.id, ageing_s=fleet.policy.ageing_s)
                return f"at place {place} in the queue: {short}"
        return waiting(fleet, run).sentence

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("%s", error)


def _launch(run: Run, recipe: Recipe) -> Launch:
    """As far as a quota sees it."""
    return Launch(
        attempt=Attempt(run.id, run.attempts + 1),
        command=recipe.command,
        environment={},
        directory=recipe.directory,
        limit_bytes=run.limit_bytes,
        labels=recipe.labels,
        priority=run.priority,
    )
