"""The books of a campaign: what was tried, how often, and what was lost."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any, Final

ADDED: Final = (
    *("rounds", "runs", "output_bytes", "said_lost", "run_again", "lacking_bytes", "cut_bytes"),
    *("workspaces", "databases"),
)


@dataclass
class Tried:
    """One kind of fault. `not_done`: there was nothing to do it to just then."""

    rounds: int = 0
    not_done: int = 0
    runs: int = 0  # in those rounds
    violations: int = 0


@dataclass(frozen=True)
class Violation:
    round: int
    faults: tuple[str, ...]
    text: str


@dataclass
class Books:
    """All but the violations only counts. `said_lost`, `run_again`, `lacking_bytes` and
    `cut_bytes` are what a fault may lead to."""

    seed: int
    rounds: int = 0
    runs: int = 0
    beside: int = 1  # houses at once
    began_at: float = field(default_factory=time.monotonic)
    output_bytes: int = 0  # compared with what was written
    outcomes: dict[str, int] = field(default_factory=dict)
    said_lost: int = 0
    run_again: int = 0
    lacking_bytes: int = 0
    cut_bytes: int = 0  # in pipes that nobody held, their keeper being dead
    workspaces: int = 0
    databases: int = 0  # looked through by SQLite
    longest_round_s: float = 0.0
    faults: dict[str, Tried] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    @property
    def took_s(self) -> float:
        """By a clock on the wall, with houses that come and go."""
        return time.monotonic() - self.began_at

    def ended(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def tried(self, name: str) -> Tried:
        return self.faults.setdefault(name, Tried())

    def blame(self, number: int, faults: tuple[str, ...], text: str) -> None:
        self.violations.append(Violation(number, faults, text))
        for name in faults:
            self.tried(name).violations += 1

    def add(self, other: dict[str, Any]) -> None:
        """As JSON, of a process that played a part of this campaign."""
        for name in ADDED:
            setattr(self, name, getattr(self, name) + other[name])
        self.longest_round_s = max(self.longest_round_s, other["longest_round_s"])
        for outcome, count in other["outcomes"].items():
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + count
        for name, told in other["faults"].items():
            tried = self.tried(name)
            for what, count in told.items():
                setattr(tried, what, getattr(tried, what) + count)
        for found in other["violations"]:
            faults = tuple(found["faults"])
            self.violations.append(Violation(found["round"], faults, found["text"]))

    def __str__(self) -> str:
        counts = f"{self.rounds} rounds, {self.runs} runs, {self.output_bytes >> 20} MiB of output"
        told = f"said to be lost {self.said_lost}, run again {self.run_again}"
        return f"{counts}; {told}; violations {len(self.violations)} ({self.took_s:.0f} s)"

    def as_json(self) -> dict[str, Any]:
        facts = asdict(self)
        del facts["began_at"]
        return {**facts, "took_s": round(self.took_s, 1)}
