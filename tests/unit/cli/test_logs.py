"""`paddock logs`: every byte into a pipe, nothing dangerous onto a terminal."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from paddock.cli.log_lines import LONGEST_LINE, cleaned, lines, matching
from paddock.cli.main import main
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_daemon import FakeDaemon, Life

EVIL = (
    b"\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2J\x1b[?1049h\x1bcplain\r\n"
    b"\tx\x07\xc2\x9b5n\x1bP1$r\x1b\\!"
)


@pytest.fixture
def review(daemon: FakeDaemon) -> FakeDaemon:
    daemon.lives["review"] = Life(output=b"one\ntwo error\nthree\n")
    daemon.add("review")
    return daemon


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def on_a_terminal(paddock: Paddock, monkeypatch: pytest.MonkeyPatch, *args: str) -> bytes:
    held = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(held))
    monkeypatch.setenv("TERM", "xterm")
    assert paddock(*args).code == 0
    return held.getvalue()


def test_all_of_it_is_printed(paddock: Paddock, review: FakeDaemon) -> None:
    assert paddock("logs", "review").out == "one\ntwo error\nthree\n"
    assert review.runs["r0001"].state == "running"


def test_following_goes_on_until_the_run_has_ended(paddock: Paddock, review: FakeDaemon) -> None:
    assert paddock("logs", "-f", "review").out == "one\ntwo error\nthree\n"
    assert review.runs["r0001"].state == "ended"


def test_following_goes_on_after_a_restart_of_the_daemon(
    paddock: Paddock, review: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.cli.staying.PAUSE_S", 0.0)
    review.breaks_at = [4]
    assert paddock("logs", "-f", "review").out == "one\ntwo error\nthree\n"


@pytest.mark.usefixtures("review")
def test_the_last_lines_and_those_that_match(paddock: Paddock) -> None:
    assert paddock("logs", "--lines", "1", "review").out == "three\n"
    assert paddock("logs", "--lines", "0", "review").out == ""
    assert paddock("logs", "--grep", "err|thr", "review").out == "two error\nthree\n"
    assert paddock("logs", "--lines", "1", "--grep", "err", "review").out == ""


@pytest.mark.usefixtures("review")
def test_json_is_an_object_a_line(paddock: Paddock) -> None:
    called = paddock("logs", "--json", "--grep", "error", "review")
    assert called.out == '{"line":"two error"}\n'


@pytest.mark.usefixtures("review")
def test_what_is_no_regular_expression_or_no_time_is_bad_usage(paddock: Paddock) -> None:
    assert "is no regular expression" in paddock("logs", "--grep", "(", "review").err
    called = paddock("logs", "--since", "soon", "review")
    assert called.code == 2
    assert "allowed: 10m (ago), 14:30 or 14:30:15" in called.err
    called = paddock("logs", "--since", "99999d", "review")
    assert called.code == 2 and "--since: '99999d' is more than ten years; " in called.err


def test_since_and_lines_begin_where_both_do(paddock: Paddock, review: FakeDaemon) -> None:
    review.lives["review"].written_at = time.time() - 600
    assert paddock("logs", "--since", "5m", "review").out == ""
    assert paddock("logs", "--since", "20m", "review").out == "one\ntwo error\nthree\n"
    assert paddock("logs", "--since", "20m", "--lines", "1", "review").out == "three\n"
    assert paddock("logs", "--since", "20m", "-f", "--lines", "1", "review").out == "three\n"


def test_what_is_not_kept_is_said(paddock: Paddock, review: FakeDaemon) -> None:
    review.lives["review"].gone = 6
    called = paddock("logs", "review")
    assert called.out == "o error\nthree\n"
    assert called.err == "paddock: 6 B (1 line) of its output are not kept\n"
    called = paddock("logs", "--json", "--lines", "2", "review")
    assert called.out.splitlines()[0] == '{"missing_bytes":2,"missing_lines":0}'


def test_into_a_pipe_every_byte_goes_as_it_was_written(
    daemon: FakeDaemon, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    daemon.lives["evil"] = Life(output=EVIL)
    daemon.add("evil")
    assert main(["logs", "evil"], door=daemon.door) == 0
    assert capfdbinary.readouterr().out == EVIL


def test_on_a_terminal_only_text_and_colours_come_through(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.lives["evil"] = Life(output=EVIL)
    daemon.add("evil")
    shown = on_a_terminal(paddock, monkeypatch, "logs", "evil")
    assert shown == b"\x1b[31mred\x1b[0m plain\r\n\tx5n!\x1b[0m"


def test_raw_gives_a_terminal_everything(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.lives["evil"] = Life(output=EVIL)
    daemon.add("evil")
    assert on_a_terminal(paddock, monkeypatch, "logs", "--raw", "evil") == EVIL


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"\x1b]52;c;aGk=\x07x", "x"),  # the clipboard
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bP+q544e\x1b\\x", "x"),
        (b"\x9b2Jx", "\ufffd2Jx"),  # C1 as a byte of its own
        (b"\xc2\x1b[2J\x9b31mx", "\ufffd\ufffd31mx"),  # nor made by taking something out
        (b"\x1b\x1b[2J[2Jx", "[2Jx"),
        (b"good\rbad\r\nx\r\r\n\ry", "good\nbad\r\nx\r\r\n\ny"),
        (b"a\x08\x08b\x7f\x00c\xff", "abc\ufffd"),
    ],
)
def test_nothing_that_acts_on_a_terminal_is_left(written: bytes, shown: str) -> None:
    by_byte = [written[at : at + 1] for at in range(len(written))]
    assert b"".join(cleaned([written], colours=True)).decode() == shown
    assert b"".join(cleaned(by_byte, colours=True)).decode() == shown


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_cleaning_does_not_depend_on_where_the_stream_is_cut(size: int) -> None:
    chunks = [EVIL[at : at + size] for at in range(0, len(EVIL), size)]
    assert b"".join(cleaned(chunks, colours=True)) == b"".join(cleaned([EVIL], colours=True))


def test_an_escape_that_never_ends_holds_nothing_back_for_ever() -> None:
    endless = [b"\x1b]0;", *([b"x" * 1000] * 20), b"\nafter"]
    assert b"".join(cleaned(endless, colours=True)).endswith(b"after")


def test_letters_of_other_alphabets_stay_whole() -> None:
    text = "Ünïcödé 日本語 👩‍🚀".encode()
    by_byte = [text[at : at + 1] for at in range(len(text))]
    assert b"".join(cleaned(by_byte, colours=True)) == text


def test_a_line_without_end_comes_in_pieces_of_bounded_size() -> None:
    endless = (b"x" * 65536 for _ in range(100))
    pieces = list(lines(endless))
    assert max(map(len, pieces)) == LONGEST_LINE
    assert sum(map(len, pieces)) == 6_553_600


def test_a_line_that_is_cut_by_chunks_is_matched_whole() -> None:
    chunks = [b"hel", b"lo wor", b"ld\nno\n", b"wor"]
    assert b"".join(matching(chunks, re.compile(b"wor"))) == b"hello world\nwor\n"


def test_without_colours_only_text_comes_through(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    daemon.lives["evil"] = Life(output=EVIL)
    daemon.add("evil")
    shown = on_a_terminal(paddock, monkeypatch, "logs", "evil")
    assert shown == b"red plain\r\n\tx5n!"


@pytest.mark.parametrize("pattern", [b"a", b"^$", b"b$", b"^a", b"", b"a.*b"])
def test_what_matches_does_not_depend_on_where_the_stream_is_cut(pattern: bytes) -> None:
    text = b"a\n\nab\r\nb a\n\n\nxb\r\r\nlast a"
    search = re.compile(pattern).search
    wanted = [line for line in text.split(b"\n") if search(line.rstrip(b"\r"))]
    for size in (1, 2, 3, 5, 100):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        found = b"".join(matching(chunks, re.compile(pattern)))
        assert found == b"".join(line + b"\n" for line in wanted)


def test_a_line_without_end_is_matched_in_pieces_of_bounded_size() -> None:
    endless = (b"x" * 65536 for _ in range(100))
    pieces = list(matching(endless, re.compile(b"x")))
    assert max(map(len, pieces)) == LONGEST_LINE + 1
