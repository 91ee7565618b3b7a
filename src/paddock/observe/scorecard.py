"""The scorecard: each success metric with its target, where it stands, and from what data. Pure.

What the data do not say is "not known", with what is missing; nothing is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

from paddock.core.pressure import Rung
from paddock.core.units import MIB, format_size

from .history_alerts import LASTS_S
from .run_times import Group, extra_when_crowded, spread

EXHAUSTED: Final = Rung.PREEMPT  # from here on memory had run out
SCALING_S: Final = 300.0
RECOVERY_S: Final = 300.0
SAVED_SHARE: Final = 0.20
VARIANCE: Final = 0.10
FORETOLD_DAYS: Final = 30
LEAST_WEIGHED: Final = 100 * MIB  # of workspaces: whose share of less is unused harms nobody
LIFE: Final = "daemon"
STOPPED: Final = "stopped"


class Point(Protocol):
    """One span of the past; `paddock.wire.history_views.HistoryPoint` is one."""

    seconds: float
    cpu_percent: float | None
    agents: float | None
    pressed_s: float
    frozen_s: float
    ooms: int
    fleet_ooms: int
    quota_refusals: int
    ends: dict[str, int]
    start_p95_s: float | None
    expected_bytes: float | None
    limits_bytes: float | None
    workspace_bytes: int | None
    unused_workspace_bytes: int | None


class Entry(Protocol):
    kind: str
    at: float
    until_at: float | None
    verdict: str
    facts: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    name: str
    target: str
    stands: str | None  # None: not known
    met: bool | None = None
    data: str = ""  # from what
    missing: str = ""  # what would have to be there


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    points: Sequence[Point]
    ledger: Sequence[Entry]
    groups: Sequence[Group] = ()
    forecasts: Mapping[str, int | str]  # by what is foretold: so many days, or why none
    possible_saving: float | None = None  # share of what was reserved, by the advice


def scorecard(known: Known) -> tuple[Score, ...]:
    points, ledger = known.points, known.ledger
    return (
        _cpu(points),
        _pressure(points),
        _storage(points),
        _scaling(points),
        _ooms(points),
        _uptime(ledger),
        _quota(points),
        _variance(points, known.groups),
        _false_alarms(ledger),
        _forecast(known.forecasts),
        _recovery(ledger),
        _saving(points, known.possible_saving),
    )


def _percent(share: float, digits: int) -> str:
    return f"{100 * share:.{digits}f} %"


def _agent_s(points: Iterable[Point]) -> float:
    return sum((point.agents or 0.0) * point.seconds for point in points)


def _cpu(points: Sequence[Point]) -> Score:
    name, target = "CPU use while agents are at work", "60 to 80 %"
    busy = [point for point in points if point.agents and point.cpu_percent is not None]
    seconds = sum(point.seconds for point in busy)
    if not seconds:
        missing = "no span with agents in which the cores' use could be read"
        return Score(name=name, target=target, stands=None, missing=missing)
    mean = sum((point.cpu_percent or 0.0) * point.seconds for point in busy) / seconds
    data = f"all cores, whoever used them, over {seconds / 3600:.1f} h with agents"
    return Score(name=name, target=target, stands=f"{mean:.0f} %", met=60 <= mean <= 80, data=data)


def _pressure(points: Sequence[Point]) -> Score:
    name, target = "agents under memory pressure", "below 10 %"
    agent_s = _agent_s(points)
    if not agent_s:
        return Score(name=name, target=target, stands=None, missing="no agent was at work")
    share = sum(point.pressed_s for point in points) / agent_s
    data = "share of the agents' time above 85 % of their own limit"
    return Score(name=name, target=target, stands=_percent(share, 1), met=share < 0.10, data=data)


def _storage(points: Sequence[Point]) -> Score:
    name, target = "unused workspace storage", "below 20 %"
    weighed = [point for point in points if point.workspace_bytes]
    if not weighed:
        missing = "no workspace was weighed (that happens once an hour)"
        return Score(name=name, target=target, stands=None, missing=missing)
    total = sum(point.workspace_bytes or 0 for point in weighed)
    if total < LEAST_WEIGHED * len(weighed):
        held, least = format_size(total // len(weighed)), format_size(LEAST_WEIGHED)
        missing = f"workspaces hold {held} on average; less than {least} is not judged"
        return Score(name=name, target=target, stands=None, missing=missing)
    share = sum(point.unused_workspace_bytes or 0 for point in weighed) / total
    data = "bytes in workspaces that no run has, against all"
    return Score(name=name, target=target, stands=_percent(share, 0), met=share < 0.20, data=data)


def _scaling(points: Sequence[Point]) -> Score:
    name, target = "scaling follows the load", "within 5 min"
    delays = [point.start_p95_s for point in points if point.start_p95_s is not None]
    if not delays:
        return Score(name=name, target=target, stands=None, missing="no run was started")
    worst = max(delays)
    data = (
        "from a run being let in, which is decided at once, to its agent at work: 95 % of the "
        "starts in the worst span"
    )
    return Score(
        name=name, target=target, stands=f"{worst:.2g} s", met=worst <= SCALING_S, data=data
    )


def _ooms(points: Sequence[Point]) -> Score:
    name, target = "out-of-memory kills", "none"
    if not points:
        return Score(name=name, target=target, stands=None, missing="no history")
    own, fleet = sum(point.ooms for point in points), sum(point.fleet_ooms for point in points)
    data = f"{own} at agents' own limits, {fleet} at the fleet's wall"
    return Score(name=name, target=target, stands=str(own + fleet), met=own + fleet == 0, data=data)


def _uptime(ledger: Sequence[Entry]) -> Score:
    name, target = "the controller's uptime", "99.9 %"
    lives = sorted((e for e in ledger if e.kind == LIFE), key=lambda entry: entry.at)
    up_s = sum((life.until_at or life.at) - life.at for life in lives)
    if up_s <= 0:
        return Score(name=name, target=target, stands=None, missing="no daemon's life was recorded")
    down_s = sum(
        max(0.0, later.at - (life.until_at or life.at))
        for life, later in pairwise(lives)
        if life.verdict != STOPPED  # stopped on purpose is not down
    )
    share = up_s / (up_s + down_s)
    data = f"daemons seen for {up_s / 3600:.1f} h, gone unasked for {down_s:.0f} s, by the minute"
    return Score(name=name, target=target, stands=_percent(share, 2), met=share >= 0.999, data=data)


def _quota(points: Sequence[Point]) -> Score:
    name, target = "quota violations that fail a run", "none"
    failed = sum(point.quota_refusals for point in points)
    ended = sum(sum(point.ends.values()) for point in points)
    if not failed + ended:
        missing = "no run ended, and none was turned away"
        return Score(name=name, target=target, stands=None, missing=missing)
    data = (
        f"beside {ended} runs that ended: turned away at a full queue, killed at the fleet's wall, "
        "too large for limits that were lowered, or without a pod for a cluster's quota"
    )
    return Score(name=name, target=target, stands=str(failed), met=failed == 0, data=data)


def _variance(points: Sequence[Point], groups: Sequence[Group]) -> Score:
    name, target = "run times longer because of resources", "below 10 %"
    agent_s = _agent_s(points)
    if not agent_s:
        return Score(name=name, target=target, stands=None, missing="no agent was at work")
    frozen = sum(point.frozen_s for point in points) / agent_s
    data = f"agents stood frozen for {_percent(frozen, 1)} of their time"
    varies = spread(groups)
    if varies is not None:
        data += f"; run times vary by {_percent(varies[0], 0)} within groups, whatever the cause"
        if frozen + varies[0] < VARIANCE:
            stands = _percent(frozen + varies[0], 0)
            return Score(name=name, target=target, stands=stands, met=True, data=data)
    extra = extra_when_crowded(groups)
    low, high = frozen, 1.0
    if extra is None:
        data += "; of no run that succeeded it is known how long it took"
    elif all(point.cpu_percent is None for point in points):
        data += "; how busy the cores were could not be read"
    else:
        low, high = frozen + extra.low, min(1.0, frozen + extra.high)
        data += f"; {extra.compared} runs that began on full cores held against others"
    if low < VARIANCE <= high:
        missing = f"it is between {_percent(low, 0)} and {_percent(high, 0)}: {data}"
        return Score(name=name, target=target, stands=None, missing=missing)
    met = high < VARIANCE
    stands = f"at most {_percent(high, 0)}" if met else f"at least {_percent(low, 0)}"
    if high - low < 0.005:
        stands = _percent(low, 0)
    return Score(name=name, target=target, stands=stands, met=met, data=data)


def _false_alarms(ledger: Sequence[Entry]) -> Score:
    name, target = "false alarms", "below 5 %"
    # Shorter than its rule asks for, nobody was told of it.
    told = [e for e in ledger if e.kind != LIFE and _lasted_s(e) >= LASTS_S.get(e.kind, 0.0)]
    verdicts = [entry.verdict for entry in told]
    false, true = verdicts.count("false"), verdicts.count("true")
    if not false + true:
        missing = "no alert was raised and judged"
        return Score(name=name, target=target, stands=None, missing=missing)
    share = false / (false + true)
    data = f"{false} of {false + true} alerts after which nothing followed; at most, for somebody "
    data += "may have acted in time"
    return Score(name=name, target=target, stands=_percent(share, 0), met=share < 0.05, data=data)


def _lasted_s(entry: Entry) -> float:
    return 0.0 if entry.until_at is None else entry.until_at - entry.at


def _forecast(forecasts: Mapping[str, int | str]) -> Score:
    name, target = "30-day forecast", "in every report"
    lacking = [f"{what}: {why}" for what, why in forecasts.items() if isinstance(why, str)]
    if lacking or not forecasts:
        missing = "; ".join(lacking) or "no history"
        return Score(name=name, target=target, stands=None, missing=missing)
    days = min(ahead for ahead in forecasts.values() if isinstance(ahead, int))
    data = (
        f"of {', '.join(forecasts)}, each with a 90 % interval; no further than history goes back"
    )
    met = days >= FORETOLD_DAYS
    return Score(name=name, target=target, stands=f"{days} days", met=met, data=data)


def _recovery(ledger: Sequence[Entry]) -> Score:
    name, target = "recovery after memory ran out", "below 5 min"
    spans = [
        entry.until_at - entry.at
        for entry in ledger
        if entry.kind == "pressure" and entry.facts.get("rung", 0) >= EXHAUSTED
        if entry.until_at is not None and entry.verdict in ("true", "false")
    ]
    if not spans:
        missing = "memory never ran out in this time, so there was nothing to recover from"
        return Score(name=name, target=target, stands=None, missing=missing)
    longest = max(spans)
    data = f"the longest of {len(spans)} times in which the ladder stood at preempt or above"
    return Score(
        name=name, target=target, stands=f"{longest:.0f} s", met=longest <= RECOVERY_S, data=data
    )


def _saving(points: Sequence[Point], possible: float | None) -> Score:
    name, target = "memory saved by right-sizing", "20 %"
    limits = sum((point.limits_bytes or 0.0) * point.seconds for point in points)
    if not limits:
        return Score(name=name, target=target, stands=None, missing="no agent was at work")
    counted = sum((point.expected_bytes or 0.0) * point.seconds for point in points)
    share = max(0.0, 1 - counted / limits)
    if possible is None and share < SAVED_SHARE:
        missing = "no group has had enough attempts to be sized by"
        return Score(name=name, target=target, stands=None, missing=missing)
    met = share >= SAVED_SHARE
    data = "what admission counted agents with, against their limits"
    if possible is not None:
        data += f"; the advice would take {_percent(possible, 0)} off the limits"
    return Score(name=name, target=target, stands=_percent(share, 0), met=met, data=data)
