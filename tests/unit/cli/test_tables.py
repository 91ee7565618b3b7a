"""Columns, widths, colours, and what is made harmless."""

from __future__ import annotations

import io

import pytest

from paddock.cli.printing import clock_time, colour_of, coloured, paint, safe, terminal_width
from paddock.cli.tables import Cell, Column, cut, fold, shown_width, table

COLUMNS = (Column("name", gives_way=1), Column("n", right=True), Column("why", gives_way=2))
ROWS = [("a-rather-long-name", "7", Cell("it has a long story to tell", "red"))]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_nothing_is_cut() -> None:
    assert list(table(COLUMNS, ROWS, colour=False)) == [
        "name                n  why",
        "a-rather-long-name  7  it has a long story to tell",
    ]


def test_what_gives_way_first_is_cut_first() -> None:
    lines = list(table(COLUMNS, ROWS, width=40, colour=False))
    assert lines[1] == "a-rather-long-name  7  it has a long st…"
    narrow = list(table(COLUMNS, ROWS, width=22, colour=False))
    assert narrow[1] == "a-rather…  7  it has…"
    assert max(map(len, narrow)) <= 22


def test_columns_leave_before_the_others_are_cut_too_far() -> None:
    columns = (
        Column("name", gives_way=1, least=16),
        Column("n", right=True, leaves=1),
        Column("m", leaves=2),
        Column("why", gives_way=2, least=10),
    )
    rows = [("a-rather-long-name", "7", "8", "it has a long story to tell")]
    assert list(table(columns, rows, width=33, colour=False)) == [
        "name                n  why",
        "a-rather-long-name  7  it has a…",
    ]
    assert list(table(columns, rows, width=20, colour=False))[1] == "a-rather-…  it has…"
    for width in range(1, 60):
        assert all(len(line) <= width for line in table(columns, rows, width=width, colour=False))


def test_text_is_folded_at_words_and_of_a_long_word_the_end_is_kept() -> None:
    assert fold("one two three", 8) == ["one two", "three"]
    path = "at /home/somebody/.paddock/config.yaml:2"
    assert fold(path, 20) == ["at", "…ddock/config.yaml:2"]
    assert fold("one two three", None) == ["one two three"]
    assert fold("", 5) == [""]


def test_colours_do_not_move_columns() -> None:
    plain = list(table(COLUMNS, ROWS, width=40, colour=False))
    bright = list(table(COLUMNS, ROWS, width=40, colour=True))
    assert "\x1b[31mit has a long st…\x1b[0m" in bright[1]
    assert bright[1].replace("\x1b[31m", "").replace("\x1b[0m", "") == plain[1]


def test_wide_signs_take_two_columns_and_combining_ones_none() -> None:
    assert shown_width("日本") == 4
    assert shown_width("e\u0301") == 1
    assert cut("日本語", 5) == "日本…"
    assert cut("日本語", 4) == "日…"
    assert cut("abc", 0) == ""


def test_what_a_terminal_would_act_upon_is_written_out() -> None:
    assert safe("a\x1b[2Jb") == "a\\x1b[2Jb"
    assert safe("two\nlines") == "two lines"
    assert safe("\u202ereversed") == "\\u202ereversed"
    assert safe("plain ünïcödé") == "plain ünïcödé"


def test_colours_are_only_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert coloured(Terminal())
    assert not coloured(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not coloured(Terminal())
    assert paint("x", "red", on=False) == "x"


def test_whatever_went_wrong_is_red() -> None:
    assert colour_of("succeeded") == "green"
    assert colour_of("memory_limit_exceeded") == "red"
    assert colour_of("starting") is None


def test_a_time_of_another_day_has_its_date() -> None:
    assert len(clock_time(1_000.0, now=1_000.0)) == len("12:03:04")
    assert len(clock_time(1_000.0, now=10_000_000.0)) == len("2025-01-01 12:03:04")
    assert clock_time(None) == "-"


def test_what_is_no_terminal_has_no_width() -> None:
    assert terminal_width(io.StringIO()) is None
    assert terminal_width(Terminal()) is None


def test_of_a_path_the_end_is_kept() -> None:
    columns = (Column("run"), Column("path", gives_way=1, keeps_end=True))
    lines = list(table(columns, [("a", "/very/long/way/to/workspace")], width=20, colour=False))
    assert lines[1] == "a    …y/to/workspace"


def test_what_stands_below_is_whole_at_any_width_and_a_column_where_there_is_room() -> None:
    columns = (Column("name"), Column("n", right=True), Column("why", below=True))
    assert list(table(columns, ROWS, width=60, colour=False)) == list(
        table(columns, ROWS, colour=False)
    )
    assert list(table(columns, ROWS, width=24, colour=False)) == [
        "name                n",
        "a-rather-long-name  7",
        "    it has a long story",
        "    to tell",
    ]
    for width in range(8, 60):
        lines = list(table(columns, ROWS, width=width, colour=False))
        assert all(len(line) <= width for line in lines)
        assert "tell" in " ".join(lines)
