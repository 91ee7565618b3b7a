"""The fleet in the API server: each run's record is in the status of its AgentRun.

What must survive a leader is where every run stands, and that is written before it is acted on.
What may be learned again (groups, breakers, stories) lives as long as the leader does.
There is no transaction over two objects: what ends a run is written after what that sets free, so
that whoever reads half of it finds nothing that waits for an end that was told already.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from datetime import UTC, datetime
from typing import Final, TypeVar

from msgspec.structs import replace

from paddock.cluster.client import AGENT_RUN, Api, ClusterTrouble, Object, Refused
from paddock.core.fleet import Change
from paddock.core.run import Ended, Outcome, Queued, Run, Running, StepDone
from paddock.ports import Recipe, Step

from . import codec
from .errors import StoreError
from .memory import MemoryStore

T = TypeVar("T")
AT_ONCE: Final = 16
PATIENCE_S: Final = 15.0
CONFLICT_S: Final = 0.05
LONGEST_CONFLICT_S: Final = 2.0
RIGHTS_S: Final = 1.0
LONGEST_BECAUSE: Final = 500
FORMAT: Final = 1

log = logging.getLogger("paddock.controller")


class Deposed(StoreError):
    """Another leader has written: this one must not."""


class ApiSilent(StoreError):
    """Nobody answers; nothing was lost, and it is tried again."""


class AgentRunStore(MemoryStore):
    """`names`: of the AgentRun behind each run that is known here. What nobody answers is asked
    again until it is: a run that was applied is taken, and nothing is taken back."""

    def __init__(
        self, api: Api, *, term: int, deposed: Callable[[], None], patience_s: float = PATIENCE_S
    ) -> None:
        super().__init__()
        self._api, self._term, self._deposed = api, term, deposed
        self._patience_s = patience_s  # then whoever reads the log is told
        self.unwritable: Callable[[str, str], None] = lambda _run, _why: None
        self._loop = asyncio.get_running_loop()
        self.names: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._done: dict[str, list[StepDone]] = {}
        self._halted = False
        self._asking: Future[None] | None = None
        self._writing: asyncio.Task[None] | None = None
        self.told: dict[str, str] = {}  # why a run waits, as its status says
        self.untaken = 0  # writes that the API server does not take at present

    # -- reading --------------------------------------------------------------------------

    def take_up(self, found: Mapping[str, Object], recipes: Mapping[str, Recipe]) -> list[str]:
        """The runs that earlier leaders remembered; the ids of those that nobody did."""
        runs, fresh = {}, []
        for run_id, one in found.items():
            self.names[run_id] = one["metadata"]["name"]
            record = one.get("status", {}).get("record")
            if record is None:
                fresh.append(run_id)
                continue
            self._versions[run_id] = one["metadata"]["resourceVersion"]
            runs[run_id], self._done[run_id] = run_in(record)
        settled = [_without_met_needs(run, runs) for run in runs.values()]
        changes = tuple(Change(run, None, "remembered") for run in settled)
        at = max((run.state.since_at for run in settled), default=0.0)
        known = {run.id: recipes[run.id] for run in settled if run.id in recipes}
        done = tuple(one for each in self._done.values() for one in each)
        super().remember_many((Step(at=at, changes=changes, recipes=known, steps_done=done),))
        return fresh

    # -- writing --------------------------------------------------------------------------

    def remember_many(self, steps: Sequence[Step]) -> None:
        """In the store's thread; the loop does the asking."""
        last: dict[str, tuple[Run, str]] = {}
        for step in steps:
            for change in step.changes:
                last[change.run.id] = change.run, change.because
            for done in step.steps_done:
                self._done.setdefault(done.run, []).append(done)
        for wave in _waves(last):
            self._in_loop(wave)
        super().remember_many(steps)

    def _in_loop(self, wave: Sequence[tuple[Run, str]]) -> None:
        if self._halted:
            raise Deposed("this leader does not lead any more")
        self._asking = asyncio.run_coroutine_threadsafe(self._write(wave), self._loop)
        try:
            self._asking.result()
        except CancelledError:
            raise Deposed("this leader does not lead any more") from None

    async def halt(self) -> None:
        """From now on nothing is written, also nothing that is under way: whoever closes the line
        next closes it under nobody."""
        self._halted = True
        if self._asking is not None:
            self._asking.cancel()
        if self._writing is not None:
            await asyncio.wait({self._writing})

    async def _write(self, wave: Sequence[tuple[Run, str]]) -> None:
        self._writing = asyncio.current_task()
        try:
            await self._write_all(wave)
        finally:
            self._writing = None

    async def _write_all(self, wave: Sequence[tuple[Run, str]]) -> None:
        turn = asyncio.Semaphore(AT_ONCE)

        async def one(run: Run, because: str) -> None:
            async with turn:
                await self._put_status(run, because)

        found = await asyncio.gather(*(one(*each) for each in wave), return_exceptions=True)
        for error in found:
            if isinstance(error, BaseException):
                raise error

    async def _put_status(self, run: Run, because: str) -> None:
        """By the version that was last seen: who writes an old one has been deposed, or somebody
        changed the spec meanwhile."""
        name = self.names.get(run.id)
        if name is None:
            return
        status = status_of(run, because, self._done.get(run.id, ()), term=self._term)
        self.told[run.id] = status["because"]
        pause_s = CONFLICT_S
        while True:
            meta = {}
            if run.id in self._versions:
                meta = {"metadata": {"resourceVersion": self._versions[run.id]}}
            try:
                kept = await self._kept(name, {**meta, "status": status})
            except Refused as refused:
                if refused.code != 409:
                    self._left_out(run, name, refused)
                    return
                if not await self._look_again(run, name):
                    return
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_CONFLICT_S)
            else:
                self._versions[run.id] = kept["metadata"]["resourceVersion"]
                return

    def _left_out(self, run: Run, name: str, refused: Refused) -> None:
        """No reason to keep all others back. One that cannot be kept cannot be led either."""
        if refused.code == 404:
            self.names.pop(run.id, None)  # deleted: nobody asks for it any more
            return
        why = f"AgentRun {name} cannot be written: {' '.join(str(refused).split())}"
        log.warning("%s", why)
        if not isinstance(run.state, Ended):
            self.unwritable(run.id, why)

    async def _look_again(self, run: Run, name: str) -> bool:
        """Whether it is still there to be written."""
        api, patience_s = self._api, self._patience_s
        try:
            found = await self._surely(lambda: api.get(AGENT_RUN, name, patience_s=patience_s))
        except Refused as refused:
            self._left_out(run, name, refused)
            return False
        if found.get("status", {}).get("term", 0) > self._term:
            self._deposed()
            raise Deposed(f"AgentRun {name} was written by a later leader")
        self._versions[run.id] = found["metadata"]["resourceVersion"]
        return True

    async def _kept(self, name: str, patch: Object) -> Object:
        return await self._surely(lambda: self._patch(name, patch))

    async def _patch(self, name: str, patch: Object) -> Object:
        patience_s = self._patience_s
        return await self._api.patch(AGENT_RUN, name, patch, status=True, patience_s=patience_s)

    async def tell(self, run: str, because: str) -> None:
        """Why it waits, for people: no version, and no harm if it is lost."""
        name = self.names.get(run)
        if name is None or self.told.get(run) == because:
            return
        try:
            kept = await self._patch(name, {"status": {"because": because[:LONGEST_BECAUSE]}})
        except ClusterTrouble as trouble:
            raise ApiSilent(str(trouble)) from None
        self.told[run] = because
        self._versions[run] = kept["metadata"]["resourceVersion"]

    async def refuse(self, name: str, because: str, outcome: str) -> None:
        """One that was never a run: its end is all there is to tell."""
        status = {"state": "ended", "outcome": outcome, "because": because[:LONGEST_BECAUSE]}
        try:
            await self._kept(name, {"status": {**status, "term": self._term}})
        except Refused as refused:
            if refused.code != 404:
                raise StoreError(f"AgentRun {name} cannot be written: {refused}") from None

    async def _surely(self, do: Callable[[], Awaitable[T]]) -> T:
        """However long nobody answers: whoever leads no more is cancelled."""
        tries = itertools.count()
        try:
            while True:
                self.untaken += next(tries) == 1
                try:
                    return await do()
                except ClusterTrouble as trouble:
                    log.warning("an AgentRun cannot be written yet: %s", trouble)
                except Refused as refused:
                    if not refused.for_want_of_rights:
                        raise
                    log.warning("AgentRuns may not be written: %s", refused)
                    await asyncio.sleep(RIGHTS_S)
        finally:
            self.untaken -= next(tries) > 1


# -- records --------------------------------------------------------------------------------------


def status_of(run: Run, because: str, done: Iterable[StepDone], *, term: int) -> Object:
    state = run.state
    ended = state if isinstance(state, Ended) else None
    found: Object = {
        "state": codec.state_word(state),
        "outcome": None if ended is None else str(ended.outcome),
        "because": (because if ended is None else ended.because)[:LONGEST_BECAUSE],
        "attempt": run.attempts,
        "exitCode": None if ended is None else ended.exit_code,
        "term": term,
        "record": record_of(run, done),
    }
    if isinstance(state, Running):
        found["startedAt"] = _time(state.since_at)
    if ended is not None:
        found["endedAt"] = _time(ended.since_at)
    return found


def record_of(run: Run, done: Iterable[StepDone]) -> str:
    spec, word, state, counts, *_ = codec.run_row(run)
    steps = [json.loads(codec.pack(one)) for one in done]
    known = {"format": FORMAT, "spec": json.loads(spec), "word": word, "steps_done": steps}
    known |= {"state": json.loads(state), "counts": json.loads(counts)}
    return json.dumps(known, separators=(",", ":"))


def run_in(record: str) -> tuple[Run, list[StepDone]]:
    """Of this version or an older one; of a newer one only what is known here is read."""
    try:
        known = json.loads(record)
        parts = (known["spec"], known["state"], known["counts"])
        spec, state, counts = map(json.dumps, parts)
        run = codec.run_of((spec, known["word"], state, counts))
        done = [codec.unpack(json.dumps(one), StepDone) for one in known.get("steps_done", [])]
    except (ValueError, KeyError, TypeError, codec.Broken) as error:
        raise StoreError(f"the record of an AgentRun cannot be read: {error}") from None
    return run, done


def _waves(last: Mapping[str, tuple[Run, str]]) -> Iterable[Sequence[tuple[Run, str]]]:
    """Who goes on first, then who is skipped for another's end, then the ends."""
    going, skipped, ending = [], [], []
    for each in last.values():
        state = each[0].state
        if not isinstance(state, Ended):
            going.append(each)
        elif state.outcome is Outcome.SKIPPED:
            skipped.append(each)
        else:
            ending.append(each)
    return [wave for wave in (going, skipped, ending) if wave]


def _without_met_needs(run: Run, runs: Mapping[str, Run]) -> Run:
    """A need may have ended in the very moment that its leader died."""
    state = run.state
    if not isinstance(state, Queued) or not state.unmet:
        return run
    met = {
        need
        for need in state.unmet
        if need in runs
        and isinstance(ended := runs[need].state, Ended)
        and ended.outcome is Outcome.SUCCEEDED
    }
    return replace(run, state=replace(state, unmet=state.unmet - met)) if met else run


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
