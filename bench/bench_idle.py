"""What daemon and keeper cost while agents only sleep: CPU and memory with 10, 100, 300, 1,000.

Target at 300: together under 5 % of one core and under 150 MB. The figures go to results/idle.json.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from ground import Ground, a_ground, cpu_s, keep, resident_mb

from paddock.client import Client
from paddock.wire.run_request import RunRequest

AGENTS = (10, 100, 300, 1000)
JUDGED = 300
MOST_PERCENT, MOST_MB = 5.0, 150.0
SETTLE_S = 10.0
SECONDS = 30.0
# Counted by their limits (16M is the least) a thousand need 16 GB of the wall. They use 1 MB each.
CONFIG = """\
performance_profile: host
sandbox:
  host_memory_reserve: 4G
queue:
  depth: 100000
"""
LIMIT_BYTES = 16 << 20


def sleepers(ground: Ground, client: Client, many: int) -> float:
    """Seconds until all of them run."""
    requests = [
        RunRequest(name=f"sleeper-{n}", command=("sleep", "3600"), memory_bytes=LIMIT_BYTES)
        for n in range(many)
    ]
    begun = time.monotonic()
    client.submit(ground.order(requests))
    while client.status().counts.get("running", 0) < many:
        assert time.monotonic() - begun < 120, client.status()
        time.sleep(0.2)
    return time.monotonic() - begun


def look(ground: Ground, many: int) -> dict[str, Any]:
    daemon, keeper = ground.pids()
    time.sleep(SETTLE_S)
    before = {pid: cpu_s(pid) for pid in (daemon, keeper)}
    time.sleep(SECONDS)
    used = {pid: 100 * (cpu_s(pid) - before[pid]) / SECONDS for pid in before}
    return {
        "agents": many,
        "daemon_cpu_percent": round(used[daemon], 2),
        "keeper_cpu_percent": round(used[keeper], 2),
        "daemon_rss_mb": round(resident_mb(daemon), 1),
        "keeper_rss_mb": round(resident_mb(keeper), 1),
    }


def measure(many: int) -> dict[str, Any]:
    with a_ground(CONFIG) as ground, ground.client() as client:
        started_s = sleepers(ground, client, many)
        figures = look(ground, many)
    return figures | {"all_running_after_s": round(started_s, 2)}


def main() -> int:
    counts = [int(word) for word in sys.argv[1:]] or AGENTS
    found, missed = [], False
    for many in counts:
        figures = measure(many)
        found.append(figures)
        percent = figures["daemon_cpu_percent"] + figures["keeper_cpu_percent"]
        mb = figures["daemon_rss_mb"] + figures["keeper_rss_mb"]
        judged = many == JUDGED and (percent >= MOST_PERCENT or mb >= MOST_MB)
        missed = missed or judged
        print(
            f"{many:5} sleeping: CPU {figures['daemon_cpu_percent']:.2f} + "
            f"{figures['keeper_cpu_percent']:.2f} % of a core, memory "
            f"{figures['daemon_rss_mb']:.1f} + {figures['keeper_rss_mb']:.1f} MB (daemon + keeper; "
            f"started in {figures['all_running_after_s']:.1f} s)" + ("  MISSED" if judged else "")
        )
    print(f"at {JUDGED}: under {MOST_PERCENT:g} % and {MOST_MB:g} MB together")
    if counts == AGENTS:
        keep("idle", found)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
