"""The bounded campaign: every fault once. The long one is `make chaos`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.books import Books
from tests.chaos.report import BEGIN, END, report_of, write_json, write_page
from tests.chaos.side_by_side import play_beside
from tests.chaos.table import FAULTS, MANY, NAMES, dealt, fits, whole_deck

PROJECT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
def test_every_fault_once_and_no_invariant_is_violated(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("no right to mount a file system")
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "tests.chaos", "--every", "--seed", "3", "--json", str(report)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["faults"].keys() == NAMES.keys()
    assert found["violations"] == [] and found["runs"] > len(FAULTS)


def test_a_round_has_the_same_faults_whenever_it_is_played() -> None:
    assert [dealt(7, number) for number in range(50)] == [dealt(7, number) for number in range(50)]
    assert dealt(7, 3, ["flood"]) == [NAMES["flood"]]
    hands = [dealt(7, number) for number in range(500)]
    assert {fault.name for hand in hands for fault in hand} == NAMES.keys()
    assert {len(hand) for hand in hands} == set(MANY)
    for hand in hands:
        assert hand and all(fits(one, hand[:n]) for n, one in enumerate(hand))


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
