"""A pen for each test, removed with everything in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.rescue.pen import Pen, a_pen


@pytest.fixture
def pen(tmp_path: Path) -> Iterator[Pen]:
    with a_pen(tmp_path) as pen:
        pen.move_in()
        yield pen
