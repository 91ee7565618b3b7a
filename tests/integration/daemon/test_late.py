"""What ended in good time has not timed out, also where that is heard or understood late."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from paddock.wire.run_request import RunRequest, Step
from tests.kit import striking
from tests.kit.house import House, is_running, shell
from tests.kit.waiting import until

TIMEOUT_S = 3.0
SLOW = f"""
    import time
    from paddock.supervisor.witness import Witness
    real = Witness._see_step
    def slow(*words):
        time.sleep({TIMEOUT_S + 1.0})
        return real(*words)
    Witness._see_step = slow
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def two_steps(ledger: Path) -> RunRequest:
    """Each says that it was done, in good time."""
    steps = tuple(
        Step(name=name, command=("sh", "-c", f"echo {name} >>{ledger}; sleep 1"))
        for name in ("one", "two")
    )
    return RunRequest(name="a", steps=steps, memory_bytes=64 << 20, timeout_s=TIMEOUT_S, retries=1)


def be_late(house: House) -> None:
    assert house.paddock("daemon", "stop").returncode == 0
    time.sleep(TIMEOUT_S + 1.0)  # all that is to happen is that time goes by
    house.start()


def test_who_ended_in_time_is_told_as_it_ended(house: House) -> None:
    house.start()
    quick = shell("quick", "sleep 1; echo done", timeout_s=TIMEOUT_S)
    wrong = shell("wrong", "sleep 1; exit 3", timeout_s=TIMEOUT_S)
    runs = [run.id for run in house.submit(quick, wrong).runs]
    until(lambda: all(is_running(house, run) for run in runs))
    be_late(house)
    found = [(run.outcome, run.exit_code) for run in house.ended(runs)]
    assert sorted(map(str, found)) == ["('failed', 3)", "('succeeded', 0)"]


def test_a_step_that_was_done_in_time_is_not_done_again(house: House, ledger: Path) -> None:
    house.start()
    [run] = house.submit(two_steps(ledger)).runs
    until(lambda: is_running(house, run.id))
    be_late(house)
    [ended] = house.ended([run.id])
    assert ended.outcome == "succeeded"
    assert ledger.read_text().split() == ["one", "two"]


def test_a_step_whose_work_takes_long_to_be_saved_is_not_done_again(
    house: House, ledger: Path
) -> None:
    striking.plant(house)
    with (house.home / "sitecustomize.py").open("a", encoding="ascii") as file:
        file.write(SLOW)
    house.start()
    [run] = house.submit(two_steps(ledger)).runs
    [ended] = house.ended([run.id])
    assert ended.outcome == "succeeded"
    assert ledger.read_text().split() == ["one", "two"]
