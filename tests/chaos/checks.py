"""After a round, from outside: runs, output, processes, cgroups, files, the database, the work."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import apsw

from paddock.client import Client, Record
from paddock.drivers.local.containment.choosing import read_home
from paddock.wire.views import RunView
from tests.chaos.books import Books
from tests.chaos.errands import Errand, Output
from tests.chaos.fault import May
from tests.chaos.scene import A_MONTH_S, LONG_S, Scene
from tests.kit import leaks
from tests.kit.house import patiently
from tests.kit.repositories import git
from tests.kit.waiting import pauses_s

T = TypeVar("T")
SOON_S = 60.0  # for what is on its way out
MOST_DESCRIPTORS = 100  # of a daemon with nothing to do; it has some thirty
MOST_BYTES = 256 << 20  # likewise; some sixty
HALF_DONE = (".looking-*", ".deleting-*", ".going-*")
BAD_WORDS = re.compile(r"Traceback|a step failed|never awaited|Segmentation", re.IGNORECASE)


class Check:
    def __init__(self, scene: Scene, books: Books, may: May) -> None:
        self.scene, self.books, self.may = scene, books, may
        self.house = scene.house

    def all_of(
        self, errands: Sequence[Errand], ids: dict[str, str], views: dict[str, RunView]
    ) -> None:
        signed = self._signed()
        for errand in errands:
            run = ids[errand.name]
            self._end_of(errand, views[run])
            starts = [line for line in signed if line[:2] == ["start", run]]
            self._starts_of(errand, views[run], len(starts))
            if len(starts) <= 1:  # of several attempts: not told apart here
                self._output_of(errand, views[run])
        self._work_of([each for each in errands if ["work", ids[each.name]] in signed], ids, views)
        self._nothing_left(list(ids.values()))
        self._database(list(ids.values()))
        self._logs()

    @property
    def ledger(self) -> Path:
        return self.house.home / "ledger"

    def _signed(self) -> list[list[str]]:
        if not self.ledger.exists():
            return []
        return [line.split() for line in self.ledger.read_text(encoding="ascii").splitlines()]

    # -- runs -----------------------------------------------------------------------------

    def _is_lost(self, view: RunView) -> bool:
        """Its keeper died: nobody knows how it ended, or none could be started for it."""
        return May.BE_LOST in self.may and view.outcome in ("lost", "spawn_failed")

    def _could_not_work(self, errand: Errand, view: RunView) -> bool:
        """Its workspace is on the disk that was full, or read-only."""
        failed = view.outcome in ("failed", "spawn_failed")
        return May.FAIL_AT_WORK in self.may and errand.work and failed

    def _end_of(self, errand: Errand, view: RunView) -> None:
        self.books.ended(str(view.outcome))
        if self._is_lost(view):
            self.books.said_lost += 1
            return
        found = f"{view.outcome} {view.exit_code}"
        if not (
            {str(view.outcome), found} & set(errand.ends) or self._could_not_work(errand, view)
        ):
            self.scene.blame(f"{errand.name} ended as {found} ({view.because}), not {errand.ends}")

    def _starts_of(self, errand: Errand, view: RunView, starts: int) -> None:
        excused = self._is_lost(view) or self._could_not_work(errand, view)
        if starts == 0 and not excused and view.outcome != "cancelled":
            self.scene.blame(f"{errand.name} never started, and ended as {view.outcome}")
        if starts > 1:
            self.books.run_again += 1
            if May.RUN_AGAIN not in self.may:
                self.scene.blame(f"{errand.name} started {starts} times")

    def _output_of(self, errand: Errand, view: RunView) -> None:
        expected = errand.output
        if expected is None or self._could_not_work(errand, view):
            return
        at, records = 0, self._records(view.id)
        if expected.only_its_end:  # packed, and its beginning let go, while it is read: look again
            give_up_at = time.monotonic() + SOON_S
            while _lacking(records, expected) and time.monotonic() < give_up_at:
                records = self._records(view.id)
        for record in records:
            self.books.output_bytes += len(record.data)
            if record.data != expected.part(record.at, record.end):
                self.scene.blame(f"{errand.name}: output is wrong from byte {record.at} on")
                return
            at = record.end
        missing = _lacking(records, expected)
        self.books.lacking_bytes += missing
        if missing and May.LACK_ROOM not in self.may:
            self.scene.blame(f"{errand.name}: {missing} bytes of its output are not kept")
        self._is_whole(errand, end=at)

    def _records(self, run: str) -> list[Record]:
        return self._asked(lambda client: list(client.log_records(run)))

    def _is_whole(self, errand: Errand, *, end: int) -> None:
        expected = errand.output
        assert expected is not None
        if end == expected.size:
            return
        self.books.cut_bytes += max(0, expected.size - end)
        if end > expected.size or May.END_EARLY not in self.may:
            self.scene.blame(f"{errand.name}: {end} of {expected.size} bytes of output")

    # -- work -----------------------------------------------------------------------------

    def _work_of(
        self, errands: Sequence[Errand], ids: dict[str, str], ended: dict[str, RunView]
    ) -> None:
        if not errands:
            return
        self._cleared_a_month_later()
        places = self._asked(lambda client: client.workspaces())
        paths = {place.run: place.path for place in places if place.run}
        for errand in errands:
            self.books.workspaces += 1
            run = ids[errand.name]
            path = paths.get(run)
            if path is not None:
                self._in_place(errand, Path(path))
            self._on_branch(errand, f"paddock/{run}:committed.txt")
            # One may go when its work was saved: then a branch holds all of it.
            if path is None or self._is_saved(errand, ended[run]):
                self._on_branch(errand, f"paddock/{run}:work.txt")

    def _cleared_a_month_later(self) -> None:
        """Everything looks old: what stays does so for what is in it, or because it is in use."""
        self.scene.set_clock(A_MONTH_S)
        try:
            self._asked(lambda client: client.clear_workspaces())
        finally:
            self.scene.set_clock(0)
        top = self.house.places.state / "workspaces"

        def left() -> list[str]:
            found = [path for name in HALF_DONE for path in top.glob(f"*/{name}")]
            return [str(path.relative_to(top)) for path in found]

        self._soon(lambda: not left(), lambda: f"half done in the workspaces: {left()}")

    def _is_saved(self, errand: Errand, view: RunView) -> bool:
        """Without room on the disk it is not, and then stays in its place."""
        return errand.saved and not self._is_lost(view) and May.LACK_ROOM not in self.may

    def _in_place(self, errand: Errand, directory: Path) -> None:
        text = f"{errand.name}\n"
        file = directory / "work.txt"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            self.scene.blame(f"{errand.name}: work.txt is not in its workspace any more")

    def _on_branch(self, errand: Errand, what: str) -> None:
        self._soon(
            lambda: git(self.scene.shop, "show", what, check=False) == errand.name,
            lambda: f"{errand.name}: there is no {what}",
        )

    def _asked(self, ask: Callable[[Client], T]) -> T:
        return patiently(lambda: self.scene.ask(ask), within_s=LONG_S)

    # -- what is left ---------------------------------------------------------------------

    def _soon(self, is_so: Callable[[], bool], otherwise: Callable[[], str]) -> None:
        give_up_at, pauses = time.monotonic() + SOON_S, pauses_s()
        while not is_so():
            if time.monotonic() > give_up_at:
                self.scene.blame(otherwise())
                return
            time.sleep(next(pauses))

    def _nothing_left(self, runs: Sequence[str]) -> None:
        self._soon(lambda: not self._left(), lambda: f"processes are left: {self._left()}")
        home = read_home(self.house.places.keeper)
        if home is not None:
            fleet = home.fleet
            self._soon(
                lambda: not fleet.children(), lambda: f"cgroups are left: {fleet.children()}"
            )
        output = self.house.places.output
        pipes = [path for run in runs for path in (output / run).glob("*.fifo")]
        self._soon(lambda: not any(each.exists() for each in pipes), lambda: f"left: {pipes}")
        self._soon(lambda: len(self._daemons()) == 1, lambda: f"daemons: {self._daemons()}")
        self._soon(lambda: not self._zombies(), lambda: f"nobody reaps {self._zombies()}")
        self._soon(
            lambda: self._descriptors() < MOST_DESCRIPTORS,
            lambda: f"the daemon has {self._descriptors()} descriptors",
        )
        self._soon(
            lambda: self._resident_bytes() < MOST_BYTES,
            lambda: f"the daemon holds {self._resident_bytes()} bytes",
        )

    def _left(self) -> list[str]:
        """Of whatever run: all of them carry the mark of the house, and none may live."""
        return [f"{pid}: {_command_of(pid)!r}" for pid in leaks.marked(self.house.mark)]

    def _daemons(self) -> list[int]:
        found = leaks.commanded(str(self.house.places.state))
        return [pid for pid in found if b"\0daemon\0run\0" in _command_of(pid)]

    def _zombies(self) -> list[str]:
        parents = {str(pid) for pid in (self.scene.daemon_pid(), *self.scene.keeper_pids())}
        found = []
        # Not "[0-9]*/stat": a glob that looks into a process just as it goes raises ESRCH.
        for process in Path("/proc").glob("[0-9]*"):
            try:
                stat = (process / "stat").read_text(encoding="utf-8")
                state, parent = stat.rpartition(")")[2].split()[:2]
            except (OSError, UnicodeDecodeError):
                continue
            if state == "Z" and parent in parents:
                found.append(process.name)
        return found

    def _descriptors(self) -> int:
        try:
            return len(os.listdir(f"/proc/{self.scene.daemon_pid()}/fd"))  # noqa: PTH208
        except OSError:
            return MOST_DESCRIPTORS

    def _resident_bytes(self) -> int:
        try:
            return leaks.resident_bytes(self.scene.daemon_pid())
        except (OSError, IndexError):
            return MOST_BYTES

    # -- files ----------------------------------------------------------------------------

    def _database(self, runs: Sequence[str]) -> None:
        """A copy of it: the daemon lets nobody else in."""
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory) / "copy.db"
            if not _copied(self.house.places.store, copy):
                self.scene.blame("the database is never quiet")
                return
            db = apsw.Connection(str(copy))
            try:
                for look in ("integrity_check", "foreign_key_check"):
                    problems = [row for row in db.execute(f"PRAGMA {look}") if row != ("ok",)]
                    if problems:
                        self.scene.blame(f"{look}: {problems[:3]}")
                ended = {row[0] for row in db.execute("SELECT id FROM runs WHERE state = 'ended'")}
            finally:
                db.close()
        self.books.databases += 1
        if unknown := set(runs) - ended:
            self.scene.blame(f"not ended in the database: {unknown}")

    def _logs(self) -> None:
        """What daemon and keeper said since the last round: no bug was met."""
        state = self.house.places.state
        for path in (self.house.places.log, state / "keeper.log"):
            text = path.read_text("utf-8", "replace") if path.exists() else ""
            read = self.scene.read_to.get(path, 0)
            self.scene.read_to[path] = len(text)
            new = text[read if read <= len(text) else 0 :]
            if found := BAD_WORDS.search(new):
                begin = max(0, found.start() - 300)
                self.scene.blame(f"{path.name}: {new[begin : found.start() + 3000]}")


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _copied(store: Path, copy: Path) -> bool:
    """With its write-ahead log, while nobody writes."""
    give_up_at, pauses = time.monotonic() + SOON_S, pauses_s()
    files = {Path(f"{store}{end}"): Path(f"{copy}{end}") for end in ("", "-wal")}
    while time.monotonic() < give_up_at:
        before = [_looks(path) for path in files]
        for path, to in files.items():
            to.unlink(missing_ok=True)
            if path.exists():
                shutil.copyfile(path, to)
        if before == [_looks(path) for path in files]:
            return True
        time.sleep(next(pauses))
    return False


def _looks(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size


def _lacking(records: Sequence[Record], expected: Output) -> int:
    """Bytes that are not kept. Of a flood the beginning is let go on purpose, and only that."""
    if expected.only_its_end:
        begin = next((n for n, record in enumerate(records) if record.data), len(records))
        records = records[begin + 1 :]  # it says what is missing before it
    return sum(record.missing_bytes for record in records)
