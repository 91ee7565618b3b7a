"""The controller: leads or waits; while it leads, AgentRuns come in and their state goes out.

What it does between two of its own lives, or those of another replica, is in no memory but the
API server's: every run's record, and the Jobs by their names.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from paddock.cluster.client import AGENT_RUN, QUOTA, Api
from paddock.cluster.labels import digest
from paddock.cluster.room import Room, cluster_policy
from paddock.cluster.watching import Watch
from paddock.controller.intake import Intake
from paddock.controller.leading import Leadership, Terms
from paddock.controller.observing import Observing
from paddock.controller.requests import DRIVER, Reader
from paddock.core.policy import Policy
from paddock.core.run import Attempt, Ended, Outcome
from paddock.drivers.kubernetes.driver import KubernetesDriver
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.storage.agent_runs import PATIENCE_S, AgentRunStore
from paddock.supervisor.eyes import Eyes
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.recovery import has_succeeded, inherit, recover
from paddock.supervisor.thoughts import Parting

EXPLAIN_S: Final = 5.0

log = logging.getLogger("paddock.controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    kubernetes: KubernetesSettings
    identity: str
    terms: Terms = field(default_factory=Terms)
    policy: Policy = field(default_factory=cluster_policy)
    tick_s: float = 1.0
    explain_s: float = EXPLAIN_S
    patience_s: float = PATIENCE_S  # with an API that does not answer; then the log says so


class Controller:
    """One replica. `run` returns when it has led and may not any more."""

    def __init__(
        self, api: Api, settings: ControllerSettings, reader: Reader | None = None
    ) -> None:
        self._api, self._settings = api, settings
        self._reader = reader or Reader(settings.kubernetes.tiers)
        self._leadership = Leadership(api, settings.identity, settings.terms)
        self.supervisor: Supervisor | None = None  # while it leads
        self.term = 0
        self.ready = asyncio.Event()  # leads, and has found what was left
        self._observing = Observing()

    def metrics(self) -> bytes:
        """As Prometheus reads them, whether it leads or not."""
        return self._observing.page(leads=self.ready.is_set())

    async def run(self) -> None:
        self.term = await self._leadership.win()
        over = asyncio.Event()
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(_working(self._keep(over), over))
            leading = asyncio.ensure_future(self._lead(stack, over))
            lost = asyncio.ensure_future(over.wait())
            try:
                await asyncio.wait({leading, lost}, return_when=asyncio.FIRST_COMPLETED)
                if leading.done():
                    leading.result()
            finally:  # also where we are cancelled: else they would lead on, unheard
                leading.cancel()
                lost.cancel()
                await asyncio.gather(leading, lost, return_exceptions=True)
                self.ready.clear()
                self.supervisor = None
                self._observing.rest()

    async def _keep(self, over: asyncio.Event) -> None:
        try:
            await self._leadership.keep()
        finally:
            over.set()

    async def stop(self) -> None:
        """After `run` was cancelled: the next one need not wait for the lease to end."""
        await self._leadership.give_up()

    # -- leading --------------------------------------------------------------------------

    async def _lead(self, stack: contextlib.AsyncExitStack, over: asyncio.Event) -> None:
        namespace = self._api.namespace
        known = replace(self._settings.kubernetes, keep_jobs=True, gauge_s=1e9)
        driver = KubernetesDriver(
            self._api, known, instance=digest(f"controller/{namespace}/{AGENT_RUN.group}")
        )
        patience_s = self._settings.patience_s
        store = AgentRunStore(self._api, term=self.term, deposed=over.set, patience_s=patience_s)
        intake = Intake(self._reader, store)
        stack.push_async_callback(intake.close)
        quotas = Watch(self._api, QUOTA, lambda _what, _one: None)
        runs = Watch(self._api, AGENT_RUN, intake.hear)
        self._observing.quotas = quotas.known.values
        await quotas.begin()
        await runs.begin()
        await driver.connect(patience_s=None)
        stack.push_async_callback(driver.close)
        supervisor = await self._supervisor(stack, store, intake, driver)
        intake.serve(supervisor)
        classes = known.priority_classes.values()
        room = Room(quotas.known.values, driver.pods, classes=classes, tiers=known.tiers)
        eyes = Eyes(supervisor, room, tick_s=self._settings.tick_s)
        eyes.look()
        works = (quotas.follow(), runs.follow(), eyes.watch(), self._explain(intake, quotas))
        for work in works:
            await stack.enter_async_context(_working(work, over))
        self.supervisor = supervisor
        self.ready.set()
        await supervisor.broken

    async def _supervisor(
        self,
        stack: contextlib.AsyncExitStack,
        store: AgentRunStore,
        intake: Intake,
        driver: KubernetesDriver,
    ) -> Supervisor:
        """What an earlier leader left is taken up before anything new is."""
        found = intake.known()
        intake.fresh = store.take_up(found, intake.recipes(found))
        inherited = inherit(store, self._settings.policy)
        supervisor = Supervisor(inherited.fleet, store, inherited.clock, {DRIVER: driver}, DRIVER)
        self._observing.lead(supervisor, store)
        stack.push_async_callback(supervisor.close)
        stack.push_async_callback(store.halt)
        await stack.enter_async_context(_working(supervisor.write()))
        supervisor.on_parting.append(lambda parting: _part(driver, parting))
        driver.wants = lambda attempt: _is_live(supervisor, attempt)
        supervisor.begin(self.term)
        await recover(supervisor, inherited)
        driver.tidy_up(partial(has_succeeded, supervisor))
        return supervisor

    async def _explain(self, intake: Intake, quotas: Watch) -> None:
        """Why runs wait, for who looks at them with kubectl: each seldom, and not those that wait
        for a moment only."""
        while True:
            await asyncio.sleep(self._settings.explain_s)
            await intake.explain(quotas.known.values(), self._settings.kubernetes)


def _part(driver: KubernetesDriver, parting: Parting) -> None:
    state = parting.run.state
    succeeded = isinstance(state, Ended) and state.outcome is Outcome.SUCCEEDED
    driver.part(parting.run.id, succeeded=succeeded, attempts=parting.run.attempts)


def _is_live(supervisor: Supervisor, attempt: Attempt) -> bool:
    run = supervisor.fleet.runs.get(attempt.run)
    return run is not None and run.live and run.attempt == attempt


@contextlib.asynccontextmanager
async def _working(work: Coroutine[Any, Any, None], over: asyncio.Event | None = None) -> Any:
    """`over` is set when it ends: then nobody can lead without it."""
    task = asyncio.get_running_loop().create_task(work)

    def ended(done: asyncio.Task[None]) -> None:
        if over is not None:
            over.set()
        if not done.cancelled() and (error := done.exception()) is not None:
            log.error("a task of the controller failed", exc_info=error)

    task.add_done_callback(ended)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task
