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


@pytest.mark.parametrize(
    "words", [("config", "show"), ("config", "check"), ("config", "init")], ids=" ".join
)
def test_a_directory_that_is_no_longer_there_is_said(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main([*words]) == 2
    told = "paddock: the directory you are in is no longer there; cd elsewhere\n"
    assert capsys.readouterr().err == told


def test_a_users_file_makes_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert main(["config", "init", "--user"]) == 2
    assert "nobody is not there" in capsys.readouterr().err
    assert not (tmp_path / "nobody").exists()
