"""Rescue believes what lies in its own user's directory: root is not led to kill for somebody."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.house import PADDOCK

NOBODY = 65534


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        yield sleeper
        sleeper.kill()


@pytest.fixture
def state(tmp_path: Path, victim: subprocess.Popen[bytes]) -> Path:
    """As another user has made it: a cgroup that is none, with our process in it."""
    if os.geteuid() != 0:
        pytest.skip("only root is asked to rescue somebody else")
    state = tmp_path / "state"
    group = tmp_path / "state/cgroup/fleet/run.1"
    group.mkdir(parents=True)
    (state / "keeper").mkdir()
    (tmp_path / "bait").write_text("root:x:0:0\n")
    (group / "cgroup.procs").write_text(f"{victim.pid}\n")
    (group / "cgroup.freeze").symlink_to(tmp_path / "bait")
    home = {"version": 2, "directories": {"unified": str(state / "cgroup")}}
    (state / "keeper/home").write_text(json.dumps(home))
    os.chown(state, NOBODY, NOBODY)
    return state


@pytest.mark.parametrize(
    "words",
    [
        ["kill", "--all", "--force"],
        ["kill", "run"],
        ["relieve", "1"],
        ["watch", "--auto-kill"],
        ["cgroup", "ls"],
    ],
    ids=" ".join,
)
def test_what_lies_in_another_users_directory_kills_nobody(
    words: list[str], state: Path, victim: subprocess.Popen[bytes]
) -> None:
    env = {"PATH": os.environ["PATH"], "PADDOCK_STATE": str(state)}
    done = subprocess.run(
        [*PADDOCK, *words], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0 and "belongs to another user" in done.stderr, done.stderr
    assert f"sudo -u '#{NOBODY}'" in done.stderr
    assert victim.poll() is None
    assert (state.parent / "bait").read_text() == "root:x:0:0\n"
