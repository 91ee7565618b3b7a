"""`paddock report --html`: where nothing may be written, the file that was named is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paddock.cli.exits import CommandError
from paddock.cli.report import _write


def test_a_place_without_rights_is_said_by_the_name_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path, *_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "write_text", denied)
    monkeypatch.setattr(Path, "unlink", denied)
    with pytest.raises(CommandError) as error:
        _write(tmp_path / "page.html", "text")
    assert error.value.message == f"{tmp_path}/page.html cannot be written: Permission denied"
