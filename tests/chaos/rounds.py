"""Rounds of chaos: a random fleet, SIGKILL of the daemon at random instants, and then the books.

After each round: no run lost, none run twice, no wrong exit code, every byte of output there.
"""

from __future__ import annotations

import random
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path

from paddock.wire.run_request import RunRequest
from tests.kit.house import House, patiently

LINE = "line {n} of {name}"


@dataclass(frozen=True)
class Plan:
    """One run, and what must come of it."""

    name: str
    lines: int
    pause_s: float
    code: int
    strays: bool

    def request(self, ledger: Path) -> RunRequest:
        """Signs the ledger as it starts and as it ends, and numbers every line it writes."""
        half = self.lines // 2
        words = f"""
echo "start $PADDOCK_RUN $PADDOCK_ATTEMPT_NUMBER" >> {shlex.quote(str(ledger))}
i=0
while [ $i -lt {half} ]; do echo "line $i of {self.name}"; i=$((i+1)); done
{f"sleep {self.pause_s}" if self.pause_s else ":"}
while [ $i -lt {self.lines} ]; do echo "line $i of {self.name}"; i=$((i+1)); done
{"(setsid sleep 30 >/dev/null 2>&1 &)" if self.strays else ":"}
echo "end $PADDOCK_RUN $PADDOCK_ATTEMPT_NUMBER" >> {shlex.quote(str(ledger))}
exit {self.code}
"""
        memory = 32 << 20
        return RunRequest(name=self.name, command=("sh", "-c", words), memory_bytes=memory)

    @property
    def output(self) -> bytes:
        lines = (LINE.format(n=n, name=self.name) for n in range(self.lines))
        return "".join(f"{line}\n" for line in lines).encode()


@dataclass
class Books:
    """What a campaign found; everything but the counts must stay empty."""

    rounds: int = 0
    runs: int = 0
    kills: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.twice or self.wrong or self.torn)

    def __str__(self) -> str:
        counts = f"{self.rounds} rounds, {self.runs} runs, {self.kills} kills of the daemon"
        found = f"lost {len(self.lost)}, run twice {len(self.twice)}"
        return f"{counts}: {found}, wrong codes {len(self.wrong)}, torn output {len(self.torn)}"


def a_plan(draw: random.Random, name: str) -> Plan:
    return Plan(
        name=name,
        lines=draw.choice([0, 1, 10, 200, 2000]),
        pause_s=draw.choice([0, 0, 0, 0.05, 0.3, 1.0]),
        code=draw.choice([0, 0, 0, 1, 7, 42, 255]),
        strays=draw.random() < 0.1,
    )


def one_round(house: House, draw: random.Random, books: Books) -> None:
    ledger = house.home / f"ledger-{books.rounds}"
    plans = [a_plan(draw, f"r{books.rounds}-{n}") for n in range(draw.randint(3, 10))]
    books.rounds += 1
    books.runs += len(plans)
    patiently(house.start)
    kills = draw.randint(1, 3)
    if draw.random() < 0.5:
        time.sleep(draw.uniform(0, 0.05))
    ids: dict[str, str] = {}
    first = draw.randint(0, len(plans))
    ids |= _submit(house, plans[:first], ledger)
    for _ in range(kills):
        time.sleep(draw.choice([0, draw.uniform(0, 0.05), draw.uniform(0, 0.6)]))
        books.kills += bool(house.kill_daemon())
        if draw.random() < 0.5:
            patiently(house.start)  # else the keeper brings it back
    if draw.random() < 0.5:
        time.sleep(1.2)  # for the keeper, if this is its first try; it waits longer each time
    patiently(house.start)
    ids |= _submit(house, plans[first:], ledger)
    check(house, plans, ids, ledger, books)


def _submit(house: House, plans: list[Plan], ledger: Path) -> dict[str, str]:
    """With one key for all tries: an answer that was lost must not make two runs of one."""
    if not plans:
        return {}
    taken = house.submit(*(plan.request(ledger) for plan in plans))
    return {run.name: run.id for run in taken.runs}


def check(house: House, plans: list[Plan], ids: dict[str, str], ledger: Path, books: Books) -> None:
    patiently(house.start)
    views = {view.id: view for view in house.ended(list(ids.values()), within_s=90)}
    signed = ledger.read_text(encoding="ascii").splitlines() if ledger.exists() else []
    for plan in plans:
        run = ids[plan.name]
        view = views[run]
        if view.exit_code != plan.code:
            books.wrong.append(f"{plan} ended as {view.outcome} {view.exit_code} ({view.because})")
        starts = [line for line in signed if line.split()[:2] == ["start", run]]
        if not starts:
            books.lost.append(f"{plan} never started: {view}")
        if len(starts) > 1:
            books.twice.append(f"{plan} started {len(starts)} times")
        found = _output(house, run)
        if found != plan.output:
            books.torn.append(f"{plan}: {len(found)} of {len(plan.output)} bytes")


def _output(house: House, run: str) -> bytes:
    return patiently(lambda: house.output(run))
