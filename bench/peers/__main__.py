"""The race: sixty agents inside 8 GiB, run by paddock and by what one would take instead of it.

`python bench/peers [--quick] [--only NAME …]`. Everything of a racer, itself and its agents, lives
in one fresh cgroup of 8 GiB; whoever passes that is killed there by the kernel, as in a container
of that size. The lives are those of `lives.py`, the settings of each racer are said in `racers.py`.
Two of paddock: cold, which has never seen such agents; and after a day with them (forty others were
run in it before), which is judged, because agents are run every day. Ratios only. A third one, with
nothing tuned, takes as long as the formula in the simulator: it races only where `--only` names it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bounds import at_best
from ground import keep
from lives import LIMIT_BYTES, plans
from racers import Racer, numbers, paddock, parallel, task_spooler, xargs
from track import Result, a_track

from paddock.core.units import GIB, MIB, format_size
from paddock.simulate.trace import Plan

CEILING_BYTES = 8 * GIB
SEED, YESTERDAY_SEED = 1, 2
STATIC, COLD, WARM = "static formula", "paddock, cold", "paddock, after a day"
DEFAULTS = "paddock, defaults"
OURS = (COLD, WARM, DEFAULTS)
# At most so many times as long; and nothing killed, nothing lost.
TARGETS = {"static formula": 0.6, "best peer that lost nothing": 0.8, "clairvoyant": 1.3}
# The ceiling is the fleet's alone, so little of it is kept back. Bursts may have to wait for each
# other every other second: `simulated.py` says what that wins, and when somebody is lost by it.
CONFIG = """\
performance_profile: host
performance: {max_concurrent_agents: 60}
sandbox: {host_memory_reserve: 256M}
ladder: {skip_low: 80, queue: 94, preempt: 95, emergency: 96}
queue: {touches_per_hour: 1800}
"""
UNTUNED = """\
performance_profile: host
performance: {max_concurrent_agents: 60}
"""


def racers(yesterday: list[Plan]) -> dict[str, Racer]:
    many = numbers(CEILING_BYTES)
    wall, half = f"{LIMIT_BYTES // MIB}M", f"{LIMIT_BYTES // MIB // 2}M"
    middle = str(many.by_middle)
    return {
        STATIC: xargs(many.by_peak),
        "xargs": xargs(many.by_middle),
        "parallel": parallel("-j", middle),
        "parallel --memfree": parallel("-j0", "--memfree", wall, "--retries", "9", "--delay", "1"),
        "parallel --memsuspend": parallel("-j0", "--memsuspend", half, "--delay", "1"),
        "task-spooler": task_spooler(many.by_middle),
        COLD: paddock(CONFIG),
        WARM: paddock(CONFIG, yesterday=yesterday),
        DEFAULTS: paddock(UNTUNED, yesterday=yesterday),
    }


def race(racer: Racer, lives: list[Plan], directory: Path) -> Result:
    with a_track(lives, directory, CEILING_BYTES) as track:
        racer(track)
        return track.finish()


def row(name: str, found: Result, many: int) -> str:
    done = f"{found.completed}/{many}"
    return (
        f"{name:<26} {found.makespan_s:7.1f} s  {done:>5} done  {found.oom_kills:3} OOM kills  "
        f"{found.lost_s:6.1f} s lost  peak {found.peak_mib / 1024:4.2f} GiB"
    )


def judged(found: dict[str, Result], best: dict[str, float], many: int) -> dict[str, float]:
    """Ratios of paddock's time to the others'."""
    mine = found[WARM]
    safe = {
        name: one.makespan_s
        for name, one in found.items()
        if name not in OURS and one.lost_nothing and one.completed == many
    }
    ratios = {"clairvoyant": mine.makespan_s / best["clairvoyant_s"]}
    if STATIC in found:
        ratios["static formula"] = mine.makespan_s / found[STATIC].makespan_s
    if safe:
        ratios["best peer that lost nothing"] = mine.makespan_s / min(safe.values())
    return ratios


def main() -> int:
    asked = arguments()
    missing = [name for name in ("xargs", "parallel", "tsp", "unshare") if not shutil.which(name)]
    if missing:
        print(f"not installed: {', '.join(missing)}; as root, tools/needs tsp:task-spooler …")
        return 1
    many = 20 if asked.quick else 60
    lives = plans(many=many, seed=SEED)
    best = at_best(lives, CEILING_BYTES)
    said = ", ".join(f"{name} {value:.1f}" for name, value in best.items())
    print(f"{many} agents in {format_size(CEILING_BYTES)}, {format_size(LIMIT_BYTES)} each: {said}")
    found: dict[str, Result] = {}
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as directory:
        everybody = racers(plans(many=many * 2 // 3, seed=YESTERDAY_SEED))
        for number, (name, racer) in enumerate(everybody.items()):
            if name in asked.only or (not asked.only and name != DEFAULTS):
                found[name] = race(racer, lives, Path(directory) / str(number))
                print(row(name, found[name], many), flush=True)
    if WARM not in found:
        return 0
    return verdict(found, best, many, kept=not asked.quick and not asked.only)


def verdict(found: dict[str, Result], best: dict[str, float], many: int, *, kept: bool) -> int:
    ratios = judged(found, best, many)
    for name, ratio in ratios.items():
        missed = "  MISSED" if ratio > TARGETS[name] else ""
        print(f"paddock / {name}: {ratio:.2f} (at most {TARGETS[name]:.2f}){missed}")
    mine = found[WARM]
    clean = mine.lost_nothing and mine.completed == many
    missed = "" if clean else "  MISSED"
    print(f"paddock: {mine.oom_kills} OOM kills, {mine.lost_s:.1f} s lost{missed}")
    if kept:
        results = {name: asdict(one) for name, one in found.items()}
        keep("peers", {"at_best": best, "racers": results, "ratios": ratios})
    return 0 if clean and all(ratio <= TARGETS[name] for name, ratio in ratios.items()) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="twenty agents; nothing is kept")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these racers")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
