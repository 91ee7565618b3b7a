"""`paddock host setup` as people and scripts see it. Nothing here changes the machine."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from paddock.cli.exits import CommandError
from paddock.cli.host_setup import as_object, step_lines, summary, user_of
from paddock.host.setup.plan import plan
from paddock.host.setup.running import StepDone
from tests.kit.prepared_host import Host
from tests.unit.cli.conftest import Paddock


def shown(told: list[StepDone], *, dry_run: bool) -> str:
    lines = [line for each in told for line in step_lines(each, dry_run=dry_run)]
    return "\n".join(f"{head} {text}" for head, text, _ in lines)


def test_a_dry_run_shows_every_change_and_makes_none(paddock: Paddock) -> None:
    called = paddock("host", "setup", "--dry-run", "--json")
    assert called.json["dry_run"] is True and called.json["changed"] == 0
    names = [step["name"] for step in called.json["steps"]]
    assert names == ["directories", "swap", "cgroups", "kernel", "limits", "scratch"]
    assert not any(change["done"] for step in called.json["steps"] for change in step["changes"])
    assert called.code == (1 if called.json["problems"] else 0)


def test_each_step_tells_now_new_and_why(tmp_path: Path) -> None:
    told = [StepDone(step, ()) for step in plan(Host(tmp_path).read())]
    text = shown(told, dry_run=True)
    assert "now /dev/sda2 (1 MiB of 2 GiB used)" in text
    assert "new off, also after a reboot" in text
    assert "would swapoff /dev/sda2" in text
    assert "why swap turns an agent" in text
    assert summary(told, dry_run=True).endswith("changes would be made, none was")


def test_what_was_done_and_what_failed_is_told(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.programs.fails = "swapoff"
    told = host.set_up()
    text = shown(told, dry_run=False)
    assert "did write /etc/sysctl.d/60-paddock.conf" in text
    assert "failed `swapoff /dev/sda2` failed: not today" in text
    assert summary(told, dry_run=False).endswith("; 1 problem")
    told_json = as_object(told, dry_run=False)
    swap = next(step for step in told_json["steps"] if step["name"] == "swap")
    assert [change["done"] for change in swap["changes"]] == [True, False]
    assert told_json["problems"] == ["`swapoff /dev/sda2` failed: not today"]


def test_a_second_time_nothing_had_to_be_changed(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.set_up()
    told = host.set_up()
    assert summary(told, dry_run=False) == "nothing had to be changed"
    assert shown(told, dry_run=False).count("nothing to change") == 6


def test_a_user_that_does_not_exist_is_told(paddock: Paddock) -> None:
    called = paddock("host", "setup", "--dry-run", "--user", "no-such-user")
    assert called.code == 2
    assert "there is no user 'no-such-user'" in called.err


def test_the_user_is_the_one_that_was_named() -> None:
    me = pwd.getpwuid(os.getuid())
    found = user_of(me.pw_name)
    assert (found.name, found.owner.uid) == (me.pw_name, me.pw_uid)
    with pytest.raises(CommandError):
        user_of("no-such-user")


def test_undo_takes_no_user(paddock: Paddock) -> None:
    called = paddock("host", "setup", "--undo", "--user", "root")
    assert called.code == 2
    assert "--user has no meaning with --undo" in called.err


def test_undo_shown_first_changes_nothing(paddock: Paddock) -> None:
    called = paddock("host", "setup", "--undo", "--dry-run", "--json")
    assert (called.code, called.json["taken_back"]) == (0, [])
