"""Every command of docs/operate/emergencies.md does what the page says, without a daemon."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.integration.rescue.pen import Pen, gone
from tests.kit.waiting import until

PAGE = Path(__file__).parents[3] / "docs/operate/emergencies.md"


def documented() -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("paddock ")]


LINES = documented()
KILLS = ["paddock kill review", "paddock kill --force review", "paddock kill --all --force"]
WATCHES = ["paddock watch", "paddock watch --auto-kill"]
CGROUPS = [line for line in LINES if line.startswith("paddock cgroup ")]
OTHERS = ["paddock relieve --dry-run 75", "paddock relieve 75", "paddock daemon stop --kill"]


def test_all_of_them_are_tried_here() -> None:
    assert sorted(LINES) == sorted([*KILLS, *WATCHES, *CGROUPS, *OTHERS])


@pytest.mark.parametrize("line", KILLS)
def test_a_documented_kill_kills(pen: Pen, line: str) -> None:
    agent = pen.agent("3f2a", 1, name="review")
    done = pen.paddock(*shlex.split(line)[1:])
    assert (done.returncode, done.stdout) == (0, "3f2a\n"), done.stderr
    assert gone(agent)


@pytest.mark.parametrize("line", WATCHES)
def test_a_documented_watch_shows_the_agents(pen: Pen, line: str) -> None:
    pen.agent("3f2a", 20, name="review")
    # Those of this machine would be an emergency on a host of 512 MiB.
    (pen.state / "keeper/ladder").write_text('{"emergency_free_bytes": 1}')
    watching = pen.start(*shlex.split(line)[1:])
    assert watching.stdout is not None
    assert "1 agent, " in watching.stdout.readline()
    watching.terminate()


def test_documented_relief_ends_below_75(pen: Pen) -> None:
    keep, hog = pen.agent("keep", 100, begun_at=1.0), pen.agent("hog", 300, begun_at=2.0)
    plan = pen.paddock("relieve", "--dry-run", "75")
    assert plan.stdout.startswith("would kill the-hog (hog)")
    done = pen.paddock("relieve", "75")
    assert done.returncode == 0
    assert "1 agent killed" in done.stdout
    until(lambda: gone(hog))
    assert not gone(keep)


def test_documented_walls_are_made_used_and_removed(pen: Pen) -> None:
    for line in CGROUPS:
        done = pen.paddock(*shlex.split(line)[1:])
        assert done.returncode == 0, (line, done.stderr)
    assert pen.paddock("cgroup", "ls", "--json").stdout == "[]\n"
