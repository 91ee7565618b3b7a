"""A served desk for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.desk import ServedDesk, a_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[ServedDesk]:
    with a_desk(tmp_path) as served:
        yield served
