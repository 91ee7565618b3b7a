"""What stands on a terminal after what tmux wrote to it: for benchmarks that look at a screen."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def screen() -> Any:
    file = Path(__file__).parents[3] / "bench/drawn.py"
    spec = importlib.util.spec_from_file_location("drawn", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Drawn(20, 4)


def test_only_what_has_changed_is_written_and_the_whole_stands_there(screen: Any) -> None:
    screen.draw(b"\x1b[2J\x1b[1;1Hat 12.345 of a log")
    screen.changed.clear()
    screen.draw(b"\x1b[1;5H3\x1b[2C6")
    assert screen.row(0).rstrip() == "at 13.365 of a log"
    assert screen.changed == {0}
    assert "13.365" in screen


def test_the_row_in_reverse_video_is_the_chosen_one(screen: Any) -> None:
    screen.draw(b"one\r\n\x1b(B\x1b[m\x1b[7mtwo\x1b[27m three\x1b[3;1Hfour")
    assert [row.rstrip() for row in screen.chosen()] == ["two three"]
    screen.draw(b"\x1b[2;1Htwo\x1b[3;1H\x1b[7mfour\x1b[m")
    assert [row.rstrip() for row in screen.chosen()] == ["four"]


def test_what_is_cut_in_two_is_put_together(screen: Any) -> None:
    whole = "\x1b[2;3H█▌\x1b[7mx\x1b]0;title\x07\x1b[1Ky".encode()
    for byte in whole:
        screen.draw(bytes([byte]))
    assert screen.row(1)[:8] == " " * 5 + "y  "


def test_what_is_not_known_is_no_guess(screen: Any) -> None:
    with pytest.raises(AssertionError, match="not known here"):
        screen.draw(b"\x1b[3L")
