"""`bench find --within 4G` on four kinds of agents whose number is known by construction.

Of a host of 4 GiB half is its reserve, so agents have 2 GiB. What is found must be within one of
the truth: the most of which all together never hold more than the wall. For the first three that is
the wall divided by the peak of one, which is also where the search begins. Those that take turns
never peak together, so nearly twice as many fit, and only trying finds that.
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
# Touching memory takes time, on a busy machine several seconds for 2 GiB: who peaks early must have
# given it back before the others peak. With 3 s the peaks met, and 8 of 12 were found.
SECONDS_OF_TURNS = 12.0
EARLY = Trace([(2.0, 300 * MIB, 0.0), (8.0, 20 * MIB, 0.0)])
LATE = Trace([(8.0, 20 * MIB, 0.0), (2.0, 300 * MIB, 0.0)])
# Each from anywhere in its life, unless `together` lets all of them begin at once.
KINDS = {
    "flat": ((Trace([(10.0, 300 * MIB, 0.0)]),), False, SECONDS),
    "mostly high": ((Trace([(1.0, 60 * MIB, 0.0), (19.0, 440 * MIB, 0.0)]),), False, SECONDS),
    "a climb, together": (
        (Trace([(1.0, level * MIB, 0.0) for level in range(50, 600, 50)]),),
        True,
        SECONDS,
    ),
    "taking turns": ((EARLY, LATE), True, SECONDS_OF_TURNS),
}


def true_number(traces: tuple[Trace, ...], wall: int) -> int:
    """All of one kind may peak at once wherever they are in their lives; of several that begin
    together the sum at each second counts."""
    lives = [[p.bytes for p in trace.phases for _ in range(int(p.duration_s))] for trace in traces]
    if len(traces) == 1:
        return int(wall // traces[0].peak_bytes)
    agents = 0
    while True:
        chosen = [lives[n % len(lives)] for n in range(agents + 1)]
        if max(map(sum, zip(*chosen, strict=True))) > wall:
            return agents
        agents += 1


def main() -> int:
    wall = WITHIN_BYTES - host_reserve(WITHIN_BYTES)
    figures, missed = {}, False
    for name, (traces, together, seconds) in KINDS.items():
        asked = Asked(
            traces=traces,
            wall_bytes=wall,
            total_bytes=WITHIN_BYTES,
            rounds=ROUNDS,
            seconds=seconds,
            together=together,
        )
        found, truth = find(asked, lambda _: None).agents, true_number(traces, wall)
        wrong = abs(found - truth) > 1
        missed |= wrong
        figures[name] = {"found": found, "truth": truth}
        print(f"{name}: found {found}, truth {truth}{'  MISSED' if wrong else ''}", flush=True)
    keep("find", figures)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
