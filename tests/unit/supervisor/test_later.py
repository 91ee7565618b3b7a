"""When an agent wants to be tried again: every form that is allowed, and whatever else it wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.supervisor.later import Stated, stated_in

NOW = 1_794_850_000.0  # 2026-11-16T17:26:40Z


def stated(tmp_path: Path, text: str, *, written_s_ago: float = 0.0) -> Stated:
    file = tmp_path / "later"
    file.write_text(text, encoding="utf-8")
    os.utime(file, (NOW - written_s_ago, NOW - written_s_ago))
    return stated_in(str(file), now=NOW)


@pytest.mark.parametrize(
    ("text", "after_s"),
    [
        ("90", 90.0),
        ("90\n", 90.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("2026-11-16T17:36:40Z", 600.0),
        ("2026-11-16T19:36:40+02:00", 600.0),
        ("Mon, 16 Nov 2026 17:36:40 GMT", 600.0),
        ("1794850600", 600.0),
        ("2020-01-01T00:00:00Z", 0.0),
    ],
)
def test_seconds_times_and_dates_are_understood(tmp_path: Path, text: str, after_s: float) -> None:
    assert stated(tmp_path, text) == Stated(after_s=after_s)


def test_a_pause_begins_when_it_was_written_as_the_daemon_may_have_been_away(
    tmp_path: Path,
) -> None:
    assert stated(tmp_path, "90", written_s_ago=60.0) == Stated(after_s=30.0)
    assert stated(tmp_path, "90", written_s_ago=600.0) == Stated(after_s=0.0)


def test_a_clock_that_was_set_back_makes_no_pause_longer(tmp_path: Path) -> None:
    assert stated(tmp_path, "90", written_s_ago=-3600.0) == Stated(after_s=90.0)


@pytest.mark.parametrize(
    "text",
    ["soon", "-5", "nan", "1e9", "2026-11-16T17:36:40", "9" * 30, "٣", "Mon, 99 Nov 2026", "\x00"],
)
def test_what_is_no_time_is_said_in_one_line(tmp_path: Path, text: str) -> None:
    found = stated(tmp_path, text)
    assert found.after_s is None and found.problem is not None
    assert "allowed: seconds, a time with its zone" in found.problem
    assert found.problem.isprintable()


def test_nothing_written_is_nothing_stated(tmp_path: Path) -> None:
    assert stated_in(str(tmp_path / "none"), now=NOW) == Stated()
    assert stated(tmp_path, " \n") == Stated()


def test_whatever_lies_there_is_neither_followed_nor_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/etc/hostname")
    (tmp_path / "folder").mkdir()
    for name in ("fifo", "link", "folder"):
        found = stated_in(str(tmp_path / name), now=NOW)
        assert found.problem is not None, name
    assert "longer than 200 bytes" in str(stated(tmp_path, "9" * 1000).problem)
