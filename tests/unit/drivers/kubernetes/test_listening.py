"""An agent's output from a cluster: times and marks are taken out, whatever pieces it comes in."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from paddock.drivers.kubernetes.listening import Marks, Times

MARK = "0123456789abcdef"
SAID = b"\x1e0123456789abcdef:begun\x1e"


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    at = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[begin:end] for begin, end in itertools.pairwise(at)]


@given(st.lists(st.integers(0, 1000), max_size=20), st.binary(max_size=60))
def test_marks_are_found_wherever_it_is_cut_and_the_rest_is_the_agents(
    cuts: list[int], own: bytes
) -> None:
    marks, kept = Marks(MARK), b""
    words: list[str] = []
    for piece in pieces(own + b"|" + SAID + b"|" + own, cuts):
        found, said = marks.split(piece)
        kept, words = kept + found, words + said
    assert kept + marks.rest() == own + b"||" + own
    assert words == ["begun"]


@given(st.lists(st.integers(0, 1000), max_size=20))
def test_times_are_taken_off_wherever_it_is_cut(cuts: list[int]) -> None:
    lines = [b"2026-11-17T02:00:0%d.000000001Z line %d\n" % (n, n) for n in range(5)]
    times, kept = Times(), b""
    for piece in pieces(b"".join(lines), cuts):
        kept += b"".join(times.strip(piece))
    assert kept == b"".join(b"line %d\n" % n for n in range(5))


def test_taken_up_again_what_was_there_before_is_left_out() -> None:
    times = Times()
    first = b"2026-11-17T02:00:01.1Z one\n2026-11-17T02:00:01.2Z two\n"
    assert b"".join(times.strip(first)) == b"one\ntwo\n"
    times.begin_anew()
    again = b"".join(times.strip(first + b"2026-11-17T02:00:01.3Z three\n"))
    assert again == b"three\n"


def test_lines_of_one_time_and_of_a_clock_that_was_set_back_are_all_kept() -> None:
    data = (
        b"2026-11-17T03:00:00.000000005Z one\n2026-11-17T03:00:00.000000005Z two\n"
        b"2026-11-17T02:59:30Z set back\n2026-11-17T03:00:01Z on time again\n"
    )
    times = Times()
    assert b"".join(times.strip(data)) == b"one\ntwo\nset back\non time again\n"


def test_summer_time_that_ends_loses_no_line_after_a_break() -> None:
    times = Times()
    before = b"2026-10-25T02:59:59+02:00 before\n"
    assert b"".join(times.strip(before)) == b"before\n"
    times.begin_anew()
    after = before + b"2026-10-25T02:00:01+01:00 two seconds later\n"
    assert b"".join(times.strip(after)) == b"two seconds later\n"


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=12).map(sorted),
    st.lists(st.integers(0, 10_000), max_size=3),
)
def test_broken_off_anywhere_each_byte_comes_once(at: list[int], breaks: list[int]) -> None:
    """The server gives all lines from the last time on, however many have the same."""
    lines = [(b"2026-11-17T02:00:0%d.5Z " % s, s, b"line %d\n" % n) for n, s in enumerate(at)]
    times, kept = Times(), b""
    for cut in [*breaks, 10**9]:
        times.begin_anew()
        last = int(times.last[17:19] or b"0")
        data = b"".join(time + line for time, s, line in lines if s >= last)
        kept += b"".join(times.strip(data[: cut % (len(data) + 1) if cut < 10**9 else None]))
    assert kept == b"".join(line for _, _, line in lines)


def test_a_mark_that_never_ends_is_the_agents_own() -> None:
    marks, own = Marks(MARK), b"\x1e0123456789abcdef:" + b"x" * 100
    kept, words = marks.split(own + SAID)
    assert (kept, words) == (own, ["begun"])
    assert marks.split(own) == (own, [])
