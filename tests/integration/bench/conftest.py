"""A yard for each test, which must be empty after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.waiting import until

from .yard import Yard


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    yard = Yard(tmp_path)
    yield yard
    until(lambda: not yard.left(), within_s=30)
