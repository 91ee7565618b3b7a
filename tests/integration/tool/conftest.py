"""Where the tests' agents live: cgroups of their own on this machine, removed with all in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from paddock.cgroups.mounts import UNIFIED, top_of
from tests.integration.tool.pen import Pen

MakePen = Callable[[int], Pen]


@pytest.fixture
def a_pen() -> Iterator[MakePen]:
    made: list[Pen] = []

    def make(limit_mb: int) -> Pen:
        made.append(Pen.on_v1(limit_mb) if top_of("memory") else Pen.on_v2(limit_mb))
        return made[-1]

    if top_of("memory") is None and top_of(UNIFIED) is None:
        pytest.skip("this machine has no cgroups")
    yield make
    for pen in made:
        left = pen.tools()
        pen.remove()
        assert left == []
