"""`make demo`: the fleet of examples/demo.yaml, under the rules that tools/demo sets for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.house import House, a_house

PROJECT = Path(__file__).parents[3]
SCRIPT = (PROJECT / "tools/demo").read_text(encoding="utf-8")
RESERVE = "$(( total / 1048576 - 1536 ))"
OUTCOMES = {
    "implement": ("succeeded", 0, 1),
    "review": ("succeeded", 0, 1),
    "release": ("succeeded", 0, 1),
    "broken": ("failed", 3, 1),
    "deploy": ("skipped", None, 0),
    "flaky": ("succeeded", 0, 2),
    "wraps-up": ("succeeded", 0, 1),
    "background": ("succeeded", 0, 2),
    "hotfix": ("succeeded", 0, 1),
}


def config(total_bytes: int) -> str:
    """As the script writes it: so it is the script that is tested."""
    found = re.search(r"<<CONFIG\n(.*?)\nCONFIG\n", SCRIPT, re.DOTALL)
    assert found is not None and RESERVE in found[1]
    return found[1].replace(RESERVE, str(total_bytes // 1048576 - 1536)) + "\n"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path) as house:
        file = tmp_path / "config/paddock/config.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(config(house.told("capacity")["total_bytes"]), encoding="utf-8")
        yield house


def test_it_begins_with_why_the_machine_looks_so_small() -> None:
    before, _, _ = SCRIPT.partition('"$paddock" capacity | head')
    assert "pretends that the machine is small: all agents together get 1.5 GiB" in before


@pytest.mark.timeout(300)
def test_each_of_its_runs_goes_the_way_it_is_there_to_show(house: House) -> None:
    assert '"$paddock" fleet examples/demo.yaml' in SCRIPT
    done = house.paddock("fleet", PROJECT / "examples/demo.yaml", within_s=200)
    assert done.returncode == 1, done.stdout + done.stderr  # some are meant to go wrong
    every = house.told("ls", "--all")
    runs = {each["name"]: each for each in every}
    for name, (outcome, code, attempt) in OUTCOMES.items():
        found = (runs[name]["outcome"], runs[name]["exit_code"], runs[name]["attempt"])
        assert found == (outcome, code, attempt), name
    _walls_and_times(house, runs)
    _turns(house)
    beats = [each for each in every if each["name"].startswith("health")]
    assert len(beats) > 1 and any(each["outcome"] == "succeeded" for each in beats)
    for name in runs.keys() - {each["name"] for each in beats}:
        assert name in done.stdout, "the summary has a line for each"


def _walls_and_times(house: House, runs: dict[str, Any]) -> None:
    assert runs["hog"]["outcome"] == "memory_limit_exceeded"
    assert "64 MiB" in house.told("why", "hog")["sentence"]
    assert runs["deaf"]["outcome"] == "timeout_exceeded"
    assert "hard timeout" in house.told("why", "deaf")["sentence"]
    assert "time is short: committing" in house.paddock("logs", "wraps-up").stdout
    assert "broken" in house.told("why", "deploy")["sentence"]


def _turns(house: House) -> None:
    """What needs something comes after it; who gives way says for whom, and goes on later."""
    began = {name: _moment(house, name, "starting") for name in ("review", "release", "hotfix")}
    assert began["review"] >= _moment(house, "implement", "ended") - 0.1
    assert began["release"] >= _moment(house, "review", "ended") - 0.1
    story = [move["because"] for move in house.told("story", "background")]
    assert any("made room for hotfix (critical priority)" in each for each in story), story
    tries = house.paddock("logs", "background").stdout
    assert "attempt 1" in tries and "attempt 2" in tries


def _moment(house: House, name: str, state: str) -> float:
    moves = [move for move in house.told("story", name) if move["state"] == state]
    return float(moves[-1]["at"])
