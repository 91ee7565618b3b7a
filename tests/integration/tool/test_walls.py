"""Tool walls with real processes and real cgroups."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from paddock.config.tool_walls import ToolWall
from paddock.tool.shims import tool_path
from tests.integration.tool.conftest import MakePen
from tests.integration.tool.pen import AGENT, HOG, Pen, a_crew, a_tool, path_of, wait_for
from tests.kit.leaks import is_alive
from tests.kit.waiting import until

PADDOCK = (sys.executable, "-P", "-m", "paddock")
MIB = 1 << 20


def test_a_command_over_its_share_dies_and_its_agent_reads_why_and_succeeds_with_fewer(
    a_pen: MakePen, tmp_path: Path
) -> None:
    pen = a_pen(1000)
    tools = a_crew(tmp_path / "bin", megabytes=150).parent
    shims = tool_path(tmp_path / "state", [ToolWall(command="pytest")], path=str(tools))

    agent = pen.run(
        "/bin/sh", "-c", AGENT, "agent", str(tmp_path / "err"), env=path_of(shims, tools)
    )

    assert "first: 137" in agent.stdout
    assert (
        "paddock: pytest was stopped at its memory wall: peak 750 MiB of 750 MiB with 6 workers; "
        "try -n 2\n" in agent.stdout
    )
    assert "only this command was stopped" in agent.stdout
    assert "2 workers, 2 passed" in agent.stdout
    assert "agent: succeeded with 2" in agent.stdout
    assert agent.returncode == 0


def test_nothing_that_a_command_leaves_behind_outlives_it(a_pen: MakePen, tmp_path: Path) -> None:
    pen = a_pen(200)
    left = tmp_path / "pid"
    script = f"setsid sh -c 'echo $$ >{left}; exec sleep 300' >/dev/null 2>&1 & wait; exit 3"

    done = pen.run(*PADDOCK, "tool", "--", "sh", "-c", script.replace("wait", f"{wait_for(left)}"))

    assert done.returncode == 3, done.stderr
    assert not is_alive(int(left.read_text()))
    assert pen.tools() == []


def test_its_wall_is_the_share_that_was_asked_for(a_pen: MakePen) -> None:
    pen = a_pen(400)
    for asked, given_mb in (("50%", 200), ("64M", 64), ("8G", 400)):
        done = pen.run(*PADDOCK, "tool", "--memory", asked, "--json", "--", "true")
        assert json.loads(done.stdout)["wall_bytes"] == given_mb * MIB


def test_its_exit_code_is_its_own(a_pen: MakePen) -> None:
    pen = a_pen(200)
    for script, code in (("exit 0", 0), ("exit 9", 9), ("kill -TERM $$", 128 + signal.SIGTERM)):
        assert pen.run(*PADDOCK, "tool", "--", "sh", "-c", script).returncode == code
    missing = pen.run(*PADDOCK, "tool", "--", "no-such-tool")
    assert (missing.returncode, missing.stderr) == (127, "paddock: no-such-tool: not found\n")


def test_its_input_and_output_are_its_own(a_pen: MakePen) -> None:
    process = a_pen(200).start(*PADDOCK, "tool", "--", "sh", "-c", "cat; echo told >&2")
    assert process.communicate("asked\n", timeout=30) == ("asked\n", "told\n")


def test_a_signal_is_passed_on(a_pen: MakePen) -> None:
    script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = a_pen(200).start(*PADDOCK, "tool", "--", "sh", "-c", script)
    assert process.stdout and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 7


def test_whoever_kills_the_waiter_kills_the_command_and_the_next_one_sweeps(
    a_pen: MakePen,
) -> None:
    pen = a_pen(200)
    script = "sleep 300 & echo $! $$; wait"
    process = pen.start(*PADDOCK, "tool", "--", "sh", "-c", script)
    assert process.stdout
    helper, main = map(int, process.stdout.readline().split())
    process.kill()
    process.wait(30)

    until(lambda: not is_alive(main))
    assert len(pen.tools()) == 1  # its helper is still in there, and nobody waits for it
    assert pen.run(*PADDOCK, "tool", "--", "true").returncode == 0
    until(lambda: not is_alive(helper))
    pen.run(*PADDOCK, "tool", "--", "true")
    assert pen.tools() == []


def test_a_walled_command_inside_a_walled_command_shares_its_wall(
    a_pen: MakePen, tmp_path: Path
) -> None:
    pen = a_pen(200)
    where = 'grep -E "memory|^0::" /proc/self/cgroup; echo "$PATH"'
    inner = a_tool(tmp_path / "bin", "inner", f"#!/bin/sh\n{where}\n")
    call = f"{where}; inner; {' '.join(PADDOCK)} tool -- inner"
    a_tool(tmp_path / "bin", "outer", f"#!/bin/sh\n{call}\n")
    walls = [ToolWall(command="outer"), ToolWall(command="inner")]
    shims = tool_path(tmp_path / "state", walls, path="")

    done = pen.run("outer", env=path_of(shims, inner.parent))

    seen = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(seen) % 3 == 0 and seen[: len(seen) // 3] * 3 == seen
    assert "/fleet/RUN.1/tool-" in done.stdout
    assert str(shims) not in done.stdout


def test_where_the_agents_own_wall_is_met_the_command_dies_and_the_agent_lives(
    a_pen: MakePen,
) -> None:
    pen = a_pen(300)
    agent = pen.start(sys.executable, "-c", HOG, "120", "60")
    assert agent.stdout and agent.stdout.readline() == "holding\n"

    done = pen.run(
        *PADDOCK, "tool", "--memory", "100%", "--", sys.executable, "-c", HOG, "280", "0"
    )

    assert done.returncode == 137, done.stderr
    assert "was stopped at its agent's memory wall: 300 MiB for the agent and all" in done.stderr
    assert agent.poll() is None


def test_worker_counts_are_lowered_only_where_nobody_set_them(a_pen: MakePen) -> None:
    pen = a_pen(400)
    names = ("CARGO_BUILD_JOBS", "PYTEST_XDIST_AUTO_NUM_WORKERS", "UV_CONCURRENT_BUILDS")
    env = dict.fromkeys(names, "") | {"UV_CONCURRENT_BUILDS": "9"}
    shown = " ".join(f"{name}=${name}" for name in names)
    unset = ("env", *(f"--unset={name}" for name in names[:2]))

    done = pen.run(*unset, *PADDOCK, "tool", "--", "sh", "-c", f'echo "{shown}"', env=env)

    few = "1" if len(os.sched_getaffinity(0)) > 1 else ""
    assert done.stdout == (
        f"CARGO_BUILD_JOBS=1 PYTEST_XDIST_AUTO_NUM_WORKERS={few} UV_CONCURRENT_BUILDS=9\n"
    )


def test_a_variable_that_no_shell_could_name_reaches_the_command(
    a_pen: MakePen, tmp_path: Path
) -> None:
    pen = a_pen(200)
    shims = tool_path(tmp_path, [ToolWall(command="env")], path="")
    assert shims
    env = {"npm_config_@scope:registry": "there", "PATH": f"{shims}:/usr/bin:/bin"}
    # Joined by Python: dash as this test's own way in would drop the variable, too.
    script = (
        "import os, sys\n"
        "for file in sys.argv[1].split(): open(file, 'w').write('0')\n"
        "os.environ['npm_config_@scope:registry'] = 'there'\n"
        "os.execvp('env', ['env'])\n"
    )
    done = pen.run(sys.executable, "-c", script, " ".join(pen.main.procs), env=env)
    assert "npm_config_@scope:registry=there\n" in done.stdout


def test_without_paddock_a_shim_is_the_command_itself(tmp_path: Path) -> None:
    tools = a_tool(tmp_path / "bin", "greet", '#!/bin/sh\necho "hello $1"\n').parent
    shims = tool_path(tmp_path / "state", [ToolWall(command="greet")], path="")
    assert shims
    shim = Path(shims) / "greet"
    shim.write_text(shim.read_text().replace(sys.executable, "/gone/python"), encoding="utf-8")

    found = Pen.plain(str(shim), "you", env=path_of(shims, tools))

    assert (found.returncode, found.stdout) == (0, "hello you\n")


def test_outside_an_agent_a_shim_is_the_command_itself(tmp_path: Path) -> None:
    tools = a_tool(tmp_path / "bin", "greet", '#!/bin/sh\necho "hello $1"\n').parent
    shims = tool_path(tmp_path / "state", [ToolWall(command="greet")], path="")
    found = Pen.plain("greet", "you", env=path_of(shims, tools))
    assert (found.returncode, found.stdout, found.stderr) == (0, "hello you\n", "")
