"""The bounded campaign: every fault once, and some more kills. The long one is `make chaos`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.books import Books
from tests.chaos.planted import PLANTED
from tests.chaos.report import BEGIN, END, report_of, write_json, write_page
from tests.chaos.side_by_side import play_beside
from tests.chaos.table import AIMED, FAULTS, MANY, NAMES, dealt, fits, whole_deck
from tests.kit.striking import POINTS

PROJECT = Path(__file__).parents[2]
QUICKLY_FOUND = ("lost-byte", "wrong-code")  # by their first round


@pytest.fixture
def kept() -> Iterator[Path]:
    """Where houses are built: what a violated one keeps goes with the test. With a short name, for
    the sake of its sockets."""
    if os.geteuid() != 0:
        pytest.skip("no right to mount a file system")
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def campaign(kept: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    report = kept / "report.json"
    command = [sys.executable, "-m", "tests.chaos", *words, "--json", str(report)]
    env = {**os.environ, "TMPDIR": str(kept)}
    done = subprocess.run(
        command, cwd=PROJECT, env=env, capture_output=True, text=True, check=False
    )
    return done, json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}


@pytest.mark.timeout(600)
def test_every_fault_once_and_no_invariant_is_violated(kept: Path) -> None:
    done, found = campaign(kept, "--every", "--seed", "3")
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    assert found["faults"].keys() == NAMES.keys()
    assert found["violations"] == [] and found["runs"] > len(FAULTS)
    missed = [name for name in AIMED if found["faults"][name]["not_done"]]
    assert missed == [], "the daemon did not die at these points"


@pytest.mark.timeout(300)
def test_the_daemon_killed_in_every_round_loses_nothing(kept: Path) -> None:
    """Six rounds, or as many as are begun within a minute."""
    words = ("--only", "kill-daemon", "--rounds", "6", "--minutes", "1", "--seed", "11")
    done, found = campaign(kept, *words)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    tried = found["faults"]["kill-daemon"]
    assert tried["rounds"] > tried["not_done"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", QUICKLY_FOUND)
def test_a_planted_defect_is_noticed(kept: Path, name: str) -> None:
    """All of them: `python -m tests.chaos.planted`."""
    only = [word for fault in PLANTED[name].faults for word in ("--only", fault)]
    done, found = campaign(kept, "--plant", name, "--rounds", "5", *only)
    assert done.returncode == 1, done.stdout[-20_000:] + done.stderr[-5_000:]
    assert found["violations"] != []
    assert "VIOLATED in round" in done.stdout and "again: python -m tests.chaos" in done.stdout


def test_a_round_has_the_same_faults_whenever_it_is_played() -> None:
    assert [dealt(7, number) for number in range(50)] == [dealt(7, number) for number in range(50)]
    assert dealt(7, 3, ["flood"]) == [NAMES["flood"]]
    hands = [dealt(7, number) for number in range(500)]
    assert {fault.name for hand in hands for fault in hand} == NAMES.keys()
    assert {len(hand) for hand in hands} == set(MANY)
    for hand in hands:
        assert hand and all(fits(one, hand[:n]) for n, one in enumerate(hand))


def test_the_page_tells_where_kills_are_aimed() -> None:
    page = (PROJECT / "docs/explain/reliability.md").read_text(encoding="utf-8")
    for point, about in POINTS.items():
        assert f"| `kill-in-{point}` | {about} |" in page


def test_the_whole_deck_has_each_fault_once() -> None:
    for seed in range(20):
        hands = whole_deck(seed, 5)
        assert sorted(fault.name for hand in hands for fault in hand) == sorted(NAMES)
        assert max(map(len, hands)) <= 5


def hand(number: int, *, violates: bool = False) -> tuple[int, list[str]]:
    """A house with one round, and a command that only writes its books."""
    books = Books(5, rounds=1, runs=3, longest_round_s=float(number))
    books.tried("flood").rounds = 1
    books.ended("succeeded")
    if violates:
        books.blame(number, ("flood",), "it was lost")
    write = "import sys; open(sys.argv[-1], 'w').write(sys.argv[1])"
    return number, [sys.executable, "-c", write, json.dumps(books.as_json())]


def test_the_books_of_houses_side_by_side_are_put_together() -> None:
    books, said = Books(5), list[str]()
    hands = [hand(0), hand(10), (20, [sys.executable, "-c", "print('no house')"]), hand(30)]
    play_beside(hands, books, most=2, goes_on=lambda: True, say=said.append)
    assert (books.rounds, books.runs, books.longest_round_s) == (3, 9, 30.0)
    assert books.faults["flood"].rounds == 3 and books.outcomes == {"succeeded": 3}
    (found,) = books.violations
    assert found.round == 20 and "no house" in found.text


def test_no_house_is_begun_after_a_violation() -> None:
    books, said = Books(5), list[str]()
    hands = [hand(0, violates=True), hand(10)]
    play_beside(hands, books, most=1, goes_on=lambda: not books.violations, say=said.append)
    assert books.rounds == 1 and books.faults["flood"].violations == 1


def test_the_table_is_put_between_the_marks_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n\n{BEGIN}\nthe last one\n{END}\n\nafter\n", encoding="utf-8")
    books = Books(5)
    books.tried("flood").rounds = 3
    books.ended("succeeded")
    books.blame(2, ("flood",), "it was lost")
    report = report_of(books, command="again", load=(1.0, 1.0, 1.0))
    write_json(report, tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["outcomes"] == {"succeeded": 1}
    write_page(report, page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Before\n") and text.endswith("after\n") and "the last one" not in text
    assert "1 violated invariants" in text and "Seed 5" in text
    assert "| `flood` |" in text and "| 3 | 0 | nothing | 1 |" in text
