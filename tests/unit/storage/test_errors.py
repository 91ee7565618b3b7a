"""What a user reads when the store is in trouble: one line, what was found, what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.storage import errors
from paddock.storage.errors import StoreError

PATH = Path("/state/fleet.db")


@pytest.mark.parametrize(
    "error",
    [
        errors.StoreDamaged(PATH, "page 7"),
        errors.StoreForeign(PATH),
        errors.StoreTooNew(PATH, found=9, known=1),
        errors.StoreInUse(PATH, by="process 7"),
        errors.StoreFull(PATH),
        errors.StoreReadOnly(PATH, "read-only file system"),
        errors.StoreUnsafe(PATH.parent),
        errors.StoreGone(PATH, missing=str(PATH)),
        errors.StoreFailed(PATH, "disk I/O error"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_each_trouble_is_one_line_that_names_the_place(error: StoreError) -> None:
    text = str(error)
    assert "\n" not in text
    assert str(PATH.parent) in text
    assert ";" in text, "what was found; what to do"
