"""Completion of run names: from a daemon that is there, and silent without one."""

from __future__ import annotations

import click

from paddock.cli.completing import complete_run
from paddock.cli.main import cli
from tests.unit.cli.fake_client import FakeDaemon

PARAMETER = click.Argument(["run"])


def completed(daemon: FakeDaemon, typed: str) -> list[str]:
    context = click.Context(cli, obj=daemon.door)
    return [item.value for item in complete_run(context, PARAMETER, typed)]


def test_names_come_first_and_ids_once_one_is_begun(daemon: FakeDaemon) -> None:
    daemon.add("implement")
    daemon.add("review")
    assert completed(daemon, "") == ["implement", "review"]
    assert completed(daemon, "imp") == ["implement"]
    assert completed(daemon, "r") == ["review", "r0001", "r0002"]


def test_without_a_daemon_there_is_nothing_and_none_is_started(daemon: FakeDaemon) -> None:
    daemon.running = False
    assert completed(daemon, "") == []
    assert daemon.starts == 0
