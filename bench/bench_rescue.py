"""What rescue costs to start: time and memory, against a Python that does nothing at all.

Targets: each command done within 150 ms and 25 MB, and at most 10 × `python -I -c pass` of the same
run (the ratio is what can be trusted on a busy machine). No daemon, compiled modules as they are
where paddock is installed; `kill` really kills an agent, found by its mark.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ground import keep

ROUNDS = 20
MOST_MS, MOST_MB, MOST_RATIO = 150.0, 25.0, 10.0
SOURCE = Path(__file__).parents[1] / "src"
PADDOCK = str(Path(sys.executable).with_name("paddock"))
NOTHING = [sys.executable, "-I", "-c", "pass"]
INSTANCE = "00112233aabbccdd"
COMMANDS = {
    "relieve": [PADDOCK, "relieve", "99"],
    "relieve --dry-run": [PADDOCK, "relieve", "--dry-run", "99"],
    "kill --all --force": [PADDOCK, "kill", "--all", "--force"],
    "cgroup ls": [PADDOCK, "cgroup", "ls"],
}


# The kernel counts the largest size of whoever spawned it as a process's own: one that is small.
SIZED = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
print(os.wait4(pid, 0)[2].ru_maxrss)
"""


def taken_ms(words: list[str], env: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(words, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1000


def size_mb(words: list[str], env: dict[str, str]) -> float:
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


def measure(env: dict[str, str]) -> dict[str, list[float]]:
    """In turn, so that all meet the same machine."""
    found: dict[str, list[float]] = {name: [] for name in ("python", *COMMANDS)}
    for _ in range(ROUNDS):
        found["python"].append(taken_ms(NOTHING, env))
        for name, words in COMMANDS.items():
            agent = an_agent(env) if name.startswith("kill") else None
            found[name].append(taken_ms(words, env))
            if agent is not None:
                assert agent.wait(5) == -9, "the agent was not killed"
    return found


def sizes(env: dict[str, str]) -> dict[str, float]:
    agent = an_agent(env)
    found = {"python": size_mb(NOTHING, env)}
    found |= {name: size_mb(words, env) for name, words in COMMANDS.items()}
    agent.wait(5)
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
