"""The last lines of an agent: bounded, numbered, harmless."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paddock.tui.log_buffer import LONGEST_LINE, LogBuffer


def held(buffer: LogBuffer) -> list[str]:
    return [buffer.line(number) for number in range(buffer.begin, buffer.end)]


@given(st.lists(st.binary(max_size=40)))
def test_however_it_is_cut_the_lines_are_the_same(pieces: list[bytes]) -> None:
    whole, cut = LogBuffer(1000), LogBuffer(1000)
    whole.feed(b"".join(pieces))
    for piece in pieces:
        cut.feed(piece)
    assert held(whole) == held(cut)


def test_only_the_last_lines_are_held_and_keep_their_numbers() -> None:
    buffer = LogBuffer(100)
    for number in range(1000):
        buffer.feed(b"line %d\n" % number)
    assert buffer.end - buffer.begin == 100
    assert (buffer.begin, buffer.line(buffer.begin)) == (900, "line 900")


def test_a_line_without_an_end_shows_already() -> None:
    buffer = LogBuffer(100)
    buffer.feed(b"50 %")
    assert held(buffer) == ["50 %"]
    buffer.feed(b", done\nnext\n")
    assert held(buffer) == ["50 %, done", "next"]


def test_a_line_that_never_ends_comes_in_pieces() -> None:
    buffer = LogBuffer(100)
    for _ in range(50):
        buffer.feed(b"x" * 10_000)
    assert buffer.end - buffer.begin == 100
    assert all(len(line) <= LONGEST_LINE for line in held(buffer))


def test_nothing_in_it_acts_on_a_terminal() -> None:
    buffer = LogBuffer(100)
    buffer.feed(b"\x1b]0;title\x07a\x1b[2Jb\x07\x9bc\x1b[31mred\x1b[0m\x00\xff\n")
    assert held(buffer) == [
        "ab\N{REPLACEMENT CHARACTER}c\x1b[31mred\x1b[0m\N{REPLACEMENT CHARACTER}"
    ]


def test_a_search_finds_forwards_and_backwards() -> None:
    buffer = LogBuffer(100)
    buffer.feed(b"one Error\ntwo\nthree error\n")
    assert buffer.find("error", 0, forward=True) == 0, "capitals do not matter"
    assert buffer.find("Error", 0, forward=True) == 0
    assert buffer.find("Error", 1, forward=True) is None, "unless there are some"
    assert buffer.find("error", 2, forward=False) == 2
    assert buffer.find("error", 1, forward=False) == 0
    assert buffer.find("nothing", 2, forward=False) is None


def test_a_cleared_one_begins_anew_with_later_numbers() -> None:
    buffer = LogBuffer(100)
    buffer.feed(b"old\n")
    buffer.clear()
    assert (buffer.begin, buffer.end) == (1, 1)
    buffer.feed(b"new\n")
    assert held(buffer) == ["new"]
