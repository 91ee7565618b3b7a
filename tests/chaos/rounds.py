"""One round: a random fleet, some faults in the middle of it, and then everything is looked at."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TypeVar

from paddock.client import Client
from paddock.logs.free_room import LOOK_EVERY_S
from paddock.wire.views import RunView
from tests.chaos import errands
from tests.chaos.books import Books
from tests.chaos.checks import Check
from tests.chaos.errands import Errand
from tests.chaos.fault import Fault, May, NotDone, Undo
from tests.chaos.scene import LONG_S, Scene
from tests.chaos.table import ENDS_DAEMON, may_differ
from tests.kit.house import patiently

T = TypeVar("T")


class Round:
    def __init__(self, scene: Scene, books: Books, number: int, faults: Sequence[Fault]) -> None:
        self.scene, self.books, self.number = scene, books, number
        self.faults = faults
        self.names = tuple(fault.name for fault in faults)
        self.draw = scene.draw = random.Random(f"{books.seed}/{number}")
        self.check = Check(scene, books, may_differ(faults))
        self._undo: list[Undo] = []

    def play(self) -> bool:
        """Whether nothing was violated."""
        began, self.scene.found = time.monotonic(), []
        try:
            self._play()
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            self.scene.blame(traceback.format_exc())
            self._undo_all()
        for text in self.scene.found:
            self.books.blame(self.number, self.names, text)
        took_s = time.monotonic() - began
        self.books.rounds += 1
        self.books.longest_round_s = max(self.books.longest_round_s, took_s)
        return not self.scene.found

    def _play(self) -> None:
        scene, draw = self.scene, self.draw
        scene.wake()
        before = scene.daemon_pid()
        self.check.ledger.unlink(missing_ok=True)
        fleet = self._fleet()
        draw.shuffle(fleet)
        first = draw.randint(0, len(fleet))
        ids = self._submit(fleet[:first])
        self._do_faults()
        scene.wake()
        ids |= self._submit(fleet[first:])
        views = self._until_all_ended(fleet, ids)
        self.check.all_of(fleet, ids, views)
        if not ENDS_DAEMON & set(self.names) and scene.daemon_pid() != before:
            scene.blame("the daemon died of something that is no reason to die")
        if May.LACK_ROOM in self.check.may:
            # The daemon sees that there is room again a second later: the next round has nothing to
            # do with that.
            time.sleep(LOOK_EVERY_S + 0.1)
        self.books.runs += len(fleet)
        for name in self.names:
            self.books.tried(name).runs += len(fleet)

    def _fleet(self) -> list[Errand]:
        scene, draw = self.scene, self.draw
        name = f"r{self.number}"
        fleet = [errands.plain(draw, f"{name}-{n}") for n in range(draw.randint(2, 6))]
        if draw.random() < 0.3 or "git-locks" in self.names:
            fleet.append(errands.worker(draw, f"{name}-work", scene.shop))
        bad = [(fault.name, fault.agents) for fault in self.faults if fault.agents is not None]
        return [*fleet, *(make(scene, f"{name}-{kind}") for kind, make in bad)]

    def _submit(self, fleet: Sequence[Errand]) -> dict[str, str]:
        """With one key for all tries: an answer that was lost must not make two runs of one."""
        if not fleet:
            return {}
        taken = self.scene.house.submit(*(each.request(self.check.ledger) for each in fleet))
        return {run.name: run.id for run in taken.runs}

    # -- faults ---------------------------------------------------------------------------

    def _do_faults(self) -> None:
        """Some are undone before the next is done, others only at the end."""
        for fault in self.faults:
            tried = self.books.tried(fault.name)
            tried.rounds += 1
            if fault.do is None:
                continue
            self.scene.pause(0.3)
            try:
                undo = fault.do(self.scene)
            except NotDone:
                tried.not_done += 1
                continue
            if undo is not None:
                self._undo.append(undo)
            if self.draw.random() < 0.5:
                self._undo_all()
        self.scene.pause(0.3)
        self._undo_all()

    def _undo_all(self) -> None:
        while self._undo:
            self._undo.pop()()

    # -- the end --------------------------------------------------------------------------

    def _until_all_ended(self, fleet: Sequence[Errand], ids: dict[str, str]) -> dict[str, RunView]:
        endless = [ids[errand.name] for errand in fleet if errand.kill]
        self._kill(endless)
        give_up_at = time.monotonic() + LONG_S
        while True:
            views = self._asked(lambda client: client.wait(list(ids.values()), timeout_s=1.0))
            late = [view for view in views if view.state != "ended"]
            if not late:
                return {view.id: view for view in views}
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"not ended within {LONG_S:g} s: {late}")

    def _asked(self, ask: Callable[[Client], T]) -> T:
        return patiently(lambda: self.scene.ask(ask), within_s=LONG_S)

    def _kill(self, runs: list[str]) -> None:
        """When they are at work; those that do not listen are ended by force."""
        if not runs:
            return
        give_up_at = time.monotonic() + LONG_S
        while self._waiting(runs) and time.monotonic() < give_up_at:
            time.sleep(0.05)
        self.scene.pause(0.5)
        self._asked(lambda client: client.kill(runs))
        time.sleep(0.2)
        self._asked(lambda client: client.kill(runs, force=True))

    def _waiting(self, runs: list[str]) -> bool:
        views = self._asked(lambda client: [client.run(run) for run in runs])
        return any(view.state in ("queued", "starting") for view in views)
