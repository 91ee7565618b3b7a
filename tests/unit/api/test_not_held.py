"""Walls that were asked for and that this host cannot hold are said, and only those."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paddock.api.recipes import not_held
from paddock.drivers.fake.driver import FakeDriver
from paddock.ports import Guarantees
from paddock.wire.run_request import RunRequest

ASKED = RunRequest(name="a", command=("true",), cpu=0.5, pids=64, memory_high_percent=50.0)
PLAIN = RunRequest(name="b", command=("true",))


class Host(FakeDriver):
    walled = True
    lacks: frozenset[str] = frozenset()

    @property
    def guarantees(self) -> Guarantees:
        usual = super().guarantees
        return replace(usual, name="local", hard_memory_wall=self.walled, unheld=self.lacks)


@pytest.mark.parametrize(
    ("walled", "lacks", "said"),
    [
        (True, (), None),
        (True, ("cpu",), "cpu will not be held: the driver local has no such wall on this host"),
        (True, ("pids", "memory_high"), "pids and memory_high will not be held: the driver local"),
        (False, (), "cpu and pids and memory_high will not be held: the driver local has no walls"),
    ],
)
def test_what_will_not_be_held_is_said(
    *, walled: bool, lacks: tuple[str, ...], said: str | None
) -> None:
    host = Host()
    host.walled, host.lacks = walled, frozenset(lacks)
    told = not_held([PLAIN, ASKED], host)
    assert told == said if said is None else (told or "").startswith(said)
    assert not_held([PLAIN], host) is None
