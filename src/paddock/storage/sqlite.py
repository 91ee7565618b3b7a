"""The store in a SQLite file: one writer, one transaction for each batch of steps."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import apsw

from paddock.core.group import GroupFacts
from paddock.core.run import Run, StepDone
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

from . import codec, history, plain, queries, story, writing
from .environments import Environments
from .errors import StoreDamaged, StoreError, StoreFailed, StoreGone
from .identity import identity
from .opening import (
    connect,
    copy_to,
    empty_wal,
    hold,
    mended_name,
    same_file,
    told_plainly,
)
from .recipes import Recipes

LOAD_BYTES: Final = 10_000_000  # REPO-5
GROUP_BYTES: Final = LOAD_BYTES * 4 // 10
CANDIDATES: Final = 6  # of an ambiguous prefix: enough to say so
_ROW_BYTES: Final = 100  # the numbers of a row, beside its texts
_EVER: Final = 9e999


def open_store(path: Path) -> SqliteStore:
    """The store at this path, made if need be. Raises a `StoreError` that says what to do."""
    path = Path(os.path.abspath(path))  # noqa: PTH100 - symlinks stay as they are
    with told_plainly(path):
        lock = hold(path)
        try:
            if not path.exists() and mended_name(path).exists():
                mended_name(path).replace(path)  # a daemon was killed while it put the file back
            return SqliteStore(connect(path), path, lock=lock)
        except BaseException:
            os.close(lock)
            raise


class SqliteStore:
    def __init__(self, db: apsw.Connection, path: Path, *, lock: int) -> None:
        self.path = path
        self._db = db
        self._lock = lock
        self._is_open = True
        self._environments = Environments()
        self._recipes = Recipes()
        self._wal = Path(f"{path}-wal")
        self._files = {file: identity(file) for file in (str(path), str(self._wal))}
        # A commit may wait for the disk in a thread of its own while somebody reads a story.
        self._one_at_a_time = threading.Lock()

    # -- writing ------------------------------------------------------------------------------

    def remember(self, step: Step) -> None:
        self.remember_many((step,))

    def remember_many(self, steps: Sequence[Step]) -> None:
        if not steps:
            return
        with self._at_work():
            if self._remember_plain(steps):
                return
            for run in writing.recipes_left(steps):
                self._recipes.forget(run)
            with self._transaction():
                new = writing.write(self._db, steps, self._environments)
            self._expect(steps, new)

    def _expect(self, steps: Sequence[Step], new: Collection[str]) -> None:
        """Of those that are new and have one recipe: the first to be started."""
        left = Counter(writing.recipes_left(steps))
        for run, recipe in (one for step in steps for one in step.recipes.items()):
            environment = self._environments.last_if(recipe.environment)
            if environment is not None and run in new and left[run] == 1:
                self._recipes.expect(run, recipe, environment)

    def _remember_plain(self, steps: Sequence[Step]) -> bool:
        """Whether all of it was: what is not plain, or not as it seems, goes the long way."""
        self._environments.know(self._db)
        try:
            said = plain.Plain(steps, self._environments, self._recipes)
        except plain.NotPlain:
            return False
        statements = said.statements()
        with contextlib.suppress(apsw.ConstraintError):
            if len(statements) == 1:
                self._check_files()
                self._db.execute(*statements[0])
            else:
                with self._transaction():
                    for query, facts in statements:
                        self._db.execute(query, facts)
            said.kept()
            return True
        return False

    def tidy(self, *, now_at: float, keep: Keep = Keep()) -> Tidied:  # noqa: B008 - frozen
        with self._at_work():
            with self._transaction():
                removed = writing.drop_surplus(self._db, keep, now_at=now_at)
            self._db.execute(f"PRAGMA incremental_vacuum({writing.PAGES})").fetchall()
            empty_wal(self._db, self.path)
        return removed

    def record(
        self, rollups: Sequence[Rollup], entries: Sequence[LedgerEntry] = (), *, now_at: float
    ) -> None:
        with self._at_work(), self._transaction():
            history.add(self._db, rollups)
            history.put_entries(self._db, entries)
            history.drop_old(self._db, now_at=now_at)

    def is_ours(self) -> bool:
        lock = Path(f"{self.path}.lock")
        return self._lock >= 0 and (not lock.exists() or same_file(self._lock, str(lock)))

    def missing(self) -> bool:
        known = self._files.items()
        return any(inode is not None and identity(file) != inode for file, inode in known)

    def mend(self) -> None:
        """What the open files hold is written to a new one, which then takes the old name.

        Removing a file takes its name only: SQLite still reads all of it. The lock is taken anew,
        because its file may be gone as well, and whoever made another one has the store. Killed
        half way, the whole copy has a name that the next `open_store` takes up.
        """
        with self._at_work():
            if not same_file(self._lock, f"{self.path}.lock"):
                lock = hold(self.path)
                os.close(self._lock)
                self._lock = lock
            if self._is_open:
                copy_to(self._db, mended_name(self.path))
                # Closing removes the WAL by its name: before the new file gets the old one's.
                self._is_open = False
                self._db.close()
            self._wal.unlink(missing_ok=True)
            mended_name(self.path).replace(self.path)
            self._db = connect(self.path)
            self._is_open = True
            self._files = {file: identity(file) for file in self._files}

    def close(self) -> None:
        with self._one_at_a_time:
            if self._lock < 0:
                return
            with contextlib.suppress(apsw.Error):
                self._db.close()
            os.close(self._lock)
            self._lock = -1

    # -- reading ------------------------------------------------------------------------------

    def load(self, *, ended: int = 1000) -> Remembered:
        with self._at_work():
            at, sequence, epoch, boot_id = self._db.execute(queries.FLEET).get
            last_at, last_sequence = self._db.execute(queries.NEWEST).get
            at, sequence = max(at, last_at), max(sequence, last_sequence)
            budget = _Budget(LOAD_BYTES)
            unended = [codec.run_of(budget.spend(row)) for row in self._rows(queries.UNENDED)]
            heartbeats = tuple(
                codec.heartbeat_of(text) for (text,) in self._rows(queries.HEARTBEATS)
            )
            groups = self._groups(budget)
            newest = [codec.run_of(row) for row in budget.within(self._newest(ended))]
        return Remembered(
            runs=(*unended, *newest),
            groups=groups,
            heartbeats=heartbeats,
            at=at,
            sequence=sequence,
            epoch=epoch,
            boot_id=boot_id,
        )

    def run(self, run: str) -> Run | None:
        found = self._runs(queries.RUN, (codec.legible(run),))
        return found[0] if found else None

    def find(self, text: str) -> tuple[Run, ...]:
        text = codec.legible(text)
        exact = self._runs(queries.RUN, (text,)) or self._runs(queries.NEWEST_OF_NAME, (text,))
        if exact or not text:
            return exact
        # UTF-8 sorts by code point, so all that begin with the text lie below text + the last one.
        return self._runs(queries.BY_PREFIX, (text, f"{text}\U0010ffff", CANDIDATES))

    def ended(
        self,
        wanted: Wanted = Wanted(),  # noqa: B008 - frozen
        *,
        before: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> tuple[Run, ...]:
        before_at, before_id = before or (_EVER, "")
        facts = {
            "before_at": before_at,
            "before_id": before_id,
            "since_at": -_EVER if wanted.since_at is None else wanted.since_at,
            "name": wanted.name,
            "group": wanted.group,
            "outcome": wanted.outcome and str(wanted.outcome),
            "limit": limit,
        }
        return self._runs(queries.ENDED, facts)

    def inputs(self) -> frozenset[str]:
        with self._at_work():
            return frozenset(stdin for (stdin,) in self._rows(queries.INPUTS))

    def outcomes(self) -> Mapping[str, int]:
        with self._at_work():
            return dict(self._rows(queries.OUTCOMES))

    def story(self, run: str) -> tuple[Move, ...]:
        with self._at_work():
            rows = self._rows(queries.STORY, {"run": codec.legible(run)})
            return story.tell([Move(*row) for _, *row in rows])

    def steps_done(self, run: str) -> tuple[StepDone, ...]:
        with self._at_work():
            rows = self._rows(queries.STEPS_DONE, (codec.legible(run),))
            return tuple(StepDone(run, *row) for row in rows)

    def recipe(self, run: str) -> Recipe | None:
        with self._one_at_a_time:
            known = self._recipes.of(run)
        if known is not None and self._lock >= 0:
            return known
        with self._at_work():
            recipe, environment = self._recipe(queries.RECIPE_OF, codec.legible(run))
            if recipe is not None and environment is not None:
                self._recipes.learn(run, recipe, environment)
            return recipe

    def heartbeat_recipe(self, name: str) -> Recipe | None:
        with self._at_work():
            return self._recipe(queries.RECIPE_OF_HEARTBEAT, codec.legible(name))[0]

    def rollups(
        self, step_s: int, *, since: tuple[int, str], until_at: float, limit: int
    ) -> tuple[Rollup, ...]:
        with self._at_work():
            return history.read(self._db, step_s, since=since, until_at=until_at, limit=limit)

    def ledger(self, *, since_at: float, limit: int = 10_000) -> tuple[LedgerEntry, ...]:
        with self._at_work():
            return history.entries(self._db, since_at=since_at, limit=limit)

    # -- inside -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._one_at_a_time:
            if self._lock < 0:
                raise StoreFailed(self.path, "it was closed")
            try:
                with told_plainly(self.path):
                    yield
            except codec.Broken as broken:
                raise StoreDamaged(self.path, str(broken)) from None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._check_files()
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._environments.know(self._db)
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._environments.forget()
            with contextlib.suppress(apsw.Error):  # SQLite may have rolled back by itself
                self._db.execute("ROLLBACK")
            raise

    def _check_files(self) -> None:
        """Writing to a file without a name succeeds, and all of it is gone with the process."""
        for file, inode in self._files.items():
            found = identity(file)
            if inode is None:
                self._files[file] = found  # the WAL comes with the first write
            elif found != inode:
                raise StoreGone(self.path, missing=file)

    def _rows(self, query: str, facts: Any = ()) -> Iterator[codec.Row]:
        return iter(self._db.execute(query, facts))

    def _runs(self, query: str, facts: Any) -> tuple[Run, ...]:
        with self._at_work():
            return tuple(codec.run_of(row) for row in self._rows(query, facts))

    def _recipe(self, query: str, key: str) -> tuple[Recipe | None, int | None]:
        """With the number of its environment, while it has one."""
        rows = list(self._rows(query, (key,)))
        if not rows:
            return None, None
        *row, number, variables = rows[0]
        environment = self._environments.read(number, variables)
        return codec.recipe_of(tuple(row), environment), number

    def _newest(self, limit: int) -> Iterator[codec.Row]:
        return self._rows(queries.NEWEST_ENDED, (limit,))

    def _groups(self, budget: _Budget) -> dict[str, GroupFacts]:
        own = _Budget(GROUP_BYTES)
        rows = own.within(self._rows(queries.GROUPS))
        return dict(codec.group_of(budget.spend(row)) for row in rows)


class _Budget:
    """What is loaded at the start stays small: the past gives way, what waits never does."""

    def __init__(self, left_bytes: int) -> None:
        self._left_bytes = left_bytes

    def spend(self, row: codec.Row) -> codec.Row:
        self._left_bytes -= _ROW_BYTES + sum(len(part) for part in row if isinstance(part, str))
        return row

    def within(self, rows: Iterator[codec.Row]) -> Iterator[codec.Row]:
        for row in rows:
            self.spend(row)
            if self._left_bytes < 0:
                return
            yield row


__all__ = ["SqliteStore", "StoreError", "open_store"]
