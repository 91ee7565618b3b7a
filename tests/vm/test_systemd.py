"""What systemd promises: scopes with a subtree of one's own, for root and for a lingering user."""

from __future__ import annotations

import pwd
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.kit.guest_place import ROOT
from tests.kit.waiting import until
from tests.vm.cgroup import Cgroup
from tests.vm.programs import by

pytestmark = pytest.mark.systemd

MIB = 2**20
# In the scope: make two leaves, go into one, hand controllers down, wall the other.
BUILD = """
set -e
own=/sys/fs/cgroup$(sed s/0:://p -n /proc/self/cgroup)
mkdir $own/supervisor $own/agent
echo 0 >$own/supervisor/cgroup.procs
echo "+memory +pids" >$own/cgroup.subtree_control
echo 64M >$own/agent/memory.max
echo $own $(cat $own/memory.max) $(cat $own/agent/memory.max)
"""
SCOPE = ("systemd-run", "--quiet", "--scope", "-p", "Delegate=yes", "-p", "MemoryMax=256M")


def run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def for_user(user: pwd.struct_passwd, *command: str) -> tuple[str, ...]:
    """As this user, where its own manager can be reached."""
    runtime = f"/run/user/{user.pw_uid}"
    until(Path(f"{runtime}/bus").exists, within_s=60)  # its manager may still be starting
    bus = f"DBUS_SESSION_BUS_ADDRESS=unix:path={runtime}/bus"
    env = ("env", f"XDG_RUNTIME_DIR={runtime}", bus, f"HOME={user.pw_dir}")
    return by(user, *env, *command)


def test_a_scope_of_the_system_has_its_wall_and_a_subtree_to_build_in() -> None:
    own, wall, inner = run([*SCOPE, "--unit=paddock-test-own", "/bin/sh", "-c", BUILD]).split()
    assert own == f"{ROOT}/system.slice/paddock-test-own.scope"
    assert (int(wall), int(inner)) == (256 * MIB, 64 * MIB)


def test_a_scope_of_a_user_is_its_own_to_build_in(user: pwd.struct_passwd) -> None:
    scope = (SCOPE[0], "--user", *SCOPE[1:], "--unit=paddock-test-user")
    own, wall, inner = run(for_user(user, *scope, "/bin/sh", "-c", BUILD)).split()
    assert f"/user@{user.pw_uid}.service/" in own
    assert own.endswith("/paddock-test-user.scope")
    assert (int(wall), int(inner)) == (256 * MIB, 64 * MIB)


def test_the_manager_of_a_lingering_user_runs_without_a_session(user: pwd.struct_passwd) -> None:
    shown = run(["loginctl", "show-user", user.pw_name, "-p", "Linger", "-p", "State"])
    assert set(shown.split()) == {"Linger=yes", "State=lingering"}


@pytest.fixture
def creator() -> Iterator[str]:
    """The name of a scope that may be stopped."""
    yield "paddock-test-creator.scope"
    for unit in ("paddock-test-creator.scope", "paddock-test-created.scope"):
        subprocess.run(["systemctl", "stop", unit], check=False, capture_output=True)


def test_a_scope_outlives_the_one_that_made_it(creator: str) -> None:
    created = Cgroup(ROOT / "system.slice/paddock-test-created.scope")
    inner = "systemd-run --quiet --scope --unit=paddock-test-created sleep 300 & sleep 300"
    command = ["systemd-run", "--quiet", "--scope", f"--unit={creator}", "/bin/sh", "-c", inner]
    with subprocess.Popen(command) as maker:
        until(lambda: created.path.exists() and created.pids(), within_s=30)
        before = created.pids()
        run(["systemctl", "kill", "--signal=KILL", creator])
        maker.wait(30)
    until(lambda: not (ROOT / "system.slice" / creator).exists(), within_s=30)
    assert created.pids() == before
    assert run(["systemctl", "is-active", "paddock-test-created.scope"]) == "active\n"
