"""Pipes in which nobody ever writes, in place of paddock's own files: neither the daemon, nor the
next one, nor a rescue waits in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kit.house import House, shell

LAYS = """
place=$(dirname "$PADDOCK_SOFT_TIMEOUT")
next=$((PADDOCK_ATTEMPT_NUMBER + 1))
for name in "$PADDOCK_ATTEMPT_NUMBER.killed" "$next.facts" "$next.facts.new" "$next.killed"; do
    rm -f "$place/$PADDOCK_RUN.$name"
    mkfifo "$place/$PADDOCK_RUN.$name"
done
mkdir -p "$PADDOCK_STATE/black_boxes"
mkfifo "$PADDOCK_STATE/black_boxes/$PADDOCK_RUN.json"
rm -f "$PADDOCK_STATE/ballast"; mkfifo "$PADDOCK_STATE/ballast"
[ "$next" = 3 ] && sleep 2.5 # until it was looked at, and its facts would be kept
exit 7
"""
# What the next daemon reads before it lives.
READ_AT_A_START = ("instance", "listen", "ballast", "keeper/home", "keeper/ladder", "keeper.log")


def laid(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def test_pipes_that_an_agent_lays_among_our_files_hold_up_nobody(house: House) -> None:
    house.start()
    before = house.daemon()["pid"]
    text = LAYS.replace("$PADDOCK_STATE", str(house.places.state))
    [run] = house.submit(shell("lays", text, retries=1)).runs
    [view] = house.ended([run.id])
    assert (view.outcome, view.exit_code, view.attempt) == ("failed", 7, 2)
    assert house.paddock("why", run.id, within_s=30).returncode == 0
    assert house.daemon()["pid"] == before


def test_a_pipe_that_is_called_git_holds_up_no_submission(house: House) -> None:
    """Above one's directory may be a directory of everybody, such as /tmp."""
    house.start()
    laid(house.home / ".git")
    [run] = house.submit(shell("runs", "exit 0")).runs
    assert house.ended([run.id])[0].outcome == "succeeded"


@pytest.mark.parametrize("name", [*READ_AT_A_START, "journal"])
def test_a_pipe_in_place_of_a_file_keeps_no_daemon_and_no_rescue_waiting(
    house: House, name: str
) -> None:
    house.start()
    [run] = house.submit(shell("first", "exit 0")).runs
    house.ended([run.id])
    house.paddock("daemon", "stop")
    state = house.places.state
    laid(state / "keeper/1-1.journal" if name == "journal" else state / name)
    rescued = house.paddock("kill", "--all", "--force", within_s=30)
    assert rescued.returncode == 0, rescued.stderr
    house.start()
    [run] = house.submit(shell("second", "exit 0")).runs
    assert house.ended([run.id])[0].outcome == "succeeded"
