"""Who races, and with which settings: each with the best that its own manual offers.

Numbers of agents at once come from two sums that users do:

- by the peak: (ceiling - reserve) / the wall of an agent, CAP-1. That is the *static formula*. It
  is run by xargs, which adds nothing of its own, so that nobody can say paddock slowed it down.
- by the middle: the same with what an agent usually takes, 660 MB. That is what one gets by
  looking at `top`, and what xargs, parallel and task-spooler get, which look at nothing.

parallel with `--memfree` and `--memsuspend` needs no number, but a size. It reads /proc/meminfo, in
which a container shows the host's memory; here it is shown its ceiling's (a file bound over
/proc/meminfo and written anew fifty times a second), so that it acts on what is true.
`--memfree` is the wall of one agent, so that whoever starts could go to it; one start a second
(`--delay`), because it believes what is free now, and a new agent has taken nothing yet.
`--memsuspend` is half of it, as it begins to suspend at twice its size.
Killed agents are what xargs, parallel and task-spooler never try again by themselves, so what they
lost stays undone, and their time is that of the others.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from lives import LIMIT_BYTES, TREE_MEDIAN_MIB
from track import Track

from paddock.bench.pen import Pen, a_pen
from paddock.core.capacity import max_agents
from paddock.core.units import MIB
from paddock.simulate.trace import Plan
from paddock.wire.run_request import RunRequest

LONGEST_S = 900.0
RESERVE_BYTES = 512 * MIB  # for whatever else lives in the ceiling: shells, a daemon
Racer = Callable[[Track], None]


@dataclass(frozen=True, slots=True)
class Numbers:
    """How many at once, by the two sums."""

    by_peak: int
    by_middle: int


def numbers(ceiling_bytes: int) -> Numbers:
    def at_once(per_agent_bytes: int) -> int:
        return max_agents(
            ceiling_bytes, reserve_bytes=RESERVE_BYTES, per_agent_bytes=per_agent_bytes
        )

    return Numbers(at_once(LIMIT_BYTES), at_once(TREE_MEDIAN_MIB * MIB))


def xargs(at_once: int) -> Racer:
    """A child that dies of a signal would end xargs itself: so each is in a shell of its own."""
    words = ("xargs", "-P", str(at_once), "-d", "\n", "-n", "1", "sh", "-c", "$0 || true")
    return lambda track: run(track, words)


def parallel(*options: str) -> Racer:
    return lambda track: run(track, ("parallel", "--will-cite", *options))


def run(track: Track, words: tuple[str, ...]) -> None:
    """Commands come from its standard input, one a line."""
    text = "".join(f"{shlex.join(command)}\n" for command in track.commands())
    subprocess.run(
        [*track.in_it(), *words],
        input=text.encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=LONGEST_S,
    )


def task_spooler(at_once: int) -> Racer:
    def race(track: Track) -> None:
        env = os.environ | {
            "TS_SOCKET": str(track.directory / "tsp"),
            "TS_SLOTS": str(at_once),
            "TS_MAXFINISHED": "1000",
            "TMPDIR": str(track.directory),
        }
        for command in track.commands():
            subprocess.run([*track.in_it(), "tsp", "-n", *command], env=env, check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
        # `-w` waits for one job; a list that names nobody running or queued is the end of all.
        give_up_at = time.monotonic() + LONGEST_S
        while time.monotonic() < give_up_at:
            listed = subprocess.run(
                ["tsp", "-l"], env=env, capture_output=True, text=True, check=True
            ).stdout
            if " running " not in listed and " queued " not in listed:
                break
            time.sleep(0.1)
        subprocess.run(["tsp", "-K"], env=env, check=True)

    return race


# -- paddock ------------------------------------------------------------------------------------


def paddock(config: str, *, yesterday: list[Plan] | None = None) -> Racer:
    """With `yesterday` other agents of the kind were run in it before the race."""

    def race(track: Track) -> None:
        plans = track.plans
        with a_pen(config, ceiling=track.ceiling) as pen:
            if yesterday:
                track.lay_out(yesterday)
                live(pen, track)
            track.lay_out(plans)
            live(pen, track)
            track.finish()

    return race


def live(pen: Pen, track: Track) -> None:
    requests = [
        RunRequest(
            name=f"{name}-{time.monotonic_ns()}",
            command=track.command(name),
            memory_bytes=LIMIT_BYTES,
            group="race",
        )
        for name in track.names
    ]
    ids = [taken.id for taken in pen.submit(requests).runs]
    views = pen.views(ids, timeout_s=LONGEST_S)
    wrong = [view.sentence for view in views if view.outcome != "succeeded"]
    if wrong:
        print(f"  {len(wrong)} runs went wrong, the first: {wrong[0]}")
