"""What rescue costs to start: time and memory, against a Python that does nothing at all.

Targets: each command done within 150 ms and 25 MB, and at most 10 × `python -I -c pass` of the same
run (the ratio is what can be trusted on a busy machine). No daemon, compiled modules as they are
where paddock is installed; `kill` really kills an agent, found by its mark. `watch` is measured to
its first line; `cgroup exec` by a command that does nothing.
"""

from __future__ import annotations

import compileall
import functools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ground import keep

from paddock.cgroups.home import NoHome, find_home

ROUNDS = 20
MOST_MS, MOST_MB, MOST_RATIO = 150.0, 25.0, 10.0
SOURCE = Path(__file__).parents[1] / "src"
PADDOCK = str(Path(sys.executable).with_name("paddock"))
NOTHING = [sys.executable, "-I", "-c", "pass"]
INSTANCE = "00112233aabbccdd"
NAME = f"bench-{os.getpid()}"
COMMANDS = {
    "relieve": [PADDOCK, "relieve", "99"],
    "relieve --dry-run": [PADDOCK, "relieve", "--dry-run", "99"],
    "kill --all --force": [PADDOCK, "kill", "--all", "--force"],
    "watch, one look": [PADDOCK, "watch", "--interval", "1h"],
    "cgroup ls": [PADDOCK, "cgroup", "ls"],
    "cgroup create": [PADDOCK, "cgroup", "create", NAME, "--memory", "64M"],
    "cgroup exec": [PADDOCK, "cgroup", "exec", NAME, "--", "true"],
}
REMOVE = [PADDOCK, "cgroup", "rm", NAME]


# The kernel counts the largest size of whoever spawned it as a process's own: one that is small.
SIZED = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
print(os.wait4(pid, 0)[2].ru_maxrss)
"""


def taken_ms(words: list[str], env: dict[str, str]) -> float:
    begun = time.perf_counter()
    if "watch" in words:
        return first_line(words, env)[0] * 1000
    subprocess.run(words, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1000


def first_line(words: list[str], env: dict[str, str]) -> tuple[float, float]:
    """How long until it was there, and the memory that took, in MB. Then it is ended, as by itself
    it never would be."""
    begun = time.perf_counter()
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE) as watching:
        assert watching.stdout and watching.stdout.readline(), "it showed nothing"
        took = time.perf_counter() - begun
        status = Path(f"/proc/{watching.pid}/status").read_text(encoding="ascii")
        watching.kill()
    return took, int(status.split("VmHWM:")[1].split()[0]) / 1024


def size_mb(words: list[str], env: dict[str, str]) -> float:
    if "watch" in words:
        return first_line(words, env)[1]
    small = [sys.executable, "-I", "-S", "-c", SIZED]
    said = subprocess.run([*small, *words], env=env, check=True, capture_output=True, text=True)
    return int(said.stdout.splitlines()[-1]) / 1024


def an_agent(env: dict[str, str]) -> subprocess.Popen[bytes]:
    marked = env | {"PADDOCK_ATTEMPT": f"{INSTANCE}.bench.1"}
    agent = subprocess.Popen(["sleep", "60"], env=marked)
    # Seen only once it has become `sleep`: until then it has our environment.
    while b"sleep" not in Path(f"/proc/{agent.pid}/cmdline").read_bytes():
        time.sleep(0.001)
    return agent


@contextmanager
def ready_for(name: str, env: dict[str, str]) -> Iterator[None]:
    """What a command needs to do something, and what takes back what it did; neither is timed."""
    agent = an_agent(env) if name.startswith("kill") else None
    if name == "cgroup exec":
        quietly(COMMANDS["cgroup create"], env)
    yield
    if name in ("cgroup create", "cgroup exec"):
        quietly(REMOVE, env)
    if agent is not None:
        assert agent.wait(5) == -9, "the agent was not killed"


def quietly(words: list[str], env: dict[str, str]) -> None:
    subprocess.run(words, env=env, check=True, capture_output=True)


@functools.cache
def commands() -> dict[str, list[str]]:
    """Without cgroups for us, those that make some have nothing to do."""
    try:
        find_home("bench")
    except NoHome as lacking:
        print(f"cgroup create and exec are not measured: {lacking}")
        return {name: words for name, words in COMMANDS.items() if NAME not in words}
    return COMMANDS


def measure(env: dict[str, str]) -> dict[str, list[float]]:
    """In turn, so that all meet the same machine."""
    asked = commands()
    found: dict[str, list[float]] = {name: [] for name in ("python", *asked)}
    for _ in range(ROUNDS):
        found["python"].append(taken_ms(NOTHING, env))
        for name, words in asked.items():
            with ready_for(name, env):
                found[name].append(taken_ms(words, env))
    return found


def sizes(env: dict[str, str]) -> dict[str, float]:
    found = {"python": size_mb(NOTHING, env)}
    for name, words in commands().items():
        with ready_for(name, env):
            found[name] = size_mb(words, env)
    return found


def told(found: dict[str, list[float]], sizes: dict[str, float]) -> dict[str, dict[str, float]]:
    figures = {}
    for name, each_ms in found.items():
        pairs = zip(each_ms, found["python"], strict=True)
        ms, ratio = statistics.median(each_ms), statistics.median(one / bare for one, bare in pairs)
        figures[name] = {"ms": round(ms, 1), "mb": round(sizes[name], 1), "ratio": round(ratio, 2)}
        missed = "" if is_met(figures[name]) else "  MISSED"
        size = f"{sizes[name]:.1f} MB, {ratio:.1f} × python{missed}"
        print(f"{name}: {ms:.0f} ms (least {min(each_ms):.0f}), {size}")
    return figures


def is_met(figure: dict[str, float]) -> bool:
    return figure["ms"] <= MOST_MS and figure["mb"] <= MOST_MB and figure["ratio"] <= MOST_RATIO


def main() -> int:
    compileall.compile_dir(SOURCE, quiet=2, workers=1)
    with tempfile.TemporaryDirectory() as state:
        Path(state, "instance").write_text(INSTANCE)
        env = {"PATH": os.environ["PATH"], "PADDOCK_STATE": state, "LANG": "C.UTF-8"}
        weighed = sizes(env)  # first, so that all is read from the disk once
        figures = told(measure(env), weighed)
    keep("rescue", figures)
    print(f"at most {MOST_MS:g} ms, {MOST_MB:g} MB, {MOST_RATIO:g} × python")
    return 0 if all(map(is_met, figures.values())) else 1


if __name__ == "__main__":
    sys.exit(main())
