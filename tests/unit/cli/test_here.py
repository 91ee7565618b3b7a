"""A command that reads the configuration says a mistake in it in one line, whichever it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cli.main import main


@pytest.mark.parametrize(
    "words",
    [
        ("agent-guide",),
        ("bench", "baseline", "--agent", "claude", "--rehearse"),
        ("bench", "baseline", "--container", "--agent", "true"),
        ("rehearse", "--agent", "claude"),
        ("bench", "find"),
        ("kubernetes", "render"),
    ],
    ids=" ".join,
)
def test_a_mistake_in_the_configuration_is_one_line(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "paddock").mkdir()
    (tmp_path / "paddock/config.yaml").write_text("sandbox: {memory_limt: 4G}\n", "utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main([*words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "memory_limt" in said and "memory_limit" in said
    assert "`paddock config check` says all that is wrong" in said
