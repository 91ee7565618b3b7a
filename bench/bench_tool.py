"""What a tool wall costs a command: bare, by a shim, and by `paddock tool`.

Targets: a shim adds at most a quarter of what `pytest --version` takes in the same run, by CPU
time, which a busy machine does not change as much; and watching takes under 1 % of a core.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ground import cpu_s, keep

from paddock.cgroups.group import Walls
from paddock.cgroups.mounts import UNIFIED, top_of
from paddock.cgroups.v1 import WANTED, Group1
from paddock.cgroups.v2 import Group2
from paddock.config.tool_walls import ToolWall
from paddock.tool.shims import tool_path

ROUNDS = 40
FEW_ROUNDS = 10
MOST_ADDED = 0.25
WATCHED_S = 3.0
LIMIT_BYTES = 400 << 20
JOIN = 'for file in $0; do echo 0 >"$file" || exit 99; done; exec "$@"'
# Commands one after the other inside an agent: each line is the time of one, and its CPU time.
AGENT = """
import os, sys, time
def cpu():
    used = os.times()
    return used.children_user + used.children_system
words = sys.argv[2:]
before = cpu()
for _ in range(int(sys.argv[1])):
    begun = time.perf_counter()
    silent = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    pid = os.posix_spawnp(words[0], words, os.environ, file_actions=silent)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    print(time.perf_counter() - begun)
print((cpu() - before) / int(sys.argv[1]))
"""


class Pen:
    def __init__(self) -> None:
        name = f"paddock-bench-{os.getpid()}"
        tops = {one: top for one in WANTED if (top := top_of(one)) is not None}
        by_name = {one: f"{top}/{name}" for one, top in tops.items()}
        home = Group1(by_name) if "memory" in tops else Group2(f"{top_of(UNIFIED)}/{name}")
        self.home = home
        attempt = home.child("fleet").child("RUN.1")
        for group in (home, home.child("fleet"), attempt):
            group.ensure()
            group.hand_down()
        attempt.set(Walls(limit_bytes=LIMIT_BYTES))
        self.main = attempt.child("main")
        self.main.ensure()

    def command(self, *words: str) -> list[str]:
        return ["/bin/sh", "-c", JOIN, " ".join(self.main.procs), *words]

    def remove(self) -> None:
        self.home.kill()
        while not self.home.remove():
            time.sleep(0.01)


def times_ms(pen: Pen, path: str, *words: str, rounds: int = ROUNDS) -> tuple[list[float], float]:
    """From the least on, and the CPU time of one."""
    agent = pen.command(sys.executable, "-c", AGENT, str(rounds), *words)
    env = {**os.environ, "PATH": path}
    done = subprocess.run(agent, env=env, capture_output=True, text=True, check=True)
    *times, cpu = (1000 * float(line) for line in done.stdout.split())
    return sorted(times), cpu


def watching_percent(pen: Pen, shims: str) -> float:
    """Of a core, for the waiter of a command that does nothing."""
    env = {**os.environ, "PATH": f"{shims}:{os.environ['PATH']}"}
    process = subprocess.Popen(pen.command("sleep", str(WATCHED_S + 2)), env=env)
    time.sleep(1)
    before = cpu_s(process.pid)
    time.sleep(WATCHED_S)
    used = cpu_s(process.pid) - before
    process.wait()
    return 100 * used / WATCHED_S


def main() -> int:
    pen = Pen()
    try:
        with tempfile.TemporaryDirectory() as state:
            walls = [ToolWall(command="true"), ToolWall(command="sleep")]
            shims = tool_path(state, walls, path="")
            assert shims is not None
            bare = os.environ["PATH"]
            walled = f"{shims}:{bare}"
            paddock = str(Path(sys.executable).with_name("paddock"))
            found = {
                "bare": times_ms(pen, bare, "true"),
                "shim": times_ms(pen, walled, "true"),
                "paddock tool": times_ms(pen, bare, paddock, "tool", "--", "true"),
                "bare again": times_ms(pen, bare, "true"),
            }
            pytest = str(Path(sys.executable).with_name("pytest"))
            found["pytest"] = times_ms(pen, bare, pytest, "--version", rounds=FEW_ROUNDS)
            busy = watching_percent(pen, shims)
    finally:
        pen.remove()
    figures = {}
    for name, (times, cpu) in found.items():
        median = statistics.median(times)
        figures[name] = {"least_ms": times[0], "median_ms": median, "cpu_ms": cpu}
        print(f"{name:<13} least {times[0]:6.2f} ms, median {median:6.2f} ms, CPU {cpu:6.2f} ms")
    added_ms = found["shim"][1] - found["bare"][1]
    share = added_ms / found["pytest"][1]
    print(
        f"a shim adds {added_ms:.1f} ms of CPU: {share:.2f} of pytest's own (at most {MOST_ADDED})"
    )
    print(f"watching takes {busy:.2f} % of a core (under 1)")
    keep("tool", {**figures, "added_share": share, "watching_percent": busy})
    return 0 if share <= MOST_ADDED and busy < 1 else 1


if __name__ == "__main__":
    sys.exit(main())
