"""`bench find --within 4G` on three kinds of agents whose number is known by construction.

Of a host of 4 GiB half is its reserve, so agents have 2 GiB. What is found must be within one of
the truth: the wall divided by what such an agent holds when all of them hold the most.
"""

from __future__ import annotations

import sys

from ground import keep

from paddock.bench.find import Asked, find
from paddock.core.capacity import host_reserve
from paddock.core.units import GIB, MIB
from paddock.simulate.trace import Trace

WITHIN_BYTES = 4 * GIB
ROUNDS, SECONDS = 3, 3.0
# Each from anywhere in its life, unless `together` brings the peaks together.
KINDS = {
    "flat": (Trace([(10.0, 300 * MIB, 0.0)]), False),
    "mostly high": (Trace([(1.0, 60 * MIB, 0.0), (19.0, 440 * MIB, 0.0)]), False),
    "a climb, together": (
        Trace([(1.0, level * MIB, 0.0) for level in range(50, 600, 50)]),
        True,
    ),
}


def main() -> int:
    wall = WITHIN_BYTES - host_reserve(WITHIN_BYTES)
    figures, missed = {}, False
    for name, (trace, together) in KINDS.items():
        asked = Asked(
            traces=(trace,),
            wall_bytes=wall,
            total_bytes=WITHIN_BYTES,
            rounds=ROUNDS,
            seconds=SECONDS,
            together=together,
        )
        found, truth = find(asked, lambda _: None).agents, wall // trace.peak_bytes
        wrong = abs(found - truth) > 1
        missed |= wrong
        figures[name] = {"found": found, "truth": truth}
        print(f"{name}: found {found}, truth {truth}{'  MISSED' if wrong else ''}", flush=True)
    keep("find", figures)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
