"""What setup would change, from what it read: nothing is done here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.core.units import GIB
from paddock.host.setup.changes import (
    EditLines,
    EnableUnit,
    HandDown,
    Linger,
    MakeCgroup,
    MakeDirectory,
    Mask,
    MountTmpfs,
    MoveAway,
    Own,
    Owner,
    Reload,
    SetParameter,
    Step,
    SwapOff,
    WriteFile,
)
from paddock.host.setup.plan import plan
from paddock.host.setup.plan_cgroups import DROP_IN_TEXT
from paddock.host.setup.readings import BOOT_UNIT, DROP_IN, SYSCTL, Swap, User
from tests.kit.prepared_host import GIB_KB, ME, Host

NAMES = ["directories", "swap", "cgroups", "kernel", "limits", "scratch"]


def steps_of(host: Host) -> dict[str, Step]:
    return {step.name: step for step in plan(host.read())}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_every_step_says_why_what_there_is_and_what_comes(host: Host) -> None:
    steps = plan(host.read())
    assert [step.name for step in steps] == NAMES
    assert all(step.why and step.now and step.new and step.changes for step in steps)


def test_planning_changes_nothing(host: Host) -> None:
    before = host.picture()
    plan(host.read())
    assert host.picture() == before


def test_swap_goes_off_now_and_stays_off(host: Host) -> None:
    assert steps_of(host)["swap"].changes == (
        EditLines(path="/etc/fstab", off=("/dev/sda2 none swap sw 0 0",)),
        SwapOff(device="/dev/sda2", priority=-2),
    )


def test_swap_that_is_off_but_would_come_back_is_taken_out_of_fstab(host: Host) -> None:
    host.machine.write("/proc/swaps", "Filename Type Size Used Priority\n")
    step = steps_of(host)["swap"]
    assert [type(change) for change in step.changes] == [EditLines]
    assert step.now == "off now, on again after a reboot"


def test_swap_without_room_for_what_it_holds_stays_on(host: Host) -> None:
    host.machine.meminfo(total_kb=16 * GIB_KB, available_kb=512)
    step = steps_of(host)["swap"]
    assert step.changes == ()
    assert step.stuck is not None and "1 MiB are swapped out and 512 KiB" in step.stuck


def test_swap_units_of_systemd_are_masked_or_moved_away(tmp_path: Path) -> None:
    host = Host(tmp_path, systemd=True)
    host.machine.write("/etc/systemd/system/swapfile.swap", "[Swap]\nWhat=/swapfile\n")
    readings = replace(host.read(), fstab="", swaps=(Swap("/dev/zram-0", GIB, 0, 100),))
    step = plan(readings)[1]
    assert step.changes == (
        MoveAway(
            path="/etc/systemd/system/swapfile.swap",
            to="/etc/systemd/system/swapfile.swap.paddock-off",
        ),
        Mask(path="/etc/systemd/system/dev-zram\\x2d0.swap"),
        Reload(),
        SwapOff(device="/dev/zram-0", priority=100),
    )


def test_the_subtree_of_v2_is_handed_down_and_owned_by_the_user(host: Host) -> None:
    step = steps_of(host)["cgroups"]
    wanted = ("cpu", "cpuset", "io", "memory", "pids")
    assert step.changes == (
        HandDown(path="/sys/fs/cgroup", controllers=("cpuset", "io", "memory", "pids")),
        MakeCgroup(path="/sys/fs/cgroup/paddock", owner=ME, controllers=wanted),
        MakeCgroup(path="/sys/fs/cgroup/paddock/login", owner=ME),
    )
    assert any("gone after a reboot" in note for note in step.notes)


def test_a_user_of_v2_is_told_how_its_shell_gets_in(host: Host) -> None:
    host.user = User("someone", Owner(4242, 4242))
    notes = " ".join(steps_of(host)["cgroups"].notes)
    assert "echo $$ | sudo tee /sys/fs/cgroup/paddock/login/cgroup.procs" in notes


def test_the_subtree_of_v1_is_made_in_each_hierarchy(tmp_path: Path) -> None:
    step = steps_of(Host(tmp_path, version=1))["cgroups"]
    assert step.changes == (MakeCgroup(path="/sys/fs/cgroup/memory/paddock", owner=ME),)


def test_a_subtree_of_somebody_else_is_given_to_the_user(tmp_path: Path) -> None:
    host = Host(tmp_path, version=1)
    (tmp_path / "sys/fs/cgroup/memory/paddock").mkdir()
    host.user = User("someone", Owner(4242, 4243))
    step = steps_of(host)["cgroups"]
    path = "/sys/fs/cgroup/memory/paddock"
    assert step.changes == (Own(path=path, owner=Owner(4242, 4243), old=ME),)


def test_a_kernel_without_memory_cgroups_is_said_to_be_one(tmp_path: Path) -> None:
    step = steps_of(Host(tmp_path, version=0))["cgroups"]
    assert step.changes == ()
    assert step.stuck is not None and "cgroup_enable=memory" in step.stuck


def test_with_systemd_users_get_all_controllers_and_the_user_lingers(tmp_path: Path) -> None:
    host = Host(tmp_path, systemd=True)
    host.user = User("someone", Owner(4242, 4242))
    assert steps_of(host)["cgroups"].changes == (
        MakeDirectory(path="/etc/systemd/system/user@.service.d", owner=Owner(0, 0), mode=0o755),
        WriteFile(path=DROP_IN, text=DROP_IN_TEXT),
        Reload(),
        Linger(user="someone"),
    )


def test_root_need_not_linger(tmp_path: Path) -> None:
    host = Host(tmp_path, systemd=True)
    host.user = User("root", Owner(0, 0))
    kinds = {type(change) for change in steps_of(host)["cgroups"].changes}
    assert Linger not in kinds


def test_with_systemd_on_v1_a_unit_makes_the_subtree_again_at_boot(tmp_path: Path) -> None:
    step = steps_of(Host(tmp_path, version=1, systemd=True))["cgroups"]
    _, unit, reload, enable = step.changes
    assert isinstance(unit, WriteFile)
    assert "mkdir -p /sys/fs/cgroup/memory/paddock && chown" in unit.text
    assert (reload, enable) == (Reload(), EnableUnit(unit=BOOT_UNIT))
    assert f"{BOOT_UNIT} makes it again at boot" in step.notes


def test_with_openrc_a_script_makes_the_subtree_again(host: Host) -> None:
    for folder in ("etc/local.d", "run/openrc"):
        (host.machine.root / folder).mkdir(parents=True)
    script = steps_of(host)["cgroups"].changes[-1]
    assert isinstance(script, WriteFile)
    assert (script.path, script.mode) == ("/etc/local.d/paddock.start", 0o755)
    assert "echo +memory >/sys/fs/cgroup/cgroup.subtree_control\n" in script.text


def test_parameters_are_raised_and_never_lowered(host: Host) -> None:
    host.machine.write("/proc/sys/kernel/pid_max", "4194304\n")
    host.machine.write("/proc/sys/fs/file-max", "9223372036854775807\n")
    (host.machine.root / "proc/sys/kernel/keys/maxkeys").unlink()
    step = steps_of(host)["kernel"]
    names = {change.name for change in step.changes if isinstance(change, SetParameter)}
    assert "vm.max_map_count" in names
    assert names.isdisjoint({"kernel.pid_max", "fs.file-max", "kernel.keys.maxkeys"})
    assert "kernel.keys.maxkeys is not there on this kernel" in step.notes
    assert any(note.startswith("vm.overcommit_memory stays") for note in step.notes)


def test_each_raised_parameter_has_its_reason(host: Host) -> None:
    step = steps_of(host)["kernel"]
    raised = [change for change in step.changes if isinstance(change, SetParameter)]
    assert all(any(note.startswith(f"{each.name}: ") for note in step.notes) for each in raised)


def test_what_our_own_file_raised_stays_in_it(host: Host) -> None:
    host.set_up()
    text = (host.machine.root / SYSCTL.lstrip("/")).read_text()
    host.machine.write("/proc/sys/vm/max_map_count", "65530\n")  # a reboot, half way
    step = steps_of(host)["kernel"]
    assert [type(change) for change in step.changes] == [SetParameter]
    assert "kernel.pid_max = 4194304\n" in text


def test_the_pipes_of_500_agents_are_allowed_for(host: Host) -> None:
    wanted = {
        change.name: change.value
        for change in steps_of(host)["kernel"].changes
        if isinstance(change, SetParameter)
    }
    assert wanted["fs.pipe-user-pages-soft"] * 4096 >= 500 * 128 * 1024


def test_without_pam_no_limits_are_written(host: Host) -> None:
    (host.machine.root / "etc/security/limits.d").rmdir()
    (host.machine.root / "etc/security").rmdir()
    step = steps_of(host)["limits"]
    assert step.changes == ()
    assert "ulimit -n" in step.notes[0]


def test_the_scratch_space_is_a_quarter_of_the_reserve(host: Host) -> None:
    step = steps_of(host)["scratch"]
    mount = step.changes[-1]
    assert isinstance(mount, MountTmpfs)
    assert "size=2097152k" in mount.options  # 16 GiB keep 8
    assert any("counts against the wall" in note for note in step.notes)


def test_a_configuration_that_is_there_is_left_alone(host: Host) -> None:
    host.machine.write("/etc/paddock/config.yaml", "performance_profile: low\n")
    changes = steps_of(host)["directories"].changes
    assert [change.path for change in changes if isinstance(change, WriteFile)] == []
