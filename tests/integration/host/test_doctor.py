"""`paddock doctor` on this machine with a real daemon: with its walls, and without any."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from subprocess import DEVNULL

import pytest

from paddock.cgroups.home import NoHome, find_home
from tests.integration.agent.containments import a_paddock
from tests.kit.house import PADDOCK, a_house
from tests.kit.waiting import until

NO_WALLS = "sandbox: {containment: none}\n"
PROOFS = ["memory wall", "process limit", "kill", "escape"]


def walls_of_this_host() -> tuple[str, ...]:
    """Where cgroups can be had, `none` would be a wall given away."""
    try:
        version = find_home("test").version
    except NoHome:
        return ("none",)
    return ("cgroup1",) if version == 1 else ("cgroup2", "systemd")


def test_what_this_host_promises_is_proven_by_real_runs(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        told = house.told("doctor", "--prove")
        verdicts = {proof["name"]: proof["verdict"] for proof in told["proof"]}
        assert told["containment"] in walls_of_this_host(), told
        assert told["guarantees"]["hard_memory_wall"] is (told["containment"] != "none")
        if told["guarantees"]["hard_memory_wall"]:
            assert verdicts["memory wall"] in ("held", "late"), told
            assert verdicts["escape"] == "held", told
            assert verdicts["process limit"] == "held", told
        else:
            assert verdicts["memory wall"] == "not promised", told
        assert verdicts["kill"] in ("held", "late"), told
        assert house.paddock("daemon", "status").returncode == 69  # started for it, and stopped


def test_without_walls_it_says_what_is_not_promised_and_proves_the_rest(tmp_path: Path) -> None:
    with a_house(tmp_path, config=NO_WALLS) as house:
        done = house.paddock("doctor", "--prove")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "none: no walls, as sandbox.containment says" in done.stdout
        assert "memory wall  not promised: memory is only sampled" in done.stdout
        assert "soft memory limit  held: 96 MiB" in done.stdout
        assert "process limit  not promised" in done.stdout
        assert re.search("kill  (held|late): 16 processes", done.stdout), done.stdout
        assert "escape  not promised" in done.stdout


@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_the_walls_of_containers_are_proven_in_real_ones(tmp_path: Path, engine: str) -> None:
    with a_paddock(tmp_path, engine) as house:
        # A container takes half a second to start, and far longer on a busy machine.
        told = house.told("doctor", "--prove", "--within", "120s", within_s=200)
        assert [proof["name"] for proof in told["proof"]] == PROOFS, told
        verdicts = {proof["name"]: proof["verdict"] for proof in told["proof"]}
        assert verdicts["memory wall"] in ("held", "late"), told
        assert verdicts["process limit"] == "held", told
        assert verdicts["kill"] in ("held", "late"), told
        assert verdicts["escape"] == "held", told
        assert engine in told["engines"]
        # Started for it, and stopped: with all that was in containers, or the house complains.
        until(lambda: house.paddock("daemon", "status").returncode == 69, within_s=60)


def test_a_daemon_that_runs_is_used_and_left_running(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        house.start()
        before = house.daemon()["pid"]
        told = house.told("doctor", "--prove")
        assert {proof["verdict"] for proof in told["proof"]} <= {"held", "late", "not promised"}
        assert house.daemon()["pid"] == before
        runs = house.told("ls", "--all")
        assert [run["state"] for run in runs] == ["ended"] * len(runs)
        assert all(run["name"].startswith("doctor-") for run in runs)
        # What died on purpose is nobody's failure.
        assert house.told("breaker") == [] == house.told("status")["breakers"]
        assert {run["group"].partition("/")[0] for run in runs} == {"doctor"}


def test_proofs_again_and_again_are_not_held_up_by_the_deaths_of_the_last(tmp_path: Path) -> None:
    with a_house(tmp_path, config="breaker: {failures: 1}\n") as house:
        house.start()
        for _ in range(2):
            told = house.told("doctor", "--prove")
            assert {proof["verdict"] for proof in told["proof"]} <= {"held", "late", "not promised"}
            assert house.told("breaker") == []


def test_an_interrupted_proof_leaves_no_canary(tmp_path: Path) -> None:
    with a_house(tmp_path, config=NO_WALLS) as house:
        house.start()
        words = [*PADDOCK, "doctor", "--prove"]
        with subprocess.Popen(words, cwd=house.home, env=house.env, stdout=DEVNULL) as proving:
            with house.client() as client:
                until(client.runs, within_s=20)
            proving.send_signal(signal.SIGINT)
            assert proving.wait(20) == 130
        until(lambda: house.told("ls") == [], within_s=10)


def test_a_daemon_that_cannot_start_is_a_problem_and_no_proof(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        house.places.state.mkdir(mode=0o700)
        house.places.store.mkdir()  # where the store should be
        done = house.paddock("doctor", "--prove", "--json")
        assert done.returncode == 1
        assert "the daemon cannot be started" in done.stdout
        assert '"proof": null' in done.stdout


def test_it_looks_without_starting_a_daemon(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        told = house.told("doctor")
        assert set(told) >= {"containment", "guarantees", "problems", "proof"}
        assert told["proof"] is None
        assert not house.places.state.exists()
