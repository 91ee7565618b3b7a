"""The examples for agents on cgroup v2, and the throttle that begins below their walls there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.agent.containments import a_paddock
from tests.integration.agent.test_examples import Herd
from tests.kit.guest_place import in_a_guest

PATIENCE_S = 240.0 if in_a_guest() else 150.0


@pytest.mark.timeout(900)
def test_agents_on_cgroup_2_are_stopped_and_lose_nothing(tmp_path: Path) -> None:
    """One that has a handler, and one that only looks at the files. Small: a shell takes a
    megabyte byte by byte, and emulation is slow."""
    languages = ("python", "shell")
    with a_paddock(tmp_path, "cgroup") as house:
        herd = Herd(house, languages, patience_s=PATIENCE_S, limit_mb=32)
        herd.are_preempted_and_come_to_the_same_end()
        herd.meet_their_limits()
