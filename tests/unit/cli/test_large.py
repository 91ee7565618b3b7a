"""A large repository is asked about, where somebody is there to answer."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_daemon import FakeDaemon

FLEET = """\
defaults: {repo: ., memory: 64M}
runs:
  - {name: a, command: [x]}
  - {name: b, command: [x]}
  - {name: elsewhere, command: [x], repo: ..}
heartbeats:
  - {name: h, every: 30s, command: [x]}
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon(large=True)


@dataclass(slots=True)
class Somebody:
    """At a terminal: what they type, and what they see."""

    patch: pytest.MonkeyPatch
    sees: Terminal = field(default_factory=Terminal)

    def types(self, text: str) -> None:
        self.patch.setattr(sys, "stdin", Terminal(text))
        self.patch.setattr(sys, "stderr", self.sees)


@pytest.fixture
def somebody(monkeypatch: pytest.MonkeyPatch) -> Somebody:
    return Somebody(monkeypatch)


@pytest.mark.parametrize("words", [("run",), ("submit",), ("submit", "--json")])
def test_with_nobody_there_it_is_refused_with_the_sentence(
    paddock: Paddock, daemon: FakeDaemon, words: tuple[str, ...]
) -> None:
    called = paddock(*words, "--repo", ".", "--", "make")
    assert (called.code, called.out) == (3, "")
    assert called.err == "paddock: make: the working tree has 6 GiB (--yes)\n"
    assert daemon.submits == []


@pytest.mark.parametrize("flags", [("--yes",), ("--shallow",), ("--sparse", "src")])
def test_a_flag_is_an_answer(paddock: Paddock, daemon: FakeDaemon, flags: tuple[str, ...]) -> None:
    assert paddock("run", "--repo", ".", *flags, "--", "make").code == 0
    assert len(daemon.submits) == 1


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("continue\n", (True, False, ())),
        ("shallow\n", (False, True, ())),
        ("nonsense\nsparse\n\nsrc/web 'my docs'\n", (False, False, ("src/web", "my docs"))),
    ],
)
def test_at_a_terminal_it_is_asked_and_submitted_again(
    paddock: Paddock,
    daemon: FakeDaemon,
    somebody: Somebody,
    typed: str,
    said: tuple[object, ...],
) -> None:
    somebody.types(typed)
    assert paddock("submit", "--repo", ".", "--", "make").code == 0
    (run,) = daemon.submits[0].runs
    assert (run.any_size, run.shallow, run.sparse) == said
    assert "make: the working tree has 6 GiB" in somebody.sees.getvalue()
    assert "continue, shallow, sparse, cancel" in somebody.sees.getvalue()


@pytest.mark.parametrize("typed", ["cancel\n", "\n"])
def test_whoever_cancels_has_submitted_nothing(
    paddock: Paddock,
    daemon: FakeDaemon,
    somebody: Somebody,
    typed: str,
) -> None:
    somebody.types(typed)
    assert paddock("run", "--repo", ".", "--", "make").code == 3
    assert daemon.submits == []
    assert "cancelled: nothing was submitted" in somebody.sees.getvalue()


def test_ctrl_c_at_the_question_is_an_interruption(
    paddock: Paddock, daemon: FakeDaemon, somebody: Somebody
) -> None:
    somebody.types("")  # the end of what is typed
    assert paddock("run", "--repo", ".", "--", "make").code == 130
    assert daemon.submits == [] and "6 GiB" in somebody.sees.getvalue()


def test_each_repository_of_a_fleet_is_asked_about_once(
    paddock: Paddock,
    daemon: FakeDaemon,
    somebody: Somebody,
    tmp_path: Path,
) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET, encoding="utf-8")
    somebody.types("continue\nshallow\n")
    assert paddock("fleet", "--detach", str(tmp_path / "fleet.yaml")).code == 0
    (submit,) = daemon.submits
    assert [run.any_size for run in submit.runs] == [True, True, False]
    assert [run.shallow for run in submit.runs] == [False, False, True]
    assert submit.heartbeats[0].run.any_size
    assert somebody.sees.getvalue().count("6 GiB") == 2


def test_a_fleet_with_yes_is_not_asked_about(
    paddock: Paddock, daemon: FakeDaemon, tmp_path: Path
) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET, encoding="utf-8")
    refused = paddock("fleet", "--detach", str(tmp_path / "fleet.yaml"))
    assert refused.code == 3 and "fleet.yaml:3: a: the working tree" in refused.err
    assert paddock("fleet", "--detach", "--yes", str(tmp_path / "fleet.yaml")).code == 0
    assert all(run.any_size for run in daemon.submits[0].runs)
