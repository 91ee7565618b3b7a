"""A line that is written over itself, where somebody looks."""

from __future__ import annotations

import io

import pytest

from paddock.cli.live_line import LiveLine
from tests.kit.waiting import until


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_it_says_what_it_is_at_and_for_how_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with LiveLine(terminal, every_s=0.01) as line:
        line.say("begun")
        line.now("2 of 8\x1b[2J ended")
        until(lambda: "2 of 8" in terminal.getvalue(), within_s=10)
    drawn = terminal.getvalue()
    assert "\r\x1b[K2 of 8" in drawn and " · 0 s" in drawn
    assert "\x1b[2J" not in drawn, "nothing of an agent acts on it"
    assert drawn.endswith("\r\x1b[K"), "and nothing of it is left"
    assert capsys.readouterr().err == "paddock: begun\n"


def test_what_is_too_long_for_the_terminal_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with LiveLine(terminal, every_s=0.01) as line:
        line.now("x" * 300)
        until(lambda: "x" in terminal.getvalue(), within_s=10)
    lines = terminal.getvalue().split("\r\x1b[K")
    assert max(map(len, lines)) == 79


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_elsewhere_only_what_was_found_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    stream = io.StringIO() if term == "xterm" else Terminal()
    with LiveLine(stream, every_s=0.01) as line:
        line.now("2 of 8 ended")
        line.say("all ended")
    assert stream.getvalue() == ""
    assert capsys.readouterr().err == "paddock: all ended\n"


def test_a_terminal_that_was_closed_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with LiveLine(terminal, every_s=0.01) as line:
        line.now("at work")
        until(terminal.getvalue, within_s=10)
        terminal.close()
        line.now("still at work")
