"""The keeper: its memory and CPU under 1,000 sleeping agents, and what it adds to a spawn.

Targets: under 20 MB with 1,000 agents; under 1 % of a core while they sleep, with a daemon or
without; at least half the rate of a bare `posix_spawn` of the same shim, in the same run, two at a
time (the keeper also makes a FIFO, journals the exit, answers and forgets).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ground import keep

from paddock.drivers.local.keeper import shim
from paddock.drivers.local.keeper.protocol import Order
from paddock.drivers.local.keeper_client import KeeperClient, launch_keeper

AGENTS = 1000
ROUNDS = 9  # of all three kinds: the machine is quick in one and slow in the next
SPAWNS = 200  # in each
FIRST_EPOCH = 3  # of those that measure
LAST_EPOCH = FIRST_EPOCH + ROUNDS
SLOTS = 2
SECONDS = 3.0


def order(directory: Path, name: str, argv: list[str]) -> dict[str, Any]:
    paths = {"fifo": f"{directory}/{name}.fifo", "segment": f"{directory}/{name}.log"}
    env = {"PATH": os.environ["PATH"], "PADDOCK_ATTEMPT": f"bench-{os.getpid()}-{name}"}
    return {"attempt": name, "argv": argv, "env": env, "cwd": "/", "cap_bytes": 1 << 30, **paths}


def memory(pid: int) -> dict[str, float]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    found = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    return {name: found[name] for name in ("Rss", "Pss", "Anonymous")}


def cpu_percent(pid: int) -> float:
    def used() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = used()
    time.sleep(SECONDS)
    return 100 * (used() - before) / os.sysconf("SC_CLK_TCK") / SECONDS


def end_all(client: KeeperClient) -> None:
    names = [one["attempt"] for one in client.attempts()]
    for number in [client.ask("kill_all", attempt=name) for name in names]:
        client.answer_to(number, within_s=60)
    while any(one["state"] in ("starting", "running") for one in client.attempts()):
        client.pump(0.01)
    for name in names:
        client.call("forget", attempt=name)


def sleepers(directory: Path) -> dict[str, float]:
    client = KeeperClient(directory)
    pid = client.hello(1)["pid"]
    empty = memory(pid)
    begun = time.perf_counter()
    asked = [
        client.ask("spawn", **order(directory, f"s{n}", ["sleep", "1000"])) for n in range(AGENTS)
    ]
    for number in asked:
        client.answer_to(number, within_s=60)
    taken_s = time.perf_counter() - begun
    while any(one["state"] == "starting" for one in client.attempts()):
        client.pump(0.01)
    full = memory(pid)
    print(f"{AGENTS} sleepers started in {taken_s:.2f} s")
    for name, value in full.items():
        print(f"  {name:<10} {empty[name]:6.1f} MB empty, {value:6.1f} MB with {AGENTS}")
    busy = cpu_percent(pid)
    client.close()
    time.sleep(1.5)
    alone = cpu_percent(pid)
    print(f"  CPU {busy:.2f} % of a core with a daemon, {alone:.2f} % without")
    begun = time.perf_counter()
    client = KeeperClient(directory)
    client.hello(2)
    end_all(client)
    print(f"  all killed and forgotten in {time.perf_counter() - begun:.2f} s")
    client.close()
    return {"rss_mb": full["Rss"], "cpu_percent": max(busy, alone)}


def rate_of(begin: Callable[[int], int], wait: Callable[[], int]) -> float:
    """Starts with at most SLOTS at a time; per second."""
    begun = time.perf_counter()
    live = started = 0
    while started < SPAWNS or live:
        while live < SLOTS and started < SPAWNS:
            begin(started)
            live, started = live + 1, started + 1
        wait()
        live -= 1
    return SPAWNS / (time.perf_counter() - begun)


def bare_rate(directory: Path) -> float:
    program, words = shimmed(directory, "bare")
    env = {"PATH": os.environ["PATH"]}
    return rate_of(lambda _: os.posix_spawn(program, words, env, setsid=True), lambda: os.wait()[0])


def shimmed(directory: Path, name: str) -> tuple[str, list[str]]:
    """What the keeper starts for `true`: the first that can be."""
    return next(shim.commands(Order(order(directory, name, ["true"])), f"{directory}/report"))


def popen_rate(directory: Path) -> float:
    program, words = shimmed(directory, "popen")
    live: list[subprocess.Popen[bytes]] = []

    def begin(_: int) -> int:
        # As one would write it by hand: a pipe for the output, a session of its own.
        live.append(
            subprocess.Popen(
                words,
                executable=program,
                stdout=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        )
        return live[-1].pid

    def wait() -> int:
        first = live.pop(0)
        first.communicate()
        return first.pid

    return rate_of(begin, wait)


def keeper_rate(directory: Path, epoch: int) -> float:
    """As a daemon asks: to forget goes with the next that it has to say, and wants no answer."""
    client = KeeperClient(directory)
    client.hello(epoch)

    def begin(number: int) -> int:
        return client.ask("spawn", **order(directory, f"r{epoch}-{number}", ["true"]))

    def wait() -> int:
        while True:
            for event in client.events:
                if event["state"] == "exited":
                    client.events.remove(event)
                    forget = {"do": "forget", "attempt": event["attempt"]}
                    return client.queue(forget, answered=False)
            client.events.clear()
            client.pump(1)

    rate = rate_of(begin, wait)
    client.flush()
    client.close()
    return rate


def clean_up(directory: Path) -> None:
    """Whatever went wrong: no agent and no keeper is left."""
    client = KeeperClient(directory)
    client.hello(LAST_EPOCH)
    end_all(client)
    client.call("retire")
    client.close()


def main() -> int:
    root = Path(tempfile.mkdtemp(prefix="bench-keeper-"))
    launch_keeper(root / "keeper")
    try:
        found = sleepers(root / "keeper")
        rates = [
            (bare_rate(root), popen_rate(root), keeper_rate(root / "keeper", FIRST_EPOCH + number))
            for number in range(ROUNDS)
        ]
    finally:
        clean_up(root / "keeper")
        shutil.rmtree(root)
    bare, popen, keeper = (statistics.median(column) for column in zip(*rates, strict=True))
    of_bare = statistics.median(one[2] / one[0] for one in rates)
    of_popen = statistics.median(one[2] / one[1] for one in rates)
    print(f"true, {SLOTS} at a time, a second: bare shim {bare:.0f}, Popen of it {popen:.0f}")
    print(f"  keeper {keeper:.0f}: {of_bare:.2f} × bare, {of_popen:.2f} × Popen, round by round")
    keep("keeper", {**found, "of_bare": of_bare, "of_popen": of_popen})
    fits = found["rss_mb"] < 20 and found["cpu_percent"] < 1
    return 0 if fits and of_bare >= 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())
