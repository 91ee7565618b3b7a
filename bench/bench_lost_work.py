"""What a preemption costs: seconds of work that is done again, with a checkpoint and without.

One slot. A worker that counts a number every 10 ms is stopped for a more urgent run ten times, each
time after about a second of work. One kind keeps its number when it is asked for a checkpoint, the
other knows nothing of that and begins anew. What it printed twice is the work it did twice.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from ground import Ground, a_ground, keep, verdict

from paddock.client import Client
from paddock.core.units import MIB
from paddock.wire.run_request import RunRequest

LEDGER = Path(__file__).parents[1] / "tests/kit/agents/ledger.py"
TIMES, WORK_S, TICK_S = 10, 1.0, 0.01
CONFIG = """\
performance: {max_concurrent_agents: 1}
queue: {min_run: 0.1s, max_preemptions: 1000}
"""


def printed(client: Client, run: str) -> list[int]:
    return [int(line) for line in b"".join(client.log(run)).split()]


def redone_s(ground: Ground, client: Client, *, forgetful: bool) -> float:
    """A preemption, on average."""
    finish = ground.home / f"finish-{forgetful}"
    words = (sys.executable, "-I", "-S", str(LEDGER), str(finish), str(TICK_S))
    more = ("forgetful",) if forgetful else ()
    worker = RunRequest(name=f"worker-{forgetful}", command=(*words, *more), memory_bytes=64 * MIB)
    [run] = client.submit(ground.order([worker])).runs
    for number in range(TIMES):
        while client.run(run.id).state != "running":
            time.sleep(0.01)
        time.sleep(WORK_S)
        urgent = RunRequest(
            name=f"urgent-{number}",
            command=("true",),
            priority="critical",
            memory_bytes=64 * MIB,
        )
        [other] = client.submit(ground.order([urgent])).runs
        client.wait([other.id], timeout_s=60)
    finish.touch()
    [ended] = client.wait([run.id], timeout_s=60)
    assert ended.outcome == "succeeded" and ended.attempt >= TIMES, ended.sentence
    numbers = printed(client, run.id)
    return (len(numbers) - len(set(numbers))) * TICK_S / TIMES


def main() -> int:
    with a_ground(CONFIG) as ground, ground.client() as client:
        without = redone_s(ground, client, forgetful=True)
        with_one = redone_s(ground, client, forgetful=False)
    print(
        f"done again for each preemption: {with_one:.3f} s with a checkpoint, {without:.2f} without"
    )
    keep("lost_work", {"with_s": round(with_one, 3), "without_s": round(without, 3)})
    return verdict([("preemptions without / with", without / max(with_one, TICK_S / TIMES), 100)])


if __name__ == "__main__":
    sys.exit(main())
