"""A subtree that root hands to a user: walls inside it are the user's, the one around it is not."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys

import pytest

from tests.vm.cgroup import Cgroup
from tests.vm.programs import by

MIB = 2**20
HANDED_OVER = ("", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control")

# A process may only move inside what is its own, so the user's shell begins there; and controllers
# can be handed down only from a cgroup that holds no process itself.
BUILD = """
set -e
mkdir supervisor agent
echo 0 >supervisor/cgroup.procs
echo "+memory +pids" >cgroup.subtree_control
echo 64M >agent/memory.max
sh -c 'echo 0 >agent/cgroup.procs; exec cat /proc/self/cgroup'
"""


def as_user(cgroup: Cgroup, user: pwd.struct_passwd, script: str) -> tuple[int, str]:
    within = f'cd "{cgroup.path}"\n{script}'
    process = cgroup.start(*by(user, "/bin/sh", "-c", within))
    said, _ = process.communicate(timeout=60)
    return process.returncode, said


def hand_over(cgroup: Cgroup, user: pwd.struct_passwd) -> None:
    for name in HANDED_OVER:
        os.chown(cgroup.path / name, user.pw_uid, user.pw_gid)


def test_a_user_sets_walls_in_a_subtree_of_its_own(cgroup: Cgroup, user: pwd.struct_passwd) -> None:
    hand_over(cgroup, user)
    assert as_user(cgroup, user, BUILD) == (0, f"0::/{cgroup.path.name}/agent\n")
    assert (cgroup.path / "agent/memory.max").read_text() == f"{64 * MIB}\n"
    assert (cgroup.path / "agent").stat().st_uid == user.pw_uid


def test_a_user_can_neither_lift_the_wall_around_it_nor_leave(
    cgroup: Cgroup, user: pwd.struct_passwd
) -> None:
    cgroup.write("memory.max", 512 * MIB)
    hand_over(cgroup, user)
    for attempt in ("echo max >memory.max", "echo 0 >../cgroup.procs", "mkdir ../mine"):
        code, said = as_user(cgroup, user, attempt)
        assert code != 0 and "Permission denied" in said, attempt
    assert cgroup.read("memory.max") == str(512 * MIB)


def test_without_delegation_a_user_can_build_nothing(
    cgroup: Cgroup, user: pwd.struct_passwd
) -> None:
    code, said = as_user(cgroup, user, BUILD)
    assert code != 0 and "Permission denied" in said


@pytest.mark.guest
def test_the_user_can_run_our_python(user: pwd.struct_passwd) -> None:
    """On most hosts root's home is closed, and Python may live in it."""
    code = "import os, paddock; print(os.getuid())"
    command = by(user, sys.executable, "-c", code)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == f"{user.pw_uid}\n", done.stderr
