"""Many at once: 100, 300 and 1,000 real agents that write, 10,000 in the queue, a day simulated.

What each agent costs daemon and keeper must not grow with their number, nor what a run costs with
the length of the queue, nor an hour with the hours before it: targets are the cost with many, of
the cost with few. All must end as they should, and every line that was written must be there.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

from ground import Ground, a_ground, cpu_s, keep, resident_mb, wait_for

from paddock.client import Client
from paddock.core.events import Event
from paddock.core.policy import Policy
from paddock.core.units import GIB
from paddock.simulate.workloads import plans
from paddock.simulate.world import World
from paddock.wire.run_request import RunRequest
from paddock.wire.views import Submission

AGENTS = (100, 300, 1000)
LINES, EVERY_S = 12, 2
# A shell that waits without starting anything: a thousand `sleep` a second would be measured, too.
AGENT = f"exec 9<> <(:); for i in {{1..{LINES}}}; do echo line $i; read -t {EVERY_S} -u 9; done; :"
LOOKED_AT_S = 10.0
QUEUED, PART = 10_000, 1_000
SLOTS = 2
DAY_S, DAY_RUNS, DAY_CPUS = 86_400.0, 2_000, 16.0
MOST = 1.5
MOST_MB = 250.0
LIMIT_BYTES = 16 << 20
CONFIG = """\
performance_profile: host
sandbox:
  host_memory_reserve: 4G
queue:
  depth: 100000
"""
IN_TWO_SLOTS = f"{CONFIG}performance:\n  max_concurrent_agents: {SLOTS}\n"


def submit(ground: Ground, client: Client, command: tuple[str, ...], many: int) -> Submission:
    requests = [
        RunRequest(name=f"agent-{n}", command=command, memory_bytes=LIMIT_BYTES)
        for n in range(many)
    ]
    return client.submit(ground.order(requests))


def at_once(many: int) -> dict[str, Any]:
    with a_ground(CONFIG) as ground, ground.client() as client:
        begun = time.monotonic()
        answer = submit(ground, client, ("bash", "-c", AGENT), many)
        while client.status().counts.get("running", 0) < many:
            assert time.monotonic() - begun < LINES * EVERY_S, "not all at once"
            time.sleep(0.1)
        started_s = time.monotonic() - begun
        pids = ground.pids()
        before = [cpu_s(pid) for pid in pids]
        time.sleep(LOOKED_AT_S)
        used = sum(map(cpu_s, pids)) - sum(before)
        wait_for(client, answer)
        logs = (b"".join(client.log(run.id)) for run in answer.runs)
        written = sum(log.count(b"\n") for log in logs)
        assert written == many * LINES, f"{written} lines of {many * LINES}"
        return {
            "agents": many,
            "started_s": round(started_s, 2),
            "cpu_us_an_agent_and_second": round(used / LOOKED_AT_S / many * 1e6, 1),
            "daemon_and_keeper_mb": round(sum(map(resident_mb, pids)), 1),
        }


def queued() -> dict[str, Any]:
    """Ten thousand short runs: how long each thousand of them took to the end."""
    with a_ground(IN_TWO_SLOTS) as ground, ground.client() as client:
        begun = time.monotonic()
        ids = [run.id for run in submit(ground, client, ("true",), QUEUED).runs]
        ends = [begun]
        for first in range(0, QUEUED, PART):
            views = client.wait(ids[first : first + PART], timeout_s=300)
            assert all(view.outcome == "succeeded" for view in views)
            ends.append(time.monotonic())
        parts = [later - sooner for sooner, later in pairwise(ends)]
        return {
            "queued": QUEUED,
            "runs_a_second": round(QUEUED / (ends[-1] - begun), 1),
            "seconds_a_thousand": [round(part, 2) for part in parts],
            "full_of_empty": round(statistics.mean(parts[:3]) / statistics.mean(parts[-3:]), 2),
            "daemon_mb": round(resident_mb(ground.pids()[0]), 1),
        }


def a_day() -> dict[str, Any]:
    """Two thousand agents that come over a day, on a virtual clock, with the real `step`."""
    random = Random("a day")
    comes = sorted(random.uniform(0.0, DAY_S) for _ in range(DAY_RUNS))
    drawn = plans("mixed", runs=DAY_RUNS, seed=1)
    lives = [replace(one, submit_at=at, needs=()) for one, at in zip(drawn, comes, strict=True)]
    policy = Policy(total_bytes=64 * GIB, reserve_bytes=32 * GIB, queue_depth=100_000)
    world = World(lives, policy, cpus=DAY_CPUS)
    hours: dict[int, list[float]] = {}

    def looked(_: Event) -> None:
        hours.setdefault(int(world.now // 3600), []).append(time.perf_counter())

    world.on_step = looked
    tally = world.run()
    assert tally.ended == DAY_RUNS and not tally.host_ooms, tally
    cost = [1e6 * (at[-1] - at[0]) / len(at) for _, at in sorted(hours.items())][:24]
    return {
        "runs": DAY_RUNS,
        "step_us_by_hour": [round(one, 1) for one in cost],
        "last_of_first": round(statistics.median(cost[-6:]) / statistics.median(cost[1:7]), 2),
    }


def main() -> int:
    found = []
    for many in AGENTS:
        found.append(at_once(many))
        print(found[-1], flush=True)
    waiting = queued()
    print(waiting, flush=True)
    day = a_day()
    print(day, flush=True)
    cost = "cpu_us_an_agent_and_second"
    judged = {
        "1,000_of_100": round(found[-1][cost] / found[0][cost], 2),
        "full_of_empty_queue": waiting["full_of_empty"],
        "last_of_first_hours": day["last_of_first"],
    }
    for what, ratio in judged.items():
        print(f"{what}: {ratio:.2f} (at most {MOST}){'' if ratio <= MOST else '  MISSED'}")
    held = found[-1]["daemon_and_keeper_mb"]
    print(f"daemon and keeper with 1,000: {held} MB (at most {MOST_MB:g})")
    keep("load", {"at_once": found, "queued": waiting, "day": day, "ratios": judged})
    return 0 if all(ratio <= MOST for ratio in judged.values()) and held <= MOST_MB else 1


if __name__ == "__main__":
    sys.exit(main())
