"""A step that ended in good time, and whose work takes longer to be saved than it had, is done."""

from __future__ import annotations

from pathlib import Path

from paddock.wire.run_request import RunRequest, Step
from tests.kit import striking
from tests.kit.house import House

TIMEOUT_S = 3.0
SLOW = """
    import time
    from paddock.supervisor.witness import Witness
    real = Witness._see_step
    def slow(*words):
        time.sleep(4.0)
        return real(*words)
    Witness._see_step = slow
"""


def test_a_step_whose_work_takes_long_to_be_saved_is_not_done_again(
    house: House, tmp_path: Path
) -> None:
    striking.plant(house)
    with (house.home / "sitecustomize.py").open("a", encoding="ascii") as file:
        file.write(SLOW)
    house.start()
    ledger = tmp_path / "ledger"
    steps = tuple(
        Step(name=name, command=("sh", "-c", f"echo {name} >>{ledger}; sleep 1"))
        for name in ("one", "two")
    )
    asked = RunRequest(name="a", steps=steps, memory_bytes=64 << 20, timeout_s=TIMEOUT_S, retries=1)
    [run] = house.submit(asked).runs
    [ended] = house.ended([run.id])
    assert ended.outcome == "succeeded"
    assert ledger.read_text().split() == ["one", "two"]
