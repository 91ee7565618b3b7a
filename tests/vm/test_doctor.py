"""`paddock doctor` on cgroup v2 and with systemd: what is promised holds, what is missing is said.

One daemon for all that is asked: under emulation each costs half a minute.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paddock.cgroups.protection import in_the_way, protected_bytes
from paddock.drivers.local.containment.choosing import read_home
from tests.kit.house import House, a_house
from tests.kit.waiting import until

SLOWLY_S = 240.0
PROOFS = ["memory wall", "process limit", "kill", "escape"]


@contextmanager
def proven(directory: Path, containment: str) -> Iterator[tuple[House, dict[str, Any]]]:
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
        yield house, told


def about_its_memory(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in told["problems"] if each["name"] == "daemon memory"]


@pytest.mark.timeout(2 * SLOWLY_S)
def test_walls_of_v2_hold_and_the_daemon_keeps_memory_for_itself(tmp_path: Path) -> None:
    with proven(tmp_path, "cgroup2") as (_, told):
        assert told["guarantees"]["keeps_daemon_memory"] is True, told
        assert about_its_memory(told) == []


@pytest.mark.systemd
@pytest.mark.timeout(2 * SLOWLY_S)
def test_walls_in_a_scope_hold_and_what_its_daemons_memory_lacks_is_said(tmp_path: Path) -> None:
    with proven(tmp_path, "systemd") as (house, told):
        (hint,) = about_its_memory(told)
        assert hint["level"] == "hint"
        assert hint["mend"] == "systemctl set-property system.slice MemoryMin=128M"
        home = read_home(house.places.keeper)
        assert home is not None
        kept = protected_bytes(home)
        assert len(in_the_way(home.supervisor.path, kept)) == 1, house.log()  # not the scope
        subprocess.run(hint["mend"].split(), check=True, timeout=60)
        assert in_the_way(home.supervisor.path, kept) == []
