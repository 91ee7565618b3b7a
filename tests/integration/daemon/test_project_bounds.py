"""A project's stricter keys hold for its own runs, on a real daemon; what holds nothing is said."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.kit.house import House
from tests.kit.waiting import until

WAIT = "while [ ! -e {home}/go ]; do sleep 0.05; done"


def a_project(house: House, text: str, name: str = "project") -> Path:
    file = house.home / name / ".paddock/config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return file


def submit(house: House, where: Path, name: str) -> str:
    wait = WAIT.format(home=house.home)
    words = ("submit", "--memory", "64M", "--name", name, "--", "sh", "-c", wait)
    done = house.paddock(*words, cwd=where)
    assert done.returncode == 0, done.stderr
    return done.stderr


def states(house: House) -> dict[str, str]:
    return {each["name"]: each["state"] for each in house.told("ls", "--all")}


def test_its_runs_wait_for_each_other_and_for_nobody_else(house: House) -> None:
    file = a_project(house, "performance: {max_concurrent_agents: 1}\nqueue: {depth: 2}\n")
    where = file.parents[1]
    house.start()
    submit(house, where, "a")
    until(lambda: states(house)["a"] == "running", within_s=20)
    submit(house, where, "b")
    submit(house, where, "c")
    full = house.paddock("submit", "--memory", "64M", "--", "true", cwd=where)
    assert full.returncode == 3
    assert "its project's queue is full: 2 of 2 places are taken" in full.stderr
    assert str(file) in full.stderr
    submit(house, house.home, "other")
    until(lambda: states(house)["other"] == "running", within_s=20)
    assert states(house) == {"a": "running", "b": "queued", "c": "queued", "other": "running"}
    why = house.told("why", "b")["sentence"]
    assert "the one agent that its project allows at once is at work" in why
    assert str(file) in why
    os.kill(house.daemon()["pid"], signal.SIGKILL)
    house.start()
    assert states(house) == {"a": "running", "b": "queued", "c": "queued", "other": "running"}
    (house.home / "go").touch()
    for name in ("a", "b", "c", "other"):
        assert house.paddock("wait", name).returncode == 0
    lives = [house.told("story", name) for name in ("a", "b", "c")]
    spans = [(_moment(life, "starting"), _moment(life, "ended")) for life in lives]
    # The next one starts in the step in which the last one ends; the wall clock is read for each.
    ends, starts = [end for _, end in spans[:-1]], [start for start, _ in spans[1:]]
    assert all(end <= start + 0.1 for end, start in zip(ends, starts, strict=True)), spans


def _moment(life: list[dict[str, object]], state: str) -> float:
    return next(float(str(each["at"])) for each in life if each["state"] == state)


def test_what_a_project_cannot_set_is_said_wherever_it_would_count(house: House) -> None:
    file = a_project(house, "ladder: {queue: 75}\n")
    said = f"{file}:1: ladder.queue has no effect in a project's file"
    (house.home / "go").touch()
    assert said in submit(house, file.parents[1], "a")
    for words in (("config", "show"), ("config", "check")):
        assert said in house.paddock(*words, cwd=file.parents[1]).stderr
    shown = house.told("config", "show", cwd=file.parents[1])
    (queue,) = [each for each in shown["settings"] if each["key"] == "ladder.queue"]
    assert queue["value"] == "80"


def test_a_retry_goes_by_what_the_file_says_today(house: House) -> None:
    file = a_project(house, "performance: {max_concurrent_agents: 1}\n")
    where = file.parents[1]
    house.start()
    (house.home / "go").touch()
    submit(house, where, "a")
    assert house.paddock("wait", "a").returncode == 0
    (house.home / "go").unlink()
    file.write_text("performance: {max_concurrent_agents: 2}\n", encoding="utf-8")
    submit(house, where, "b")
    assert house.paddock("retry", "a").returncode == 0
    until(lambda: [each["state"] for each in house.told("ls")] == ["running"] * 2, within_s=20)
    (house.home / "go").touch()
    for name in ("a", "b"):
        assert house.paddock("wait", name).returncode == 0
