"""A keeper for each test, checked for leaks when the test is done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.keeping import Keeping, keeping


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Keeping]:
    """Takes the output over 50 ms after its daemon has gone, where the product waits 1 s."""
    with keeping(tmp_path, splice_after_s=0.05) as kept:
        yield kept
