"""The loop: an event arrives → THINK → REMEMBER → ACT → TELL. One mailbox, one writer, no locks.

Thinking happens at once, in the event loop's thread. Remembering happens in a thread of its own,
all steps that gathered meanwhile in one transaction; acting, answering and telling follow it. Only
kills and freezes do not wait for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, TypeVar

from msgspec import structs

from paddock.core.actions import Action, Refuse, StartAttempt
from paddock.core.events import (
    Event,
    PolicyChanged,
    Sampled,
    Submitted,
    TimePassed,
)
from paddock.core.fleet import Change, Fleet
from paddock.core.policy import Policy
from paddock.core.run import Attempt, Ended, Live, Run
from paddock.core.step import step
from paddock.ports import Driver, Recipe, Step, Store
from paddock.storage.errors import StoreError, StoreGone, Unfit
from paddock.supervisor.batch import Batch, Kept
from paddock.supervisor.clock import Clock
from paddock.supervisor.disk import ANSWERS_WITHIN_S, NO_ANSWER, Disk
from paddock.supervisor.hands import Hands, is_urgent
from paddock.supervisor.lessons import Lessons
from paddock.supervisor.news import News
from paddock.supervisor.silence import Silence
from paddock.supervisor.thoughts import (
    Answer,
    Letter,
    Parting,
    Thought,
    counted,
    merge,
    named,
    reply,
)
from paddock.supervisor.trouble import StoreTrouble, Trouble
from paddock.supervisor.waiters import Waiters
from paddock.supervisor.writing import Writer

T = TypeVar("T")

RETRY_S: Final = 1.0
MOST_BEHIND: Final = 1000  # steps that wait for a store in trouble before they are merged into one
NONE: Final[Mapping[str, Recipe]] = MappingProxyType({})

log = logging.getLogger("paddock.loop")


class Supervisor:
    def __init__(
        self, fleet: Fleet, store: Store, clock: Clock, drivers: Mapping[str, Driver], default: str
    ) -> None:
        self.fleet = fleet
        self.store = store
        self.clock = clock
        self.drivers = drivers
        self.default_driver = default
        self.absent: dict[str, str] = {}  # drivers that are not there: what is to be done about it
        self.silence = Silence(fleet, self.post)
        self.news = News()
        self.hands = Hands(drivers, default, self.post)
        self.hands.absent = self.absent
        self.outcomes: Counter[str] = Counter()  # of all ended runs that the store keeps
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_parting: list[Callable[[Parting], None]] = []
        self.on_change: list[Callable[[Change], None]] = []
        self.on_event: list[Callable[[Event], None]] = []  # before it is thought about
        self._mailbox: deque[Letter] = deque()
        self._thinking = False
        self._known_beats = dict(fleet.heartbeats)
        self._trouble = Trouble(self)
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: float | None = None
        self._waiters = Waiters(fleet)
        self._disk = Disk()
        self._writer = Writer(self, store, self._disk)
        self._lessons = Lessons(fleet, self._keep_lessons)

    # -- what others ask ------------------------------------------------------------------

    def post(self, event: Event) -> None:
        """An event from a driver or from the eyes. Its time is when it arrives here."""
        self._put(Letter(lambda now: structs.replace(event, at=now)))

    def ask(
        self,
        make: Callable[[float], Event],
        *,
        recipes: Mapping[str, Recipe] = NONE,
        heartbeat_recipes: Mapping[str, Recipe] = NONE,
    ) -> asyncio.Future[Sequence[Refuse]]:
        """A client's request: thought on return, answered when its step is remembered."""
        future: asyncio.Future[Sequence[Refuse]] = asyncio.get_running_loop().create_future()
        self.request(make, recipes=recipes, heartbeat_recipes=heartbeat_recipes, answer=future)
        return future

    def request(
        self,
        make: Callable[[float], Event],
        *,
        answer: Answer,
        recipes: Mapping[str, Recipe] = NONE,
        heartbeat_recipes: Mapping[str, Recipe] = NONE,
    ) -> None:
        """The same, for those who bring a place for the answer along."""
        if self.broken.done():
            raise StoreTrouble("the daemon met a bug and is about to start anew; try again")
        if self.trouble is not None and (recipes or heartbeat_recipes):
            raise StoreTrouble(self.trouble)
        self._put(Letter(make, recipes, heartbeat_recipes, answer))

    async def look(self, read: Callable[[Store], T]) -> T:
        """A look into the store, in its own thread: it may have to wait for a slow disk."""
        return await self._disk.result_of(partial(read, self.store))

    async def count_outcomes(self) -> None:
        """Anew, from the store: at the start, and when some of the past was tidied away."""
        self.outcomes = Counter(await self.look(lambda store: store.outcomes()))

    async def find(self, text: str) -> tuple[Run, ...]:
        """By id, by name (the newest), by prefix. What the fleet has is newer than the store."""
        if text in self.fleet.runs:
            return (self.fleet.runs[text],)
        found = await self.look(lambda store: store.find(text))
        return tuple(self.fleet.runs.get(run.id, run) for run in found)

    async def ended(self, runs: Collection[str], *, within_s: float | None) -> bool:
        """Whether all of them have ended, as soon as they have or the time is over."""
        return await self._waiters.ended(runs, within_s=within_s)

    def unremembered(self) -> frozenset[str]:
        """Runs that have ended in the fleet and not yet in the store. Whoever asks both for runs
        looks at the fleet and takes these in one breath, and waits for them to be `remembered`
        before the store is asked; else one that is just ending is in neither."""
        return self._waiters.unremembered

    async def remembered(self, ended: Collection[str]) -> None:
        if self.trouble is None:
            await self._waiters.ended(ended, within_s=ANSWERS_WITHIN_S)

    @property
    def trouble(self) -> str | None:
        """Why the store cannot be written, while it cannot."""
        return self._trouble.told

    @property
    def is_settled(self) -> bool:
        return self._writer.is_settled

    def set_policy(self, policy: Policy) -> None:
        """While trouble lets nothing start, the new one waits with the rest."""
        self._trouble.set_policy(policy)

    async def settled(self) -> None:
        """Until everything thought so far is remembered and done."""
        self._lessons.hurry()
        await self._writer.settled()

    def begin(self, epoch: int) -> None:
        """The first step of a daemon: whose turn it is, and on which boot."""
        policy = self.fleet.policy
        letter = Letter(lambda now: PolicyChanged(now, policy))
        letter.epoch, letter.boot_id = epoch, self.clock.remembered
        self._put(letter)

    # -- think ----------------------------------------------------------------------------

    def _put(self, letter: Letter) -> None:
        self._mailbox.append(letter)
        if self._thinking:
            return  # a driver told something while it was asked to act: it comes next
        self._thinking = True
        try:
            while self._mailbox:
                self._think(self._mailbox.popleft())
        except Exception as error:  # noqa: BLE001 - whatever it is, see below
            # A half-made step must not be remembered: the next daemon goes on from the last one.
            self.broke(error)
        finally:
            self._thinking = False
        self._writer.flush()
        self._set_alarm()

    def broke(self, error: BaseException) -> None:
        """A bug: whoever waits for this daemon's end lets the next one begin."""
        log.error("a step failed", exc_info=error)
        if not self.broken.done():
            self.broken.set_exception(error)

    def _think(self, letter: Letter) -> None:
        if self.broken.done():
            return
        began = time.perf_counter()
        event = letter.make(self.clock.now())
        for hear in self.on_event:
            hear(event)
        actions = step(self.fleet, event)
        for action in filter(is_urgent, actions):
            self.hands.perform(action, self.fleet)
        refused = tuple(action for action in actions if isinstance(action, Refuse))
        self._gather(letter, event, actions, refused)
        if log.isEnabledFor(logging.DEBUG) and (actions or not isinstance(event, Sampled)):
            took_us = (time.perf_counter() - began) * 1e6
            log.debug("%s -> %s in %.0f us", named(event), counted(actions), took_us)

    def _gather(
        self, letter: Letter, event: Event, actions: list[Action], refused: tuple[Refuse, ...]
    ) -> None:
        """What is to be remembered, done and answered; most samples change nothing."""
        fleet = self.fleet
        beats_changed = fleet.heartbeats != self._known_beats
        if not (fleet.changes or actions or letter.answer or beats_changed or letter.boot_id):
            return
        taken = {change.run.id for change in fleet.changes if change.before is None}
        beats = letter.heartbeat_recipes.items()
        step_taken = Step(
            at=fleet.now,
            changes=tuple(fleet.changes),
            steps_done=tuple(fleet.steps_done),
            recipes={run: each for run, each in letter.recipes.items() if run in taken},
            heartbeat_recipes={name: each for name, each in beats if name in fleet.heartbeats},
            epoch=letter.epoch,
            boot_id=letter.boot_id,
        )
        waits = [action for action in actions if not is_urgent(action)]
        submitted = tuple(taken) if isinstance(event, Submitted) else ()
        ends = self._waiters.thought(fleet.changes)
        self._writer.add(
            Thought(step_taken, waits, letter.answer, submitted, refused),
            awaited=bool(actions or ends or letter.boot_id),
        )

    def _set_alarm(self) -> None:
        """A `TimePassed` when the next deadline comes."""
        at = self.fleet.next_deadline
        if at == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._alarm_at = None, at
        if at is None or self.broken.done():
            return
        wait_s = max(0.0, at - self.clock.now())
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_later(wait_s, self._ring)

    def _ring(self) -> None:
        self._alarm_at = None
        self._put(Letter(TimePassed))

    # -- remember -------------------------------------------------------------------------

    async def write(self) -> None:
        """While this runs, what was thought is remembered, and then acted on."""
        await self._writer.write()

    def batch_of(self, thoughts: list[Thought]) -> tuple[Batch, Callable[[], None]]:
        known, groups = self._known_beats, self._lessons.take()
        batch = self._batch(thoughts, groups)
        self._known_beats = dict(self.fleet.heartbeats)

        def undo() -> None:
            self._lessons.untold(groups)
            self._known_beats = known

        return batch, undo

    def kept(self, thoughts: list[Thought], kept: Kept) -> None:
        """First what others wait for, then what is only told: a start is not kept by the news of
        the end that made room for it."""
        self._trouble.over()
        for thought in thoughts:
            self._act(thought, kept.recipes)
        for thought in thoughts:
            self._tell(thought)
        for run, recipe in kept.parted:
            for tell in self.on_parting:
                tell(Parting(run, recipe))

    def _batch(self, thoughts: list[Thought], groups: Iterable[str]) -> Batch:
        """With the groups and heartbeats as they are now, which is after the last of these steps.

        Heartbeats go first, because their recipes need them; those removed go last, because a beat
        of this very batch still takes its recipe from them.
        """
        fleet = self.fleet
        beats, known = fleet.heartbeats, self._known_beats
        facts = {name: fleet.groups[name].facts() for name in groups if name in fleet.groups}
        changed = tuple(beat for name, beat in beats.items() if known.get(name) != beat)
        removed = tuple(name for name in known if name not in beats)
        # Mostly neither is there, and the last step was taken now: what is thought is all.
        now, gone = [], []
        if facts or changed or thoughts[-1].step.at < fleet.now:
            now = [Step(at=fleet.now, groups=facts, heartbeats=changed)]
        if removed:
            gone = [Step(at=fleet.now, removed_heartbeats=removed)]
        for thought in thoughts:
            recipes = thought.step.heartbeat_recipes
            if not recipes.keys() <= beats.keys():  # declared and removed in one breath
                recipes = {name: each for name, each in recipes.items() if name in beats}
                thought.step = structs.replace(thought.step, heartbeat_recipes=recipes)
        starts = [a.attempt.run for t in thoughts for a in t.actions if isinstance(a, StartAttempt)]
        return Batch([*now, *(thought.step for thought in thoughts), *gone], starts)

    def _keep_lessons(self) -> None:
        """Nobody waits for them."""
        self._writer.add(Thought(Step(at=self.fleet.now), []), awaited=True)

    async def not_kept(self, error: StoreError, thoughts: list[Thought]) -> list[Thought]:
        if isinstance(error, StoreGone) and await self.mend():
            return thoughts
        # Also those that came meanwhile: whoever waits for an answer gets one.
        waiting, self._writer.thoughts = thoughts + self._writer.thoughts, []
        self._trouble.met(error, waiting)
        if len(waiting) > MOST_BEHIND:
            waiting = [merge(waiting)]
        if not isinstance(error, Unfit):
            await asyncio.sleep(RETRY_S)
        return waiting

    async def mend(self) -> bool:
        """Somebody removed the files under us: what the open ones hold is put back."""
        try:
            await self.look(lambda store: store.mend())
        except StoreError as error:
            log.error("the store's files were removed and cannot be put back: %s", error)
            return False
        log.warning("the store's files were removed under the daemon and have been put back")
        return True

    # -- act and tell ---------------------------------------------------------------------

    def act_now(self, action: Action) -> None:
        """Without its having been remembered."""
        self.hands.perform(action, self.fleet)

    def _act(self, thought: Thought, recipes: Mapping[str, Recipe]) -> None:
        reply(thought)  # first: whoever asked goes on meanwhile, and is not heard before the rest
        for action in thought.actions:
            recipe = recipes.get(action.attempt.run) if isinstance(action, StartAttempt) else None
            self.hands.perform(action, self.fleet, recipe)

    def _tell(self, thought: Thought) -> None:
        for change in thought.step.changes:
            before, run = change.before, change.run
            for tell in self.on_change:
                tell(change)
            if isinstance(before, Live) and before is run.state:
                self.hands.amended(run)
            if isinstance(before, Live) and not run.live:
                self.hands.forget(Attempt(run.id, before.attempt))
            if isinstance(run.state, Ended):
                self._waiters.remembered(run.id)
                self.outcomes[str(run.state.outcome)] += 1
        self.news.publish(thought.step.changes, at=thought.step.at)

    async def close(self) -> None:
        """After the writer has ended: nothing more is thought or remembered."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._lessons.close()
        self._writer.stop()
        self.news.close()
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                await self._disk.result_of(self.store.close)
                await self._disk.close()
        except TimeoutError:
            log.error(NO_ANSWER, "what it has not got was promised to nobody, and agents go on")
