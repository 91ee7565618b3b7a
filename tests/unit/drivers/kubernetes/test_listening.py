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
