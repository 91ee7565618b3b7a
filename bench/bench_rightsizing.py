"""Right-sizing on a simulated month: what the advice saves, and what it costs in kills.

One month is recorded, the advice is taken, and the next month (other runs of the same kinds) is
lived twice: with the old limits and with the new. Targets, for the tiers: at least 20 % less
reserved memory and no more out-of-memory kills; for one size for all: no more kills, and less.
"""

from __future__ import annotations

import sys

from ground import keep

from paddock.core.units import GIB, format_size
from tests.kit.two_months import MONTH_DAYS, SCENARIOS, Compared, compare

RUNS_A_DAY = 100
SEED = 1
TARGET = 0.20


def main() -> int:
    found = [
        compare(scenario, days=MONTH_DAYS, runs_a_day=RUNS_A_DAY, seed=SEED)
        for scenario in SCENARIOS
    ]
    for one in found:
        _tell(one)
    keep("rightsizing", {one.scenario: _facts(one) for one in found})
    tiers, one_size = found
    kills = all(one.after.oom_kills <= one.before.oom_kills for one in found)
    return 0 if kills and tiers.saved >= TARGET and one_size.saved > 0 else 1


def _tell(one: Compared) -> None:
    kills = f"{one.before.oom_kills} → {one.after.oom_kills}"
    print(f"{one.scenario}: {one.saved:.1%} less reserved, out-of-memory kills {kills}")
    for advice in one.advice:
        sizes = [format_size(size or 0) for size in (advice.limit_now_bytes, advice.limit_bytes)]
        print(f"  {advice.group:22} {advice.change:6} {' → '.join(sizes)} ({advice.confidence})")


def _facts(one: Compared) -> dict[str, object]:
    return {
        "runs": one.before.runs,
        "reserved_gib_hours_before": round(one.before.reserved_byte_s / GIB / 3600, 1),
        "reserved_gib_hours_after": round(one.after.reserved_byte_s / GIB / 3600, 1),
        "saved": round(one.saved, 4),
        "oom_kills_before": one.before.oom_kills,
        "oom_kills_after": one.after.oom_kills,
        "succeeded_before": one.before.succeeded,
        "succeeded_after": one.after.succeeded,
    }


if __name__ == "__main__":
    sys.exit(main())
