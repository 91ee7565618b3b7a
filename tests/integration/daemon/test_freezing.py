"""`paddock freeze` and `paddock thaw` on a real process: it stands still, and so does its time."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.kit import leaks
from tests.kit.house import House
from tests.kit.waiting import until

TIMEOUT_S = 3.0


def agents_pid(house: House) -> int:
    file = house.home / "pid"
    until(lambda: file.exists() and file.read_text(encoding="ascii").endswith("\n"), within_s=20)
    return int(file.read_text(encoding="ascii"))


def moves_on(pid: int) -> bool:
    """Whether it used the CPU within half a second."""
    before, deadline = leaks.cpu_s(pid), time.monotonic() + 0.5
    while leaks.cpu_s(pid) == before and time.monotonic() < deadline:
        time.sleep(0.02)
    return leaks.cpu_s(pid) > before


def has_still_tasks(pid: int) -> bool:
    """v1's freezer, v2's, or SIGSTOP where there is neither: none of its threads is running."""
    states = [
        (task / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        for task in Path(f"/proc/{pid}/task").iterdir()
    ]
    return "R" not in states


def test_a_frozen_run_stands_still_until_it_is_thawed_and_its_timeout_waits(house: House) -> None:
    words = ("--name", "busy", "--timeout", f"{TIMEOUT_S:g}s", "--memory", "64M")
    script = "echo $$ >pid; while :; do :; done"
    done = house.paddock("submit", *words, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    pid = agents_pid(house)
    assert moves_on(pid)

    frozen = house.paddock("freeze", "busy")
    assert frozen.returncode == 0, frozen.stderr
    assert "frozen by user" in frozen.stdout
    assert [run["name"] for run in house.told("ls", "--state", "frozen")] == ["busy"]
    frozen_at = time.monotonic()
    until(lambda: has_still_tasks(pid))
    assert not moves_on(pid)
    # Longer than its timeout, and nobody stops it.
    until(lambda: time.monotonic() > frozen_at + TIMEOUT_S + 1, within_s=TIMEOUT_S + 2)
    assert "frozen by user for " in house.told("why", "busy")["sentence"]
    assert not moves_on(pid)

    thawed = house.paddock("thaw", "busy")
    assert thawed.returncode == 0, thawed.stderr
    assert "frozen" not in thawed.stdout
    assert house.told("ls", "--state", "frozen") == []
    assert moves_on(pid)
    (view,) = house.ended(["busy"], within_s=20)
    assert view.outcome == "timeout_exceeded" and "hard timeout of 3 s" in (view.because or "")
    story = [move["because"] for move in house.told("story", "busy")]
    assert "frozen by user" in story
    assert any(text.startswith("thawed after ") for text in story)


def test_only_a_running_run_is_frozen_and_only_a_frozen_one_is_thawed(house: House) -> None:
    assert house.paddock("run", "--name", "done", "--", "true").returncode == 0
    refused = house.paddock("freeze", "done")
    assert refused.returncode != 0 and "it has already ended" in refused.stderr
    assert house.paddock("submit", "--name", "one", "--", "sleep", "60").returncode == 0
    until(lambda: house.told("why", "one")["sentence"].startswith("running"), within_s=20)
    refused = house.paddock("thaw", "one")
    assert refused.returncode != 0 and "it is not frozen" in refused.stderr


def test_a_rescue_goes_by_the_priority_that_a_run_has_now(house: House) -> None:
    """`relieve` asks no daemon: it reads what the driver wrote down."""
    for name in ("third", "fifth"):
        assert house.paddock("submit", "--name", name, "--", "sleep", "60").returncode == 0
    until(lambda: len(house.told("ls", "--state", "running")) == 2, within_s=20)
    for name, word in (("third", "low"), ("fifth", "high"), ("third", "high"), ("fifth", "low")):
        assert house.paddock("priority", name, word).returncode == 0
    words = ("relieve", "1", "--dry-run", "--json")

    def first() -> str:
        return str(json.loads(house.paddock(*words).stdout)["would_kill"][0]["name"])

    until(lambda: first() == "fifth", within_s=20)
    # Where next to nothing is in use, the first may be enough.
    said = json.loads(house.paddock(*words).stdout)["would_kill"]
    told = [(one["name"], one["priority"]) for one in said]
    assert told == [("fifth", "low"), ("third", "high")][: len(told)] and told


def test_a_frozen_run_can_be_killed(house: House) -> None:
    words = ("submit", "--name", "one", "--", "sh", "-c", "echo $$ >pid; while :; do :; done")
    assert house.paddock(*words).returncode == 0
    pid = agents_pid(house)
    assert house.paddock("freeze", "one").returncode == 0
    until(lambda: has_still_tasks(pid))
    assert house.paddock("kill", "one").returncode == 0
    (view,) = house.ended(["one"], within_s=20)
    assert view.outcome == "cancelled"
    assert not leaks.is_alive(pid)
