"""The profile `tiny` on a host of 1 GiB: two agents really fit side by side, and a third waits."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.kit.ceiling import AGENTS, MIB, a_ceiling
from tests.kit.house import House, a_house
from tests.kit.waiting import until

# As the kernel would begin to hold them back, on cgroup v2, long before they have what they want.
CONFIG = "performance_profile: tiny\nsandbox: {memory_high: 99%}\n"
HELD_MB = 380  # Python itself adds 8, so that is 388 of 400
WITHIN_S = 60.0


def submit(house: House, name: str) -> None:
    counting = [sys.executable, "-I", "-S", str(AGENTS / "counting.py")]
    words = (HELD_MB, house.home / name, house.home / "finish")
    done = house.paddock("submit", "--name", name, "--", *counting, *words)
    assert done.returncode == 0, done.stderr


def counted(house: House, name: str) -> int:
    """It begins to count once it holds its memory."""
    file = house.home / name
    return len(file.read_text(encoding="ascii").splitlines()) if file.exists() else 0


def test_two_agents_at_their_walls_stand_side_by_side_on_one_gib(tmp_path: Path) -> None:
    with a_ceiling(1024 * MIB) as host, a_house(tmp_path, config=CONFIG) as house:
        done = house.paddock("daemon", "start", before=host.join)
        assert done.returncode == 0, done.stderr
        for name in ("one", "two", "three"):
            submit(house, name)
        until(lambda: counted(house, "one") and counted(house, "two"), within_s=WITHIN_S)
        # They go on, and more than one look at the host finds nothing to do about it.
        before = {name: counted(house, name) for name in ("one", "two")}
        until(lambda: all(counted(house, one) > before[one] + 150 for one in before), WITHIN_S)
        assert host.used_bytes() > 2 * HELD_MB * MIB
        with house.client() as client:
            views = {name: client.run(name) for name in ("one", "two", "three")}
        assert [view.state for view in views.values()] == ["running", "running", "queued"]
        assert [view.attempt for view in views.values()] == [1, 1, 0]
        assert [view.frozen for view in views.values()] == [None, None, None]

        (house.home / "finish").touch()
        ended = house.ended(["one", "two", "three"], within_s=WITHIN_S)
        assert [view.outcome for view in ended] == ["succeeded"] * 3
