"""Which figures count, and what was wanted of each: from what benchmarks left in results/.

A row is one line of RESULTS.md. Ratios are taken within one run, against a peer or a bare
baseline: they travel between machines. Sizes and times are told beside their limit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
RATIO = "×"

Document = dict[str, Any]


@dataclass(frozen=True)
class Row:
    file: str  # results/FILE.json
    what: str
    value: Callable[[Any], float]  # from its figures
    unit: str = RATIO
    most: float | None = None
    least: float | None = None

    @property
    def target(self) -> float | None:
        """None: it has to lie between two."""
        return None if self._is_between else self.most if self.least is None else self.least

    @property
    def wanted(self) -> str:
        if self._is_between:
            return f"{self.least:,g} to {self.most:,g}"
        word = "at most" if self.least is None else "at least"
        return f"{word} {self.target:,g}"

    @property
    def _is_between(self) -> bool:
        return self.least is not None and self.most is not None

    def is_met(self, value: float) -> bool:
        enough = self.least is None or value >= self.least
        return enough and (self.most is None or value <= self.most)

    def read(self, directory: Path = RESULTS) -> tuple[float, Document] | None:
        """Its value and the document it is in; None: it was not measured here."""
        try:
            document = json.loads((directory / f"{self.file}.json").read_bytes())
            return float(self.value(document["figures"])), document
        except (OSError, ValueError, KeyError, IndexError, TypeError, StopIteration):
            return None


def number(value: float) -> str:
    """Three digits that count."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def at(*path: Any, times: float = 1.0) -> Callable[[Any], float]:
    def found(figures: Any) -> float:
        for key in path:
            figures = figures[key]
        return float(figures) * times

    return found


BEST_PEER = "best peer that lost nothing"
WARM = "paddock, after a day"


def wrong_by(figures: Any) -> float:
    return float(max(abs(one["found"] - one["truth"]) for one in figures.values()))


def part(one: str, other: str) -> Callable[[Any], float]:
    return lambda figures: float(figures[one] / figures[other])


def by_rounds(peer: str) -> Callable[[Any], float]:
    """Round by round, as it is judged; of an older file, which has none of it, the medians."""

    def found(figures: Any) -> float:
        if "ratios" in figures:
            return float(figures["ratios"][peer])
        return float(figures["paddock"] / figures[peer])

    return found


def furthest_off(figures: Any) -> float:
    """In percent, of the kind whose interval is the least honest."""
    shares = [100 * one["coverage"] for kind, one in figures["kinds"].items() if kind != "little"]
    return float(max(shares, key=lambda share: abs(share - 90)))


def of_last_week(figures: Any) -> float:
    weekly = figures["kinds"]["weekly"]
    return float(weekly["error"] / weekly["naive_error"])


def more_kills(figures: Any) -> float:
    return float(max(one["oom_kills_after"] - one["oom_kills_before"] for one in figures.values()))


def of_real(count: int, name: str) -> Callable[[Any], float]:
    """Of so many real agents, and of no other number."""

    def found(figures: Any) -> float:
        if figures["real"]["agents"] != count:
            raise KeyError(name)
        return float(figures["real"][name])

    return found


def larger(*path: str) -> Callable[[Any], float]:
    """Of what is held and what is resident."""

    def found(figures: Any) -> float:
        for key in path:
            figures = figures[key]
        return float(max(figures["held_mb"], figures["resident_mb"]))

    return found


def of_agents(count: int, *names: str) -> Callable[[Any], float]:
    """The sum of some figures of an idle fleet of that size."""

    def found(figures: Any) -> float:
        one = next(each for each in figures if each["agents"] == count)
        return float(sum(one[name] for name in names))

    return found


def of_report(name: str) -> Callable[[Any], float]:
    """A figure of a report of `paddock bench`: the median of its samples."""

    def found(figures: Any) -> float:
        samples = sorted(next(each for each in figures if each["name"] == name)["samples"])
        return float(samples[len(samples) // 2])

    return found


def taken_in(figures: Any) -> float:
    rates = figures["taken_in_mb_a_s"]
    return float(rates["paddock"] / max(rates[one] for one in ("s6-log", "svlogd", "multilog")))


def lost_work(figures: Any) -> float:
    return float(figures["with_s"] / figures["without_s"])


def lost_runs(figures: Any) -> float:
    return float(figures["lost"] + figures["never"])


def reaction(figures: Any) -> float:
    return float(figures["paddock"]["p95_ms"] / figures["earlyoom"]["p95_ms"])


def rescue(what: str) -> Callable[[Any], float]:
    return lambda figures: max(one[what] for name, one in figures.items() if name != "python")


SAW = "a saw of 60 or 200 MB in 2 to 25 s"
IDLE_CPU = ("daemon_cpu_percent", "keeper_cpu_percent")
IDLE_MB = ("daemon_rss_mb", "keeper_rss_mb")
KEY, SIGHT = ("key_to_repaint_ms",), ("write_to_sight_ms",)
HAND_OVER = "hand_over_worst_ms"

ROWS: tuple[Row, ...] = (
    Row("idle", "daemon and keeper, 300 sleeping agents", of_agents(300, *IDLE_CPU), "%", most=5),
    Row("idle", "their memory then", of_agents(300, *IDLE_MB), "MB", most=150),
    Row("load", "an agent's cost at 1,000 / at 100", at("ratios", "1,000_of_100"), most=1.5),
    Row(
        "load",
        "a run's time with 10,000 queued / with few",
        at("ratios", "full_of_empty_queue"),
        most=1.5,
    ),
    Row(
        "load",
        "a step in a day's last hours / its first",
        at("ratios", "last_of_first_hours"),
        most=1.5,
    ),
    Row("keeper", "keeper with 1,000 agents", at("rss_mb"), "MB", most=20),
    Row("keeper", "its CPU then", at("cpu_percent"), "% of a core", most=1),
    Row("keeper", "spawns / bare spawns", at("of_bare"), least=0.5),
    Row("throughput", "short runs a second / GNU parallel", by_rounds("parallel"), least=1),
    Row(
        "throughput",
        "the same / parallel --memfree 1G",
        by_rounds("parallel --memfree 1G"),
        least=4,
    ),
    Row(
        "submits",
        "durable submissions, eight clients / bare commits",
        part("singly by 8", "bare commits"),
        least=0.33,
    ),
    Row(
        "submits",
        "the same, one client with 16 under way",
        part("singly, 16 at once", "bare commits"),
        least=0.33,
    ),
    Row(
        "submits",
        "the same, one client that waits for each answer",
        part("singly", "bare commits"),
        least=0.33,
    ),
    Row("submits", "submissions in batches", at("in batches of 100"), "a second", least=2000),
    Row(
        "submits",
        "with 50,000 queued / with 100",
        part("singly at 50,000", "singly"),
        least=0.7,
    ),
    Row("store", "the store alone / bare commits", at("of_bare_commits"), least=0.333),
    Row("step_cost", "a submit at 100,000 queued / at 1,000", at("submit"), most=3),
    Row("step_cost", "an exit and a start, the same", at("exit_and_start"), most=3),
    Row("status", "paddock status / python -c pass", at("ratio"), most=12),
    Row("rescue", "relieve, kill, watch, cgroup: slowest", rescue("ms"), "ms", most=150),
    Row("rescue", "the same / python -c pass", rescue("ratio"), most=10),
    Row("rescue", "their memory", rescue("mb"), "MB", most=25),
    Row("reaction", "to the kill, p95 / earlyoom's", reaction, most=1),
    Row("walls-v1", "a start with walls / a bare one", at("start"), most=2),
    Row("walls-v1", "from the wall to the hog's death", at("worst_hog_s"), "s", most=1),
    Row("walls-v1", "15 processes gone after a kill", at("worst_kill_s"), "s", most=0.1),
    Row("walls-v2", "v2, in a guest: a start / a bare one", at("start"), most=2),
    Row("walls-v2", "v2: from the wall to the hog's death", at("hog_s"), "s", most=1),
    Row("walls-v2", "v2: 15 processes gone after a kill", at("kill_s"), "s", most=0.1),
    Row("tool", "a shim's CPU / that of pytest --version", at("added_share"), most=0.25),
    Row("tool", "watching a tool wall", at("watching_percent"), "% of a core", most=1),
    Row("logs", "output taken in / the fastest of s6, svlogd, multilog", taken_in, least=2),
    Row("logs", "from write to display, p99", at("seen", "p99_ms"), "ms", most=50),
    Row(
        "logs", "daemon with 100 verbose agents", at("a_hundred_verbose", "peak_mb"), "MB", most=250
    ),
    Row("stream", "2 GB through a stage: peak", at("peak_mb"), "MiB", most=428),
    Row("metrics", "a scrape of 1,000 agents", at("pretend", "scrape_ms"), "ms", most=100),
    Row("metrics", "the size of that page", at("pretend", "bytes", times=1e-6), "MB", most=2),
    Row("metrics", "a scrape of 1,000 real agents", of_real(1000, "scrape_ms"), "ms", most=100),
    Row("tui", "top, 300 agents: key to repaint, p95", at(*KEY, "p95"), "ms", most=100),
    Row("tui", "top: from write to sight, p99", at(*SIGHT, "p99"), "ms", most=500),
    Row("tui", "top: memory", at("memory_mb"), "MB", most=100),
    Row("web", "dashboard, 300 agents: growth of its process", at("process_growth"), most=1.1),
    Row("web", "dashboard: growth of its pages", at("page_growth"), most=1.1),
    Row("web", "dashboard: from write to sight, p99", at("delay_ms", "p99"), "ms", most=500),
    Row(
        "forecast",
        "days within the forecast's 90 % interval",
        at("coverage", times=100),
        "%",
        least=85,
        most=95,
    ),
    Row("forecast", "the same, the kind furthest from 90 %", furthest_off, "%", least=85, most=95),
    Row("forecast", "weekly series: error / as a week ago", of_last_week, most=1),
    Row("history", "90 days of 300 agents", at("bytes", times=1e-6), "MB", most=50),
    Row(
        "rightsizing",
        "right-sizing: reserved memory saved",
        at("tiers", "saved", times=100),
        "%",
        least=20,
    ),
    Row("rightsizing", "right-sizing: more kills than before", more_kills, "kills", most=0),
    Row("lost_work", "work done again: with a checkpoint / without", lost_work, most=0.01),
    Row("worktrees", "50 workspaces / a loop of git worktree add", at("ratio"), most=1),
    Row("worktrees", "a prepared workspace, the slowest", at(HAND_OVER), "ms", most=100),
    Row("profiles", "tiny: two at their walls", larger("two at their walls"), "MB", most=978),
    Row("profiles", "tiny: two as usual", larger("two as usual"), "MB", most=628),
    Row("profiles", "tiny: after one gave way", larger("after one gave way"), "MB", most=478),
    Row("five_agents", "five real agent programs and paddock", larger(), "MB", most=3000),
    Row("learned", "learned sizes / full limits", at("of_guaranteed"), most=0.5),
    Row("learned", "learned sizes / clairvoyant", at("of_clairvoyant"), most=1.3),
    Row("find", "agents that `bench find` was wrong by", wrong_by, "agents", most=1),
    Row("peers", "race: paddock / static formula", at("ratios", "static formula"), most=0.6),
    Row("peers", "race: paddock / best peer that lost nothing", at("ratios", BEST_PEER), most=0.8),
    Row("peers", "race: paddock / clairvoyant", at("ratios", "clairvoyant"), most=1.3),
    Row("peers", "race: OOM kills with paddock", at("racers", WARM, "oom_kills"), "kills", most=0),
    Row("peers", "race: work lost with paddock", at("racers", WARM, "lost_s"), "s", most=0),
    Row("simulate", "10,000 runs simulated", at("seconds"), "s", most=15),
    Row("simulate", "memory for that", at("peak_mb"), "MB", most=500),
    Row("kubernetes", "1,000 AgentRuns: calls of the API a run", at("calls_per_run"), "", most=12),
    Row("kubernetes", "the controller's memory then", at("peak_mb"), "MB", most=200),
    Row("kubernetes", "lost, or never begun", lost_runs, "runs", most=0),
    Row("kubernetes", "begun twice", at("twice"), "runs", most=0),
    Row("leaks", "leaks of 1 MB/s found in noise", at("noise of 200 MB", "with"), "", least=0.99),
    Row("leaks", "saws called a leak", at(SAW, "without"), "", most=0.01),
    Row(
        "soak-hour", "an hour: growth of the daemon", of_report("growth of the daemon"), "%", most=5
    ),
    Row(
        "soak-hour", "an hour: growth of the keeper", of_report("growth of the keeper"), "%", most=5
    ),
    Row("soak-hour", "an hour: descriptors left", of_report("more descriptors"), "", most=0),
    Row("soak-2000", "2,000 runs: the daemon", of_report("growth of the daemon"), "%", most=5),
    Row("soak-2000", "2,000 runs: the keeper", of_report("growth of the keeper"), "%", most=5),
    Row("soak-2000", "2,000 runs: descriptors left", of_report("more descriptors"), "", most=0),
)
