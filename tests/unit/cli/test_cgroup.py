"""`paddock cgroup`: what is refused before any cgroup is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Paddock


@pytest.fixture(autouse=True)
def _nobodys_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PADDOCK_STATE", str(tmp_path))


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\0b", "ä", "x" * 65])
@pytest.mark.parametrize("words", [["create"], ["rm"], ["exec"]])
def test_a_bad_name_is_one_clear_line(paddock: Paddock, words: list[str], name: str) -> None:
    more = ["true"] if words == ["exec"] else []
    called = paddock("cgroup", *words, "--", name, *more)
    assert (called.code, called.out, called.err.count("\n")) == (2, "", 1)
    assert "cgroup" in called.err


@pytest.mark.parametrize(
    "words",
    [
        ["create"],
        ["create", "x", "--memory", "1K"],
        ["create", "x", "--pids", "0"],
        ["create", "x", "--cpu", "nan"],
        ["create", "x", "--memory", "64M", "--memory-high", "65M"],
        ["exec", "x"],
        ["exec"],
    ],
)
def test_walls_that_are_none_are_refused(paddock: Paddock, words: list[str]) -> None:
    called = paddock("cgroup", *words)
    assert (called.code, called.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    "words", [["rm", "nobody-made-this"], ["exec", "nobody-made-this", "true"]]
)
def test_one_that_is_not_there_is_not_found(paddock: Paddock, words: list[str]) -> None:
    called = paddock("cgroup", *words)
    assert called.code == 4
    assert "paddock cgroup create nobody-made-this makes it" in called.err
