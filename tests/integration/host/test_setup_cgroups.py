"""The cgroups of setup on this machine's own hierarchies, under a name of the test's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.cgroups.v1 import Group1
from paddock.host.setup.changes import MakeCgroup, Owner
from paddock.host.setup.doing import apply, revert
from paddock.host.setup.ground import Ground
from paddock.host.setup.plan_cgroups import cgroups_step
from paddock.host.setup.readings import User, read_host

SOMEBODY = Owner(65_534, 65_534)


def test_the_subtree_of_v1_is_made_owned_and_taken_away_again() -> None:
    name, ground = f"paddock-test-setup-{os.getpid()}", Ground()
    readings = read_host(ground, User("nobody", SOMEBODY), cgroup=name)
    if readings.cgroups.version != 1 or os.geteuid() != 0:
        pytest.skip("this machine has no cgroup v1 for memory that can be written")
    made = [each for each in cgroups_step(readings).changes if isinstance(each, MakeCgroup)]
    try:
        for change in made:
            apply(change, ground)
        found = read_host(ground, User("nobody", SOMEBODY), cgroup=name)
        assert cgroups_step(found).changes == ()
        for path in readings.cgroups.ours.values():
            assert Path(path).stat().st_uid == 65_534
            assert (Path(path) / "cgroup.procs").stat().st_uid == 65_534
        assert "pids" not in Group1(readings.cgroups.ours).missing()
    finally:
        left = [revert(change, ground) for change in reversed(made)]
    assert left == [None] * len(made)
    assert not any(Path(path).exists() for path in readings.cgroups.ours.values())
