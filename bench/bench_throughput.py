"""500 × `true` in two slots, durable and logged, against xargs and GNU parallel in the same run.

Targets: at least the rate of GNU parallel, at least 4 × that of `parallel --memfree 1G`, which is
the one that also looks at memory before it starts anything. Theirs is neither durable nor logged,
and has no walls: so ours is measured without them as well (`containment: none`), and judged so.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from ground import Ground, a_ground, cpu_s, keep, verdict, wait_for

from paddock.client import Client
from paddock.wire.run_request import RunRequest

RUNS = 500
SLOTS = 2
ROUNDS = 5
REST_S = 2.0  # before each: what the one before has still to clear is not the next one's time
CONFIG = f"""\
performance_profile: host
performance:
  max_concurrent_agents: {SLOTS}
queue:
  depth: 100000
"""
WITHOUT_WALLS = f"{CONFIG}sandbox:\n  containment: none\n"
WALLED = "paddock with walls"
WORDS = "".join("true\n" for _ in range(RUNS)).encode()
PARALLEL = ["parallel", "--will-cite", f"-j{SLOTS}"]
PEERS = {
    "xargs": ["xargs", "-P", str(SLOTS), "-n", "1", "true"],
    "parallel": PARALLEL,
    "parallel --memfree 1G": [*PARALLEL, "--memfree", "1G"],
}


def rate_of(work: Callable[[], object]) -> float:
    time.sleep(REST_S)
    begun = time.perf_counter()
    work()
    return RUNS / (time.perf_counter() - begun)


def peer(words: list[str]) -> float:
    return rate_of(lambda: subprocess.run(words, input=WORDS, check=True, capture_output=True))


def ours(ground: Ground, client: Client) -> None:
    requests = [
        RunRequest(name=f"true-{n}", command=("true",), memory_bytes=64 << 20) for n in range(RUNS)
    ]
    wait_for(client, client.submit(ground.order(requests)))


def measure(rounds: int) -> dict[str, list[float]]:
    """Everything interleaved: machines have moods."""
    rates: dict[str, list[float]] = {"paddock": [], WALLED: []}
    with (
        a_ground(WITHOUT_WALLS) as plain,
        a_ground(CONFIG) as walled,
        plain.client() as client,
        walled.client() as other,
    ):
        for ground, ask in ((plain, client), (walled, other)):
            ours(ground, ask)  # once before it counts: what is imported late is imported then
        for number in range(rounds):
            for name, words in PEERS.items():
                rates.setdefault(name, []).append(peer(words))
            for name, ground, ask in (("paddock", plain, client), (WALLED, walled, other)):
                rates[name].append(one_round(f"round {number + 1}: {name}", ground, ask))
    return rates


def one_round(name: str, ground: Ground, client: Client) -> float:
    used = [cpu_s(pid) for pid in ground.pids()]
    rate = rate_of(lambda: ours(ground, client))
    daemon_s, keeper_s = (
        cpu_s(pid) - before for pid, before in zip(ground.pids(), used, strict=True)
    )
    cost = f"daemon {daemon_s / RUNS * 1000:.2f} ms, keeper {keeper_s / RUNS * 1000:.2f} ms"
    print(f"  {name} {rate:.0f}/s (CPU a run: {cost})")
    return rate


def main() -> int:
    missing = [words[0] for words in PEERS.values() if shutil.which(words[0]) is None]
    if missing:
        print(f"{missing[0]} is not installed, and there is nothing to compare with: as root,")
        print("  apt-get install parallel findutils")
        return 1
    rates = measure(ROUNDS)
    medians = {name: statistics.median(found) for name, found in rates.items()}
    for name, rate in medians.items():
        print(f"{name:<22} {rate:6.0f}/s  (from {min(rates[name]):.0f} to {max(rates[name]):.0f})")
    ratios = {name: ratio(rates, name) for name in rates if name != "paddock"}
    kept: dict[str, object] = {name: round(rate, 1) for name, rate in medians.items()}
    keep("throughput", kept | {"ratios": {name: round(one, 3) for name, one in ratios.items()}})
    return verdict(
        [
            ("paddock / GNU parallel", ratios["parallel"], 1.0),
            ("paddock / parallel --memfree 1G", ratios["parallel --memfree 1G"], 4.0),
            ("paddock / xargs (no target)", ratios["xargs"], 0.0),
            ("paddock / with walls (no target)", ratios[WALLED], 0.0),
        ]
    )


def ratio(rates: dict[str, list[float]], name: str) -> float:
    """Round by round, because only within one is the machine the same."""
    return statistics.median(a / b for a, b in zip(rates["paddock"], rates[name], strict=True))


if __name__ == "__main__":
    sys.exit(main())
