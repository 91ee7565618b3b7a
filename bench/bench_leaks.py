"""How often the verdict on leaks is wrong: 500 made-up series of a minute for each kind.

Targets: 1 MB/s within 200 MB of noise is found, and a saw of the same height is not called a leak,
both in 99 of a hundred cases. The other kinds are told, not judged. Then two real processes, behind
paddock's walls and sampled for a minute as `bench baseline` does it: one that leaks 1 MB/s below
200 MB of noise must be called a leak, one with a saw of 200 MB must not.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ground import keep, verdict

from paddock.bench.cells import How, run_cell
from paddock.bench.leak import Verdict, judge
from paddock.bench.watching import MIB
from paddock.wire.run_request import RunRequest
from tests.unit.bench.test_leak import (
    Shape,
    a_step,
    bursts,
    filling_up,
    noise,
    saw,
    series,
    wandering,
)

SERIES = 500
LEAK = 1.0  # MB/s
KINDS: tuple[tuple[str, Shape], ...] = (
    ("noise of 200 MB", noise),
    ("a saw of 60 or 200 MB in 2 to 25 s", saw),
    ("bursts of 200 MB for 1 to 12 s", bursts),
    ("one step of 150 MB", a_step),
    ("filling up to 200 MB", filling_up),
    ("wandering, half forgotten in 3 s", wandering),
)


def share(shape: Shape, leak: float) -> float:
    drawn = random.Random(1)
    found = (judge(series(shape(drawn), leak=leak)) for _ in range(SERIES))
    return sum(one.verdict is Verdict.LEAK for one in found) / SERIES


# A megabyte a second is kept; beside it something of up to 200 MB comes and goes, or climbs and
# falls). Every page is written, so that it counts.
REAL = """
import random, sys, time
leak, saw = sys.argv[1:] == ["leak"], sys.argv[1:] == ["saw"]
rng, kept, began = random.Random(1), [], time.monotonic()
while (t := time.monotonic() - began) < 62:
    size = int(t % 10 * 20) if saw else rng.randrange(200)
    beside = bytearray(b"x") * (size << 20)
    if leak and len(kept) < t:
        kept.append(bytearray(b"x") * (1 << 20))
    time.sleep(0.1)
"""


def real() -> dict[str, str]:
    """What is said of each process; both at once, for a minute."""
    requests = [
        RunRequest(
            name=name,
            command=(sys.executable, "-I", "-S", "-c", REAL, name),
            memory_bytes=1 << 30,
            timeout_s="none",
        )
        for name in ("leak", "saw")
    ]
    outcome = run_cell(requests, How(every_s=0.1))
    found = {}
    for view in outcome.views:
        assert view.outcome == "succeeded", view.sentence
        minute = [(t, mib * MIB) for t, mib in outcome.watched.runs[view.id].memory if t <= 60]
        found[view.name] = judge(minute)
        print(f"a real process with a {view.name}: {found[view.name]}")
    return {name: str(one.verdict) for name, one in found.items()}


def main() -> int:
    found = {name: (share(shape, 0.0), share(shape, LEAK)) for name, shape in KINDS}
    print(f"{'':<36} called a leak without one   with {LEAK:g} MB/s")
    for name, (without, with_one) in found.items():
        print(f"{name:<36} {without:>20.1%} {with_one:>17.1%}")
    seen = real()
    shares = {name: {"without": a, "with": b} for name, (a, b) in found.items()}
    keep("leaks", shares | {"real": seen})
    named = dict(KINDS)
    noisy, sawing = (found[name] for name in list(named)[:2])
    return verdict(
        [
            ("leaks found in noise", noisy[1], 0.99),
            ("saws left alone", 1 - sawing[0], 0.99),
            ("a real leak is found", seen["leak"] == Verdict.LEAK, 1),
            ("a real saw is left alone", seen["saw"] == Verdict.NONE, 1),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
