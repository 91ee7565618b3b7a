"""The capacity report for a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from paddock.cluster.tiers import Tier
from paddock.core.units import GIB, format_duration, format_size
from paddock.observe.sizing_advice import Advice

from .group_names import readable
from .printing import counted
from .report_tiers import tier_lines
from .reporting import LEAST_RATE_H, Cost, Foretold, Report, Use
from .tables import Column, Row, fold, table

NOT_KNOWN: Final = "not known"
DATES_ONLY_S: Final = 2 * 86400.0  # of a shorter time the hours are told, too
_SIZING: Final = (
    Column("group", gives_way=2, least=20),
    Column("limit now", right=True),
    Column("advice", right=True),
    Column("request", right=True, leaves=1),
    Column("saves", right=True),
    Column("confidence"),
    Column("because", below=True),
)
_SCORES: Final = (
    Column("metric"),
    Column("target"),
    Column("stands at", right=True),
    Column(""),
    Column("from", below=True),
)


def lines(
    report: Report,
    shown: Mapping[str, bool],
    own: Sequence[Tier] = (),
    *,
    width: int | None,
    colour: bool,
) -> Iterator[str]:
    """`shown`: of what is told only when asked for, what was; `own`: the configured tiers."""
    yield from _folded(_head(report), width)
    yield from _folded(_use(report.use), width)
    yield ""
    for told in report.forecast:
        yield from _folded(foretold(told), width)
    if report.sizing:
        yield ""
        yield from table(_SIZING, [_advice(a) for a in report.sizing], width=width, colour=colour)
        yield from _folded([saving(report)], width)
    if shown.get("tiers"):
        yield ""
        yield from tier_lines(report.tiers, own, width=width, colour=colour)
    if shown.get("cost"):
        yield ""
        yield from _folded(_cost(report.cost), width)
    if shown.get("scorecard"):
        yield ""
        rows = [score_row(report, n) for n in range(len(report.scorecard))]
        yield from table(_SCORES, rows, width=width, colour=colour)


def _folded(texts: Iterable[str], width: int | None) -> Iterator[str]:
    for text in texts:
        words = text.lstrip(" ")
        indent = " " * (len(text) - len(words))
        room = None if width is None else width - len(indent)
        yield from (f"{indent}{line}" for line in fold(words, room))


def _head(report: Report) -> Iterator[str]:
    yield f"{span(report)}: a daemon was there for {report.use.seen_h:g} h."


def span(report: Report) -> str:
    """From when on there is history, not from when on it was asked for."""
    if report.first_at is None:
        asked = time.strftime("%Y-%m-%d", time.localtime(report.since_at))
        return f"No history since {asked}"
    times = report.first_at, report.until_at
    shape = "%Y-%m-%d" if times[1] - times[0] >= DATES_ONLY_S else "%Y-%m-%d %H:%M"
    first, last = (time.strftime(shape, time.localtime(at)) for at in times)
    return f"From {first} to {last}"


def size(value: float | None) -> str:
    return NOT_KNOWN if value is None else format_size(int(value))


def amount(value: float, unit: str) -> str:
    return format_size(int(value)) if unit == "bytes" else f"{value:.1f}"


def _use(use: Use) -> Iterator[str]:
    if use.agents is None:
        yield "Nothing was recorded in this time; history is written once a minute."
        return
    yield f"  agents  {use.agents:.1f} on average, {use.agents_max} at most"
    host = "" if use.memory_percent_max is None else f"; host at {use.memory_percent_max:.0f} %"
    yield f"  memory  {size(use.used_bytes)} on average, {size(use.used_max_bytes)} at most{host}"
    if use.cpu_percent is not None:
        yield f"     cpu  {use.cpu_percent:.0f} % of all cores, whoever used them"
    wait = "" if use.wait_p95_s is None else f", 95 % within {format_duration(use.wait_p95_s)}"
    yield f"   queue  {use.waiting_max} at most{wait}"
    ends = ", ".join(f"{count} {outcome}" for outcome, count in sorted(use.ends.items()))
    yield f"    runs  {use.starts} starts; {ends or 'none ended'}"
    things = ((use.ooms, "out-of-memory kill"), (use.preemptions, "preemption"))
    harm = ", ".join(counted(n, thing) for n, thing in (*things, (use.freezes, "freeze")))
    yield f"pressure  {use.pressed_h:g} h above calm; {harm}"
    if use.disk_used_bytes is not None:
        parts = f"workspaces {size(use.workspace_bytes)}, logs {size(use.log_bytes)}"
        yield f"    disk  {size(use.disk_used_bytes)} in use; {parts}"


def foretold(told: Foretold) -> Iterator[str]:
    if not told.days:
        yield f"Forecast of {told.what}: none. {told.forecast.because}."
        return
    day, middle, low, high = told.days[-1]
    expected, least, most = (amount(value, told.unit) for value in (middle, low, high))
    yield (
        f"Forecast of {told.what}: {expected} on {day} (90 %: {least} to {most}), "
        f"from {told.forecast.known_days} days ({', '.join(told.forecast.shape) or 'level'})."
    )
    yield f"  {limit_sentence(told)}"


def limit_sentence(told: Foretold) -> str:
    if told.limit is None:
        return "There is no limit to compare it with."
    limit = f"The limit of {amount(told.limit, told.unit)} ({told.limit_by})"
    if told.reached_on is not None:
        earliest = f"at the earliest on {told.reachable_on}"
        return f"{limit} is expected to be reached on {told.reached_on}, {earliest}."
    if told.reachable_on is not None:
        return f"{limit} may be reached from {told.reachable_on} on, but is not expected to be."
    return f"{limit} is not reached until {told.days[-1][0]}."


def _advice(advice: Advice) -> Row:
    limit = NOT_KNOWN if advice.limit_bytes is None else format_size(advice.limit_bytes)
    return (
        readable(advice.group, advice.last_run),
        size(advice.limit_now_bytes),
        "keep" if advice.change == "keep" else limit,
        size(advice.request_bytes),
        saved(advice),
        advice.confidence,
        advice.because,
    )


def saved(advice: Advice) -> str:
    return f"{advice.saving_byte_s / GIB / 3600:.1f} GiB·h" if advice.saving_byte_s else ""


def saving(report: Report) -> str:
    if report.saving_share is None and any(one.change == "unknown" for one in report.sizing):
        return "What advice would save is not known: too few attempts have ended in any group."
    if report.saving_share is None:
        return "No agent was at work in this time, so nothing can be saved."
    return f"Taken as a whole, the advice reserves {100 * report.saving_share:.0f} % less memory."


def _cost(cost: Cost | None) -> Iterator[str]:
    if cost is None:
        yield "Cost: no prices are set; set cost.memory_gib_hour and cost.core_hour in the config."
        return
    yield from cost_lines(cost)


def cost_lines(cost: Cost) -> Iterator[str]:
    money = cost.currency
    if cost.month is None:
        known = f"{cost.seen_h:g} h of history, {LEAST_RATE_H:.0f} h are needed"
        yield f"Cost for 30 days: not known ({known})."
    else:
        yield f"Cost: {cost.month:.2f} {money} for 30 days at this rate."
    yield f"  memory reserved {cost.reserved_gib_hours:.1f} GiB·h: {cost.reserved:.2f} {money}"
    yield f"  really used {cost.used_gib_hours:.1f} GiB·h: {cost.used:.2f} {money}"
    if cost.core_hours is not None:
        yield f"  cores {cost.core_hours:.1f} h: {cost.cores:.2f} {money}"
    hours = cost.saving_gib_hours
    if hours is None:
        yield f"  what advice would have saved: {NOT_KNOWN}"
    else:
        yield f"  the advice would have saved {hours:.1f} GiB·h: {cost.saving:.2f} {money}"


def score_row(report: Report, number: int) -> Row:
    score = report.scorecard[number]
    met = {True: "met", False: "missed", None: ""}[score.met]
    told = score.data if score.stands is not None else f"missing: {score.missing}"
    return score.name, score.target, score.stands or NOT_KNOWN, met, told
