"""A store that forgets when the process ends: for tests, the demo and the simulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from paddock.core.group import GroupFacts
from paddock.core.heartbeat import Heartbeat
from paddock.core.run import Ended, Run, StepDone
from paddock.ports import (
    Keep,
    LedgerEntry,
    Move,
    Recipe,
    Remembered,
    Rollup,
    Step,
    Tidied,
    Wanted,
)

from . import codec, story
from .errors import StoreError, StoreFailed, Unfit
from .past import Past

CANDIDATES = 6
BATCH = 100


class MemoryStore:
    """`trouble` set to an error makes every write fail with it, as a full disk would."""

    def __init__(self) -> None:
        self.trouble: StoreError | None = None
        self._runs: dict[str, Run] = {}
        self._stories: dict[str, _Story] = {}
        self._groups: dict[str, tuple[float, GroupFacts]] = {}
        self._heartbeats: dict[str, Heartbeat] = {}
        self._steps_done: dict[str, dict[int, StepDone]] = {}
        self._recipes: dict[str, Recipe] = {}
        self._heartbeat_recipes: dict[str, Recipe] = {}
        self._known = Remembered()
        self._past = Past()
        self._closed = False

    # -- writing ------------------------------------------------------------------------------

    def remember(self, step: Step) -> None:
        self.remember_many((step,))

    def remember_many(self, steps: Sequence[Step]) -> None:
        self._check()
        if self.trouble is not None:
            raise self.trouble
        self._refuse_unfit(steps)
        for step in steps:
            self._put(step)

    def inputs(self) -> frozenset[str]:
        self._check()
        unended = (run.id for run in self._runs.values() if not isinstance(run.state, Ended))
        recipes = (self._recipes[run] for run in unended if run in self._recipes)
        return frozenset(str(recipe.stdin) for recipe in recipes if recipe.stdin is not None)

    def tidy(self, *, now_at: float, keep: Keep = Keep()) -> Tidied:  # noqa: B008 - frozen
        self._check()
        if self.trouble is not None:
            raise self.trouble
        oldest_at, newest = now_at - keep.age_s, self._newest()
        beats = _surplus_beats(newest, keep.beats)
        # Beats first, all of them: while there are too many, nothing else is too much.
        surplus = beats or newest[keep.runs :]
        old = [run for run in newest if _ended_at(run) < oldest_at][-BATCH:]
        gone = dict.fromkeys([*old, *surplus[-BATCH:]])
        for run in gone:
            for kept in (self._runs, self._stories, self._steps_done, self._recipes):
                kept.pop(run.id, None)
        return Tidied(tuple(run.id for run in gone), self._drop_groups(oldest_at, keep.groups))

    def record(
        self, rollups: Sequence[Rollup], entries: Sequence[LedgerEntry] = (), *, now_at: float
    ) -> None:
        self._check()
        if self.trouble is not None:
            raise self.trouble
        self._past.add(rollups, entries, now_at=now_at)

    def rollups(
        self, step_s: int, *, since: tuple[int, str], until_at: float, limit: int
    ) -> tuple[Rollup, ...]:
        self._check()
        return self._past.rollups(step_s, since=since, until_at=until_at)[:limit]

    def ledger(self, *, since_at: float, limit: int = 10_000) -> tuple[LedgerEntry, ...]:
        self._check()
        return self._past.ledger(since_at=since_at)[-limit:]

    def is_ours(self) -> bool:
        return True

    def missing(self) -> bool:
        return False

    def mend(self) -> None:
        self._check()

    def close(self) -> None:
        self._closed = True

    # -- reading ------------------------------------------------------------------------------

    def load(self, *, ended: int = 1000) -> Remembered:
        self._check()
        unended = [run for run in self._runs.values() if not isinstance(run.state, Ended)]
        unended.sort(key=lambda run: run.sequence)
        return replace(
            self._known,
            runs=(*unended, *self._newest()[:ended]),
            groups={name: facts for name, (_, facts) in self._groups.items()},
            heartbeats=tuple(beat for _, beat in sorted(self._heartbeats.items())),
        )

    def run(self, run: str) -> Run | None:
        self._check()
        return self._runs.get(run)

    def find(self, text: str) -> tuple[Run, ...]:
        self._check()
        if text in self._runs:
            return (self._runs[text],)
        named = [run for run in self._runs.values() if run.spec.name == text]
        if named:
            return (max(named, key=lambda run: run.sequence),)
        found = sorted(run for run in self._runs if text and run.startswith(text))
        return tuple(self._runs[run] for run in found[:CANDIDATES])

    def ended(
        self,
        wanted: Wanted = Wanted(),  # noqa: B008 - frozen
        *,
        before: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> tuple[Run, ...]:
        self._check()
        found = (
            run
            for run in self._newest()
            if (before is None or (_ended_at(run), run.id) < before) and _fits(run, wanted)
        )
        return tuple(found)[:limit]

    def outcomes(self) -> Mapping[str, int]:
        self._check()
        states = (run.state for run in self._runs.values())
        return Counter(str(state.outcome) for state in states if isinstance(state, Ended))

    def story(self, run: str) -> tuple[Move, ...]:
        self._check()
        return self._stories[run].told() if run in self._stories else ()

    def steps_done(self, run: str) -> tuple[StepDone, ...]:
        self._check()
        return tuple(done for _, done in sorted(self._steps_done.get(run, {}).items()))

    def recipe(self, run: str) -> Recipe | None:
        self._check()
        return self._recipes.get(run)

    def heartbeat_recipe(self, name: str) -> Recipe | None:
        self._check()
        return self._heartbeat_recipes.get(name)

    # -- inside -------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._closed:
            raise StoreFailed(Path("memory"), "it was closed")

    def _refuse_unfit(self, steps: Sequence[Step]) -> None:
        """Everything is looked at before anything is kept: all of it, or nothing."""
        runs, beats = set(self._runs), set(self._heartbeats)
        for step in steps:
            runs |= {change.run.id for change in step.changes}
            beats |= {beat.name for beat in step.heartbeats}
            strange = {*(step.recipes.keys() - runs), *(step.heartbeat_recipes.keys() - beats)}
            for name in strange:
                raise Unfit(f"there is no {name} that this recipe could be for", of=name)
            for recipe in (*step.recipes.values(), *step.heartbeat_recipes.values()):
                codec.check_recipe(recipe)

    def _put(self, step: Step) -> None:
        for name in step.removed_heartbeats:
            self._heartbeats.pop(name, None)
            self._heartbeat_recipes.pop(name, None)
        self._heartbeats |= {heartbeat.name: heartbeat for heartbeat in step.heartbeats}
        self._heartbeat_recipes |= step.heartbeat_recipes
        self._recipes |= step.recipes
        for change in step.changes:
            run = self._runs[change.run.id] = change.run
            self._stories.setdefault(run.id, _Story()).add(
                Move(step.at, codec.state_word(run.state), run.attempts, change.because)
            )
            if change.before is None and run.spec.heartbeat in self._heartbeat_recipes:
                self._recipes.setdefault(run.id, self._heartbeat_recipes[run.spec.heartbeat])
            if isinstance(run.state, Ended) and run.id in self._recipes:
                self._recipes[run.id] = replace(self._recipes[run.id], environment=None)
        for done in step.steps_done:
            self._steps_done.setdefault(done.run, {}).setdefault(done.step, done)
        self._groups |= {name: (step.at, facts) for name, facts in step.groups.items()}
        known = self._known
        self._known = Remembered(
            at=max(known.at, step.at),
            sequence=max([known.sequence, *(change.run.sequence for change in step.changes)]),
            epoch=known.epoch if step.epoch is None else step.epoch,
            boot_id=known.boot_id if step.boot_id is None else step.boot_id,
        )

    def _newest(self) -> list[Run]:
        ended = (run for run in self._runs.values() if isinstance(run.state, Ended))
        return sorted(ended, key=lambda run: (_ended_at(run), run.id), reverse=True)

    def _drop_groups(self, oldest_at: float, keep: int) -> int:
        newest = sorted(self._groups.items(), key=lambda item: item[1][0], reverse=True)
        gone = [name for n, (name, (at, _)) in enumerate(newest) if at < oldest_at or n >= keep]
        for name in gone[-BATCH:]:
            del self._groups[name]
        return len(gone[-BATCH:])


class _Story:
    def __init__(self) -> None:
        self._moves: dict[int, Move] = {}
        self._told = 0

    def add(self, move: Move) -> None:
        self._told += 1
        self._moves[self._told] = move
        last = story.fold_until(self._told)
        if last is None:
            return
        first = story.HEAD + 1
        folded = [self._moves.pop(n) for n in range(first, last + 1) if n in self._moves]
        self._moves[first] = replace(folded[0], moves=sum(move.moves for move in folded))

    def told(self) -> tuple[Move, ...]:
        return story.tell([move for _, move in sorted(self._moves.items())])


def _ended_at(run: Run) -> float:
    return run.state.since_at


def _surplus_beats(newest: Sequence[Run], keep: int) -> list[Run]:
    seen: Counter[str] = Counter()
    found = []
    for run in newest:
        if run.spec.heartbeat is not None:
            seen[run.spec.heartbeat] += 1
            if seen[run.spec.heartbeat] > keep:
                found.append(run)
    return found


def _fits(run: Run, wanted: Wanted) -> bool:
    outcome = run.state.outcome if isinstance(run.state, Ended) else None
    return (
        wanted.name in (None, run.spec.name)
        and wanted.group in (None, run.spec.group)
        and wanted.outcome in (None, outcome)
        and (wanted.since_at is None or _ended_at(run) >= wanted.since_at)
    )
