"""Targets are fed in a pen, which is there no longer than they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .pen import let_go


@pytest.fixture(autouse=True, scope="module")
def no_pen_is_left() -> Iterator[None]:
    yield
    let_go()
