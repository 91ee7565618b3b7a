"""`bench find`: how many agents of a kind this machine really holds, without spending a token.

Players live the agents' memory traces, each from a random point on, all at once inside a ceiling of
what agents may have. As long as nothing is killed there, more of them are tried; the largest number
that held is tried again and again, until "no breach" can be said with some confidence.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final

from paddock import __version__
from paddock.core.units import format_size
from paddock.simulate.trace import Trace

from . import machine
from .ceiling import Ceiling, a_ceiling
from .report import AGENTS_AT_ONCE, Figure, Report
from .telling import Tell, silent
from .traces import command, lines, rotated, squeezed
from .watching import MIB

MOST: Final = 1000
CONFIDENCE: Final = 0.95
LOOK_S: Final = 0.05
MARGIN: Final = 1.25  # of the largest peak: the wall that is recommended
STEP_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    traces: tuple[Trace, ...]  # drawn from in turn
    wall_bytes: int  # what all agents together may have
    total_bytes: int  # of the host
    rounds: int = 10  # at the number that was found
    seconds: float = 8.0  # of one round
    together: bool = False  # all from their begin: peaks meet
    seed: int = 1
    now: Tell = silent


@dataclass(frozen=True, slots=True)
class Trial:
    agents: int
    held: bool
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Found:
    agents: int
    trials: tuple[Trial, ...]
    memory_limit_bytes: int

    @property
    def rounds(self) -> int:
        """At the number that was found."""
        return sum(trial.agents == self.agents and trial.held for trial in self.trials)

    @property
    def risk(self) -> float:
        """Of a breach in a round: not more than this, at `CONFIDENCE`."""
        return 1 - (1 - CONFIDENCE) ** (1 / self.rounds) if self.rounds else 1.0


def find(asked: Asked, tell: Tell) -> Found:
    trials: list[Trial] = []

    def holds(agents: int) -> bool:
        asked.now(f"{agents} at once are tried, for {asked.seconds:g} s")
        trial = try_once(asked, agents, seed=asked.seed * 10_007 + len(trials))
        trials.append(trial)
        peak = format_size(trial.peak_bytes)
        tell(f"{agents} at once: {'held' if trial.held else 'one was killed'}, peak {peak}")
        return trial.held

    tell(beforehand(asked))
    most = largest(holds, begin=min(MOST, _surely(asked)))
    while most and not _stays(holds, most, asked.rounds - 1):
        most -= 1
    peak = _peak(asked)
    limit = -(-int(peak * MARGIN) // STEP_BYTES) * STEP_BYTES
    return Found(most, tuple(trials), limit)


def largest(holds: Callable[[int], bool], *, begin: int) -> int:
    """The largest number that holds, doubled from `begin` and then halved in between; 0: none."""
    low, high = 0, max(1, begin)
    while high <= MOST and holds(high):
        low, high = high, high * 2
    high = min(high, MOST + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def _stays(holds: Callable[[int], bool], agents: int, rounds: int) -> bool:
    return all(holds(agents) for _ in range(rounds))


def beforehand(asked: Asked) -> str:
    """With how many it begins, and why: of small agents that is a crowd."""
    peak, wall = _peak(asked), asked.wall_bytes
    begin = f"{min(MOST, _surely(asked)):,} at once, each a process"
    most = f"; more than {MOST:,} are never tried" if _surely(asked) > MOST else ""
    return (
        f"the largest of these agents peaks at {format_size(peak)}, and {format_size(wall)} are for"
        f" all of them: {wall // peak:,} fit by that sum; begins with {begin}{most}"
    )


def _surely(asked: Asked) -> int:
    """As many as fit if all of them peak at once."""
    return max(1, asked.wall_bytes // _peak(asked))


def _peak(asked: Asked) -> int:
    return max(trace.peak_bytes for trace in asked.traces)


def try_once(asked: Asked, agents: int, *, seed: int) -> Trial:
    random = Random(seed)
    lived = [
        squeezed(trace if asked.together else rotated(trace, random), into_s=asked.seconds)
        for trace in (asked.traces[n % len(asked.traces)] for n in range(agents))
    ]
    with a_ceiling(asked.wall_bytes) as ceiling:
        held = _live(lived, ceiling)
        counted = ceiling.counters()
        return Trial(agents, held and not counted.oom_kills, counted.peak_bytes or 0)


def _live(traces: Sequence[Trace], ceiling: Ceiling) -> bool:
    """Whether all came to their end. The first that is killed ends the round."""
    players: list[subprocess.Popen[bytes]] = []
    try:
        players.extend(_start(ceiling) for _ in traces)
        for player in players:
            assert player.stdout is not None
            player.stdout.readline()
        for player, trace in zip(players, traces, strict=True):
            _let_begin(player, trace)
        waiting = list(players)
        while waiting:
            waiting = [player for player in waiting if player.poll() is None]
            if any(player.returncode for player in players if player.returncode is not None):
                return False
            time.sleep(LOOK_S)
        return True
    finally:
        for player in players:
            player.kill()
            with player:  # waits for it, and closes its pipes
                pass


def _start(ceiling: Ceiling) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen([*ceiling.join, *command("-")], stdin=pipe, stdout=pipe)


def _let_begin(player: subprocess.Popen[bytes], trace: Trace) -> None:
    assert player.stdin is not None
    with suppress(BrokenPipeError):  # killed already: its end tells
        player.stdin.write(lines(trace).encode())
        player.stdin.close()


def report_of(asked: Asked, found: Found, *, of: str) -> Report:
    held = tuple(t.peak_bytes / MIB for t in found.trials if t.agents == found.agents and t.held)
    return Report(
        kind="find",
        paddock=__version__,
        made_at=time.time(),
        machine=machine.describe(),
        settings={
            "agents": of,
            "wall": format_size(asked.wall_bytes),
            "rounds": asked.rounds,
            "seconds": asked.seconds,
            "together": asked.together,
            "seed": asked.seed,
        },
        figures=(
            Figure(name=AGENTS_AT_ONCE, unit="", samples=(float(found.agents),), better="higher"),
            Figure(name="peak of all", unit="MiB", samples=held),
        ),
        verdicts=tuple(said(asked, found)),
    )


def said(asked: Asked, found: Found) -> list[str]:
    if not found.agents:
        return [f"not even one of these agents fits in {format_size(asked.wall_bytes)}"]
    sure = f"a breach in less than {found.risk:.0%} of rounds like these, at {CONFIDENCE:.0%}"
    return [
        f"{found.agents} at once held in {found.rounds} of {found.rounds} rounds ({sure})",
        f"memory_limit: {format_size(found.memory_limit_bytes)} (the largest peak, and a quarter)",
        f"host_memory_reserve: {format_size(asked.total_bytes - asked.wall_bytes)}",
        f"max_concurrent_agents: {found.agents}",
    ]
