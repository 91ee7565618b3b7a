"""`paddock doctor --prove` on cgroup v2 and with systemd: what is promised there holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.house import a_house
from tests.kit.waiting import until

PROOFS = ["memory wall", "process limit", "kill", "escape"]


def prove(directory: Path, containment: str) -> None:
    with a_house(directory) as house:
        # Under emulation it may take longer to start than a command waits for it.
        until(lambda: house.paddock("daemon", "start").returncode == 0, within_s=60)
        told = house.told("doctor", "--prove", "--within", "80s", within_s=110)
        assert (told["containment"], told["because"] is not None) == (containment, True), told
        assert told["guarantees"]["hard_memory_wall"] is True
        assert [proof["name"] for proof in told["proof"]] == PROOFS
        # Slow is the emulation's, not the wall's.
        bad = [proof for proof in told["proof"] if proof["verdict"] not in ("held", "late")]
        assert bad == [], house.log()


def test_walls_of_v2_hold(tmp_path: Path) -> None:
    prove(tmp_path, "cgroup2")


@pytest.mark.systemd
def test_walls_in_a_scope_of_systemd_hold(tmp_path: Path) -> None:
    prove(tmp_path, "systemd")
