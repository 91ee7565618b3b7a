"""A run as a line of the table."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from paddock.web.rows import clock_time, row_of, tone_of
from tests.unit.web.test_history import a_view


@dataclass
class Case:
    changes: dict[str, object]
    state: str
    tone: str
    phase: str


CASES = [
    Case({}, "running", "good", "work"),
    Case({"frozen": "by_user"}, "frozen", "cold", "work"),
    Case({"state": "queued", "memory_bytes": None}, "queued", "wait", "waiting"),
    Case({"state": "ended", "outcome": "failed"}, "failed", "bad", "ended"),
    Case({"state": "ended", "outcome": "spawn_failed"}, "did not start", "bad", "ended"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.state)
def test_a_row_says_what_a_run_does_or_how_it_ended(case: Case) -> None:
    run = msgspec.structs.replace(a_view("one", 1 << 30), **case.changes)
    row = row_of(run, cpu=0.5, now=100.0)
    assert (row["state"], row["tone"], row["phase"]) == (case.state, case.tone, case.phase)


def test_memory_is_a_share_of_the_wall_and_never_more_than_all() -> None:
    run = msgspec.structs.replace(a_view("one", 1 << 20), memory_bytes=3 << 20, since_at=40.0)
    row = row_of(run, cpu=1.25, now=100.0)
    assert (row["percent"], row["memory"], row["cpu"], row["age"]) == (100.0, "3 MiB", 125, "1 min")


def test_what_waits_says_why_and_a_long_sentence_is_cut() -> None:
    run = msgspec.structs.replace(a_view("one", 1), state="queued", waits_for="x" * 1000)
    assert row_of(run, cpu=None, now=0.0)["why"] == "x" * 300


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("running for 2 min 15 s", ""),
        ("starting for 0.4 s", ""),
        ("running for 3 s, step 1 of 2 (unit)", "step 1 of 2 (unit)"),
        ("running for 1 h 2 min, frozen by user for 3 s", "frozen by user for 3 s"),
        ("running for 3 s; the cluster is silent", "the cluster is silent"),
        ("failed: ended with exit code 3", "failed: ended with exit code 3"),
    ],
)
def test_how_long_one_runs_is_said_once(sentence: str, why: str) -> None:
    run = msgspec.structs.replace(a_view("one", 1), sentence=sentence)
    assert row_of(run, cpu=None, now=0.0)["why"] == why


def test_an_outcome_that_nobody_knows_yet_looks_bad_and_no_time_is_a_dash() -> None:
    assert tone_of("new_kind_of_end") == "bad"
    assert clock_time(None) == "–"
