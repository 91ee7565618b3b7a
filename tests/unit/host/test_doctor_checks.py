"""What the doctor finds wrong, from facts; each has the command that mends it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paddock.core.units import GIB
from paddock.host.doctor.checks import Problem, problems
from paddock.host.doctor.containment import (
    Containment,
    Promises,
    of_containers,
    of_daemon,
    said_of_containers,
    without_walls,
)
from paddock.host.doctor.facts import Facts, Given, State, read_facts
from tests.kit.machine import Machine

WALLS = Containment(
    word="cgroup2",
    because="/sys/fs/cgroup/paddock-x (below /)",
    promises=Promises(hard_memory_wall=True, no_swap=True, pids_wall=True),
)


def well(**other: Any) -> Facts:
    """A host with nothing to complain about, and what a test changes of it."""
    given = Given(Path("/home/me/.local/state/paddock"), 10, "1.0", "1.0")
    facts = Facts(
        given=given,
        uid=1000,
        user="me",
        linux=True,
        kernel=(6, 1),
        swap_bytes=0,
        psi=True,
        systemd=True,
        user_manager=True,
        lingers=True,
        engines=(),
        parameters={
            "fs.pipe-user-pages-soft": 80_001,
            "fs.inotify.max_user_instances": 8192,
            "fs.inotify.max_user_watches": 1 << 20,
            "kernel.pid_max": 1 << 22,
        },
        open_files=65_536,
        processes=sys.maxsize,
        git=(2, 39),
        state=State(exists=True, mode=0o700, uid=1000, free_bytes=50 * GIB, free_inodes=None),
        now=2e9,
        installed_at=1.9e9,
        hidepid=False,
        top="/sys/fs/cgroup",
    )
    return replace(facts, **other)


def found(facts: Facts, walls: Containment = WALLS) -> dict[str, Problem]:
    return {problem.name: problem for problem in problems(facts, walls)}


def given(**other: Any) -> Given:
    return replace(well().given, **other)


def test_a_host_that_is_well_has_no_problems() -> None:
    assert found(well()) == {}


@pytest.mark.parametrize(
    ("name", "level", "facts", "mend"),
    [
        ("linger", "wrong", well(lingers=False), "sudo loginctl enable-linger me"),
        ("psi", "hint", well(psi=False), "psi=1"),
        ("kernel", "hint", well(kernel=(5, 10)), "newer kernel"),
        ("kernel", "hint", well(kernel=(5, 15)), "newer kernel"),
        ("swap", "hint", well(swap_bytes=GIB), "sudo paddock host setup"),
        ("clock", "wrong", well(now=1.0), "clock"),
        ("git", "hint", well(git=None), "install git"),
        ("git", "hint", well(git=(2, 20)), "newer git"),
        ("hidepid", "hint", well(hidepid=True), "hidepid"),
        ("open files", "wrong", well(open_files=256), "ulimit -n 276"),
        ("processes", "hint", well(processes=100), "paddock host setup"),
        ("version", "wrong", well(given=given(daemon_version="0.9")), "paddock daemon stop"),
        ("config", "wrong", well(given=given(config_mistake="line 3: …")), "paddock config check"),
        ("state", "wrong", well(state=replace(well().state, mode=0o755)), "chmod 700 /home/me"),
        ("state", "wrong", well(state=replace(well().state, uid=0)), "PADDOCK_STATE"),
        ("disk", "wrong", well(state=replace(well().state, free_bytes=5)), "PADDOCK_STATE"),
        ("disk", "wrong", well(state=replace(well().state, free_inodes=5)), "delete small files"),
    ],
)
def test_each_problem_has_its_level_and_its_command(
    name: str, level: str, facts: Facts, mend: str
) -> None:
    problem = found(facts)[name]
    assert (problem.level, len(found(facts))) == (level, 1)
    assert mend in (problem.mend or "")


def test_no_walls_is_wrong_unless_somebody_chose_so() -> None:
    none = without_walls("no cgroup can be written", mend="sudo paddock host setup")
    assert found(well(), none)["walls"] == Problem(
        "walls",
        "wrong",
        "agents have no memory walls: no cgroup can be written",
        "sudo paddock host setup",
    )
    assert found(well(), without_walls("as told", chosen=True))["walls"].level == "hint"


def test_where_only_containers_have_walls_they_are_the_way() -> None:
    mac = well(linux=False, engines=("podman",), git=(2, 39))
    mend = found(mac, without_walls("only Linux has cgroups"))["walls"].mend
    assert mend == "run agents in containers of podman: --driver container"


def test_swap_is_wrong_where_agents_would_be_swapped_out() -> None:
    none = without_walls("none", chosen=True)
    assert found(well(swap_bytes=GIB), none)["swap"].level == "wrong"


def test_walls_that_are_missing_are_named() -> None:
    walls = replace(WALLS, missing=("pids", "freeze"), mend="paddock host setup")
    assert {name: problem.level for name, problem in found(well(), walls).items()} == {
        "pids": "wrong",
        "freeze": "hint",
    }


def test_pipes_are_counted_for_the_agents_asked_for() -> None:
    pages = {**well().parameters, "fs.pipe-user-pages-soft": 16_384}
    few = well(given=given(agents=10), parameters=pages)
    assert "pipes" not in found(few)
    many = replace(few, given=given(agents=1000), open_files=1 << 20)
    assert found(many)["pipes"].level == "wrong"
    assert "output pipes for 512 of 1000 agents" in found(many)["pipes"].what
    assert "pipes" not in found(replace(many, uid=0))  # root's are not counted


def test_inotify_instances_are_counted_for_the_agents_asked_for() -> None:
    instances = {**well().parameters, "fs.inotify.max_user_instances": 128}
    assert "inotify" not in found(well(parameters=instances))
    assert "inotify" in found(well(parameters=instances, given=given(agents=100)))


def test_a_daemon_outside_any_home_has_no_walls() -> None:
    walls = of_daemon(4_999_999, well())
    assert (walls.word, walls.promises.hard_memory_wall) == ("none", False)


def test_facts_are_read_from_the_machine(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write("/proc/meminfo", "MemTotal: 100 kB\nSwapTotal: 8 kB\nSwapFree: 8 kB\n")
    machine.write("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
    machine.write("/proc/sys/fs/inotify/max_user_instances", "128\n")
    machine.write(
        "/proc/self/mountinfo", "22 28 0:21 / /proc rw,nosuid - proc proc rw,hidepid=invisible\n"
    )
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    state = tmp_path / "state/deep"
    facts = read_facts(Given(state, 3, "1.0"), tmp_path)
    assert (facts.swap_bytes, facts.psi, facts.systemd, facts.hidepid) == (8192, True, True, True)
    assert facts.parameters["fs.inotify.max_user_instances"] == 128
    assert facts.parameters["kernel.pid_max"] is None
    assert not facts.state.exists and facts.state.free_bytes > 0


def test_a_machine_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    facts = read_facts(Given(tmp_path, 1, "1.0"), tmp_path)
    assert (facts.swap_bytes, facts.psi, facts.hidepid, facts.top) == (0, False, False, None)


def test_who_keeps_no_memory_for_the_daemon_is_named_with_what_mends_it() -> None:
    top = "/sys/fs/cgroup"
    system = replace(WALLS, not_kept_by=(f"{top}/system.slice",))
    hint = found(well(uid=0, user="root"), system)["daemon memory"]
    assert (hint.level, hint.mend) == (
        "hint",
        "systemctl set-property system.slice MemoryMin=128M",
    )
    users = f"{top}/user.slice/user-1000.slice/user@1000.service"
    own = replace(WALLS, not_kept_by=(f"{top}/user.slice", users, f"{users}/app.slice"))
    assert found(well(), own)["daemon memory"].mend == (
        "sudo systemctl set-property user.slice MemoryMin=128M && "
        "sudo systemctl set-property user@1000.service MemoryMin=128M && "
        "systemctl --user set-property app.slice MemoryMin=128M"
    )
    other = replace(WALLS, not_kept_by=(f"{top}/lxc",))
    assert found(well(), other)["daemon memory"].mend is None


@pytest.mark.parametrize(
    ("facts", "walls", "said"),
    [
        (well(), WALLS, "no podman, docker or Apple container here"),
        (well(uid=0, engines=("podman", "docker")), WALLS, "within the fleet's wall"),
        (well(uid=0, engines=("docker",)), WALLS, "only where it was set to cgroupfs"),
        (well(engines=("podman",)), WALLS, "only an engine of root's"),
        (well(uid=0, engines=("podman",)), without_walls("none"), "local agents have no walls"),
    ],
)
def test_whether_containers_have_a_wall_around_them_is_said(
    facts: Facts, walls: Containment, said: str
) -> None:
    assert said in said_of_containers(facts, walls)
    assert of_containers(facts, walls).fleet_wall is (said == "within the fleet's wall")


def test_a_missing_image_is_said_where_there_is_an_engine_and_wrong_where_it_is_needed() -> None:
    engine = well(engines=("podman",))
    assert "no image to begin with" in said_of_containers(engine, WALLS)
    assert "image" not in found(engine, WALLS)
    named = replace(engine, given=replace(engine.given, image="agents:1", driver="container"))
    assert "no image" not in said_of_containers(named, WALLS)
    assert "image" not in found(named, WALLS)
    chosen = replace(engine, given=replace(engine.given, driver="container"))
    problem = found(chosen, WALLS)["image"]
    assert (problem.level, "container_image: NAME" in (problem.mend or "")) == ("wrong", True)
