"""What dashboards are given besides the client."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.client.errors import BadRequest
from paddock.client.faces import log_lines


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / ".paddock").mkdir()
    return tmp_path / ".paddock/config.yaml"


def test_a_display_keeps_2000_lines_of_an_agent_or_as_many_as_the_files_say(project: Path) -> None:
    assert log_lines() == 2000
    project.write_text("performance: {tui_log_lines: 300}\n", encoding="utf-8")
    assert log_lines() == 300


def test_a_mistake_in_a_file_is_told_as_one(project: Path) -> None:
    project.write_text("performance: {tui_log_lines: 99}\n", encoding="utf-8")
    with pytest.raises(BadRequest, match="tui_log_lines: found 99"):
        log_lines()
