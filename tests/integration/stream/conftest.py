"""Stages for a test to make, of which no process is left; and what they are fed with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.stream.stages import (
    House,
    MakeHouse,
)
from tests.kit.leaks import marked


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    made = random.Random(6).randbytes(23_456)
    (tmp_path / "in").write_bytes(made)
    return made


@pytest.fixture
def house(tmp_path: Path) -> Iterator[MakeHouse]:
    made: list[House] = []

    def make(*steps: dict[str, Any], **more: Any) -> House:
        made.append(House(tmp_path, steps, **{"chunk_bytes": 1000, "queued": 3, **more}))
        return made[-1]

    yield make
    for one in made:
        left = marked(one.mark)
        one.clear()
        assert left == {}, "processes are left"
