"""Tool walls on cgroup v2: the kernel ends a command as a whole, and its agent goes on.

By shims only: `paddock` itself takes seconds to start under emulation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paddock.config.tool_walls import ToolWall
from paddock.tool.shims import tool_path
from tests.integration.tool.pen import AGENT, HOG, Pen, a_crew, path_of, wait_for
from tests.kit.leaks import is_alive


@pytest.fixture
def a_pen() -> Iterator[Callable[[int], Pen]]:
    made: list[Pen] = []

    def make(limit_mb: int) -> Pen:
        made.append(Pen.on_v2(limit_mb))
        return made[-1]

    yield make
    for pen in made:
        left = pen.tools()
        pen.remove()
        assert left == []


def test_a_command_over_its_share_dies_and_its_agent_reads_why_and_succeeds_with_fewer(
    a_pen: Callable[[int], Pen], tmp_path: Path
) -> None:
    pen = a_pen(320)
    tools = a_crew(tmp_path / "bin", megabytes=50).parent
    shims = tool_path(tmp_path / "state", [ToolWall(command="pytest")], path=str(tools))
    err = str(tmp_path / "err")

    agent = pen.run("/bin/sh", "-c", AGENT, "agent", err, env=path_of(shims, tools))

    assert "first: 137" in agent.stdout, agent.stderr
    assert "its memory wall: peak 240 MiB of 240 MiB with 6 workers; try -n 1\n" in agent.stdout
    assert "agent: succeeded with 1" in agent.stdout
    assert agent.returncode == 0
    # The agent's own cgroup never met its wall: who reads the attempt's counters sees that.
    assert pen.attempt.counters().oom == 0


def test_nothing_that_a_command_leaves_behind_outlives_it(
    a_pen: Callable[[int], Pen], tmp_path: Path
) -> None:
    pen = a_pen(200)
    left = tmp_path / "pid"
    shims = tool_path(tmp_path, [ToolWall(command="sh")], path="")
    script = f"setsid sh -c 'echo $$ >{left}; exec sleep 300' >/dev/null 2>&1 & {wait_for(left)}"

    done = pen.run("sh", "-c", f"{script}; exit 3", env=path_of(shims, tmp_path))

    assert done.returncode == 3, done.stderr
    assert not is_alive(int(left.read_text()))
    assert pen.tools() == []


def test_where_the_agents_own_wall_is_met_the_command_dies_and_the_agent_lives(
    a_pen: Callable[[int], Pen], tmp_path: Path
) -> None:
    pen = a_pen(120)
    agent = pen.start(sys.executable, "-IS", "-c", HOG, "40", "60")
    assert agent.stdout and agent.stdout.readline() == "holding\n"
    wall = ToolWall(command="python3", memory_bytes=120 << 20)
    shims = tool_path(tmp_path, [wall], path="")

    done = pen.run("python3", "-IS", "-c", HOG, "115", "0", env=path_of(shims, tmp_path))

    assert done.returncode == 137, done.stderr
    assert "was stopped at its agent's memory wall: 120 MiB for the agent and all" in done.stderr
    assert agent.poll() is None
