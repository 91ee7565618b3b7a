"""Memory of who was killed and cannot leave comes back; of the living none is taken."""

from __future__ import annotations

import os
import signal

from paddock.cgroups.use import held_bytes
from paddock.cgroups.v1 import Group1
from paddock.drivers.local.release import release
from tests.integration.rescue.pen import Pen

MIB = 2**20


def test_what_a_killed_process_cannot_free_itself_is_taken_back(pen: Pen) -> None:
    agent, group = pen.agent("a", 200), pen.fleet.child("a.1")
    if not isinstance(group, Group1):
        return  # v2 lets even the frozen die: nobody could be made to stay
    assert group.child("main").freeze()
    os.kill(agent.pid, signal.SIGKILL)
    assert (held_bytes(group.path, is_v2=False) or 0) > 190 * MIB
    assert release([agent.pid]) == [agent.pid]
    assert (held_bytes(group.path, is_v2=False) or 0) < 20 * MIB
    assert agent.poll() is None  # it has not even begun to leave
    assert group.child("main").thaw()
    assert agent.wait(30) == -signal.SIGKILL


def test_of_who_lives_or_is_gone_nothing_is_taken(pen: Pen) -> None:
    agent = pen.agent("a", 64)
    assert release([agent.pid, 2**22 + 1]) == []
    assert not pen.paddock("kill", "--force", "a").returncode
    assert release([agent.pid]) == []
