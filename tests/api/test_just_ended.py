"""A run that has just ended, and the store does not know it yet: it is listed once all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from paddock.core.run import Ended
from paddock.wire.views import RunView
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.supervising import SlowStore
from tests.kit.waiting import until

T = TypeVar("T")


class Crowd:
    """Of two runs that have ended: the store is at work on the first, and will hear of the second
    after whoever asks meanwhile."""

    def __init__(self, desk: ServedDesk, store: SlowStore) -> None:
        self.desk, self._store = desk, store
        self._hands = ThreadPoolExecutor(1)

    def ends(self) -> None:
        agents = (an_agent("first", "sleep=0.5"), an_agent("second", "sleep=1"))
        ids = [one.id for one in self.desk.submit(*agents, fleet="pair").runs]
        runs = self.desk.supervisor.fleet.runs
        until(lambda: self.desk.now(lambda: all(runs[one].live for one in ids)))
        self._store.gate.clear()
        until(lambda: self.desk.now(lambda: all(isinstance(runs[one].state, Ended) for one in ids)))

    def ask(self, what: Callable[[], T]) -> T:
        """Its answer: the store goes on once it is asked, or once its ends are waited for."""
        answer = self._hands.submit(what)
        until(lambda: self.desk.now(self._is_awaited))
        self._store.gate.set()
        return answer.result(60)

    def _is_awaited(self) -> bool:
        supervisor = self.desk.supervisor
        return bool(supervisor._disk._work.qsize() or supervisor._waiters._waiting)  # noqa: SLF001

    def close(self) -> None:
        self._store.gate.set()
        self._hands.shutdown()


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    store = SlowStore()
    with a_desk(tmp_path, store=store) as desk:
        found = Crowd(desk, store)
        found.ends()
        yield found
        found.close()


def names(runs: list[RunView]) -> list[str]:
    return sorted(run.name for run in runs)


def test_it_is_in_the_list_of_all(crowd: Crowd) -> None:
    with crowd.desk.client() as client:
        listed = crowd.ask(lambda: client.runs(all=True))
    assert names(listed) == ["first", "second"]


def test_it_is_in_its_fleet(crowd: Crowd) -> None:
    with crowd.desk.client() as client:
        waited = crowd.ask(lambda: client.wait(fleet="pair"))
    assert names(waited) == ["first", "second"]
