"""`paddock host setup` for real: swap, cgroups, kernel parameters, tmpfs, and all of it undone."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paddock.cli.main import main
from paddock.host.setup.kernel import PARAMETERS
from tests.kit.guest_place import ROOT, in_a_guest
from tests.vm.test_systemd import run

FSTAB, SWAPS = Path("/etc/fstab"), Path("/proc/swaps")
SCRATCH = Path("/var/lib/paddock/scratch")
OURS = ROOT / "paddock"
ZRAM = "/dev/zram0"
# As the user, in the leaf that root put it into: a home of its own with a wall.
MOVE_IN = """
import sys
from paddock.cgroups.group import Walls
from paddock.cgroups.home import find_home, move_in
home = find_home("test")
move_in(home)
home.fleet.set(Walls(limit_bytes=64 << 20, pids=32))
print(home.because, home.fleet.path, open(home.fleet.path + "/memory.max").read().strip())
"""


class Setup:
    """Called in this process: under emulation each start of Python is seconds."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture

    def __call__(self, *words: str) -> Any:
        code = main(["host", "setup", *words, "--json"])
        out, err = self.capture.readouterr()
        assert code == 0, out + err
        return json.loads(out)


@pytest.fixture
def setup(capsys: pytest.CaptureFixture[str]) -> Setup:
    return Setup(capsys)


def settings() -> dict[str, str]:
    return {each.name: Path(each.file).read_text().strip() for each in PARAMETERS}


def etc() -> dict[str, str]:
    folders = ("/etc/sysctl.d", "/etc/security/limits.d", "/etc/paddock", "/etc/systemd/system")
    files = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path): path.read_text(errors="replace") for path in [*files, FSTAB]}


@pytest.fixture
def swap() -> Iterator[None]:
    """64 MiB of compressed memory, with a priority and a line in fstab."""
    Path("/sys/block/zram0/disksize").write_text("64M")
    run(["mkswap", ZRAM])
    run(["swapon", "-p", "100", ZRAM])
    was = FSTAB.read_text()
    FSTAB.write_text(f"{was}{ZRAM} none swap sw,pri=100 0 0\n")
    yield
    subprocess.run(["swapoff", ZRAM], check=False, capture_output=True)
    FSTAB.write_text(was)
    Path("/sys/block/zram0/reset").write_text("1")


@pytest.mark.guest
@pytest.mark.usefixtures("swap")
def test_setup_prepares_the_host_and_undo_gives_it_back(
    user: pwd.struct_passwd, setup: Setup
) -> None:
    (ROOT / "cgroup.subtree_control").write_text("-cpuset")
    before = settings(), etc(), SWAPS.read_text(), (ROOT / "cgroup.subtree_control").read_text()
    shown = setup("--dry-run", "--user", user.pw_name)
    assert (shown["changed"], shown["problems"]) == (0, [])
    assert (settings(), etc()) == before[:2]

    made = setup("--user", user.pw_name)
    assert made["problems"] == [] and made["changed"] > 10
    check_prepared(user)

    again = setup("--user", user.pw_name)
    assert (again["changed"], again["problems"]) == (0, [])
    assert [step["changes"] for step in again["steps"]] == [[]] * 6

    back = setup("--undo")
    assert back["problems"] == []
    after = settings(), etc(), SWAPS.read_text(), (ROOT / "cgroup.subtree_control").read_text()
    assert after == before
    assert not OURS.exists() and not Path("/var/lib/paddock").exists()
    (ROOT / "cgroup.subtree_control").write_text("+cpuset")


def check_prepared(user: pwd.struct_passwd) -> None:
    assert len(SWAPS.read_text().splitlines()) == 1
    assert all(int(settings()[each.name]) >= each.wanted for each in PARAMETERS)
    assert os.path.ismount(SCRATCH)
    assert SCRATCH.stat().st_mode & 0o7777 == 0o1777
    assert {"cpu", "cpuset", "io", "memory", "pids"} <= set(
        (OURS / "cgroup.subtree_control").read_text().split()
    )
    assert Path("/var/lib/paddock/workspaces").stat().st_uid == user.pw_uid
    because, path, wall = as_user_inside(user).rsplit(maxsplit=2)
    assert because == "the host was set up for it"
    assert (path, wall) == (f"{OURS}/paddock-test/fleet", str(64 << 20))
    check_the_way_in_is_needed(user)


def check_the_way_in_is_needed(user: pwd.struct_passwd) -> None:
    """v2's rule, and why setup tells how to get in: the trees meet at the root, which is root's."""
    ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
    outside = ["setpriv", *ids, "/bin/sh", "-c", f"echo 0 >{OURS}/login/cgroup.procs"]
    assert subprocess.run(outside, check=False, capture_output=True).returncode != 0
    assert (OURS / "login/cgroup.procs").read_text() == ""


def as_user_inside(user: pwd.struct_passwd) -> str:
    """By the line that setup tells: root puts the shell inside, the rest is the user's."""
    ids = f"--reuid={user.pw_uid} --regid={user.pw_gid} --clear-groups"
    script = f'echo $$ >{OURS}/login/cgroup.procs; exec setpriv {ids} "$0" -c "$1"'
    return run(["/bin/sh", "-c", script, sys.executable, MOVE_IN]).strip()


if in_a_guest():  # it changes the machine; on a host with systemd of its own nothing boots another

    @pytest.mark.systemd
    def test_with_systemd_a_user_gets_all_controllers_and_undo_takes_them_back(
        user: pwd.struct_passwd, setup: Setup
    ) -> None:
        linger = Path("/var/lib/systemd/linger") / user.pw_name
        run(["loginctl", "disable-linger", user.pw_name])
        before = etc()
        made = setup("--user", user.pw_name)
        assert made["problems"] == []
        assert linger.exists()
        shown = run(
            ["systemctl", "show", f"user@{user.pw_uid}.service", "-p", "DelegateControllers"]
        )
        assert set(shown.strip().partition("=")[2].split()) == {
            *("cpu", "cpuset", "io", "memory", "pids")
        }
        assert setup("--undo")["problems"] == []
        assert etc() == before
        assert not linger.exists()
        run(["loginctl", "enable-linger", user.pw_name])  # as the other tests found it
