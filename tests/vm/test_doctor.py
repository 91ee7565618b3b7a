"""`paddock doctor --prove` on cgroup v2 and with systemd: what is promised there holds."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.kit.house import a_house
from tests.kit.waiting import until

SLOWLY_S = 240.0
PROOFS = ["memory wall", "process limit", "kill", "escape"]


def prove(directory: Path, containment: str) -> None:
    with a_house(directory) as house:
        # Under emulation it may take longer to start than a command waits for it.
        start = functools.partial(house.paddock, "daemon", "start", within_s=SLOWLY_S)
        until(lambda: start().returncode == 0, within_s=SLOWLY_S)
        told = house.told("doctor", "--prove", "--within", "160s", within_s=SLOWLY_S)
        assert (told["containment"], told["because"] is not None) == (containment, True), told
        assert told["guarantees"]["hard_memory_wall"] is True
        assert [proof["name"] for proof in told["proof"]] == PROOFS
        # Slow is the emulation's, not the wall's.
        bad = [proof for proof in told["proof"] if proof["verdict"] not in ("held", "late")]
        assert bad == [], house.log()


@pytest.mark.timeout(2 * SLOWLY_S)
def test_walls_of_v2_hold(tmp_path: Path) -> None:
    prove(tmp_path, "cgroup2")


@pytest.mark.systemd
@pytest.mark.timeout(2 * SLOWLY_S)
def test_walls_in_a_scope_of_systemd_hold(tmp_path: Path) -> None:
    prove(tmp_path, "systemd")
