"""Walls as a user meets them: through the daemon, by the commands, on real cgroups."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from paddock.drivers.local.containment.choosing import read_home
from tests.integration.container import engine_room
from tests.kit.house import House, a_house
from tests.kit.repositories import a_repository
from tests.kit.waiting import until

HOG = "dd if=/dev/zero of=/dev/null bs=300M count=1"


def test_over_its_wall_a_run_ends_with_137_and_why_says_what_was_known(house: House) -> None:
    done = house.paddock("run", "--name", "hog", "--memory", "64M", "--", "sh", "-c", f"exec {HOG}")
    assert done.returncode == 137, done.stderr
    assert "went over its memory limit of 64 MiB" in done.stderr
    why = house.told("why", "hog")
    assert why["sentence"].startswith("memory_limit_exceeded: went over its memory limit")
    box = why["black_box"]
    assert box["limit"] == "64 MiB" and box["next"].startswith("nothing")
    assert "dd" in box["why"]


def test_a_tool_dies_at_its_own_wall_and_its_agent_learns_why_and_goes_on(tmp_path: Path) -> None:
    tool = tmp_path / "bin/tests"
    tool.parent.mkdir()
    tool.write_text(
        '#!/bin/sh\nexec dd if=/dev/zero of=/dev/null bs="$1" count=1\n', encoding="ascii"
    )
    tool.chmod(0o755)
    with a_house(tmp_path, config="sandbox: {tool_walls: [tests]}\n") as house:
        house.env["PATH"] = f"{tool.parent}:{house.env['PATH']}"
        agent = "tests 300M; echo agent: $?; tests 8M && echo agent: done"
        done = house.paddock("run", "--memory", "128M", "--", "sh", "-c", agent)
        assert done.returncode == 0, done.stderr
        assert "tests was stopped at its memory wall: peak 96 MiB of 96 MiB" in done.stdout
        assert "agent: 137" in done.stdout and "agent: done" in done.stdout


def test_without_walls_that_were_asked_for_the_daemon_does_not_start(tmp_path: Path) -> None:
    """As somebody who may write no cgroup would find it."""
    with a_house(tmp_path, config="sandbox: {containment: cgroup}\n") as house:
        without = ("unshare", "--mount", "sh", "-c", 'umount -l -R /sys/fs/cgroup; exec "$@"', "sh")
        done = house.paddock("daemon", "run", before=without)
        assert done.returncode == 69
        assert "there are no walls to be had" in done.stderr
        assert "try: paddock doctor" in done.stderr


def test_stopped_in_good_order_it_leaves_no_cgroup_behind(house: House) -> None:
    house.start()
    home = read_home(house.places.keeper)
    assert home is not None and home.group.exists()
    assert house.paddock("run", "--memory", "64M", "--", "true").returncode == 0
    assert house.paddock("daemon", "stop").returncode == 0
    until(lambda: not home.group.exists(), within_s=10)


def test_with_none_nothing_is_walled_and_that_is_said(tmp_path: Path) -> None:
    with a_house(tmp_path, config="sandbox: {containment: none}\n") as house:
        done = house.paddock("run", "--pids", "64", "--memory", "64M", "--", "true")
        assert done.returncode == 0
        assert "pids will not be held: the driver local (no walls) has no walls" in done.stderr


def test_over_its_soft_limit_it_is_asked_then_killed_and_its_work_is_kept(tmp_path: Path) -> None:
    """Without walls (ISO-4): it does not listen, so that all of the 10 s are seen."""
    hog = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: open('asked', 'w'))\n"
    hog += "x = bytearray(200 << 20)\nwhile True: time.sleep(1)"
    with a_house(tmp_path, config="sandbox: {containment: none}\n") as house:
        a_repository(house.home / "shop")
        words = ("run", "--name", "hog", "--repo", "shop", "--memory", "64M")
        began = time.monotonic()
        done = house.paddock(*words, "--", sys.executable, "-I", "-S", "-c", hog, within_s=60)
        assert time.monotonic() - began > 10
        assert done.returncode == 137, done.stderr
        why = house.told("why", "hog")
        assert "over its soft limit of 64 MiB" in why["sentence"]
        assert "memory_limit_exceeded" in why["sentence"]
        (kept,) = house.told("workspace", "ls")
        assert (Path(kept["path"]) / "asked").exists()


def test_a_run_in_a_container_has_its_own_code_and_its_own_wall(tmp_path: Path) -> None:
    lacking = engine_room.lacking()
    if lacking is not None:
        pytest.skip(lacking)
    podman = engine_room.a_program(tmp_path / "bin")
    given = tmp_path / "given"
    given.mkdir()
    (given / "word").write_text("from outside\n", encoding="ascii")
    config = f"sandbox: {{container_image: '{engine_room.IMAGE}', container_network: none,"
    config += f" container_mounts: ['{given}:/given:ro']}}\n"
    with a_house(tmp_path, config=config) as house:
        house.env |= engine_room.environment() | {"HOME": house.env["HOME"]}
        house.env["PATH"] = f"{podman.parent}:{house.env['PATH']}"
        options = ("run", "--driver", "container", "--memory", "64M", "--")
        done = house.paddock(*options, "sh", "-c", "echo inside; exit 3")
        assert (done.returncode, done.stdout) == (3, "inside\n"), done.stderr
        assert house.paddock(*options, "sh", "-c", HOG).returncode == 137
        assert house.paddock(*options, "no-such-program").returncode == 127
        done = house.paddock(*options, "sh", "-c", "cat /given/word; : >/given/word")
        assert (done.returncode, done.stdout.split("\n")[0]) == (1, "from outside"), done.stderr
        _is_within_the_fleets_wall(house)


def _is_within_the_fleets_wall(house: House) -> None:
    home = read_home(house.places.keeper)
    assert home is not None
    words = ("--driver", "container", "--memory", "64M", "--", "sleep", "60")
    assert house.paddock("submit", *words).returncode == 0
    fleet = home.fleet.child("containers")
    until(lambda: any(group.pids() for group in map(fleet.child, fleet.children())), within_s=30)
    assert home.fleet.walls().limit_bytes
    assert house.paddock("kill", "--all", "--force").returncode == 0
    until(lambda: not fleet.exists(), within_s=30)
