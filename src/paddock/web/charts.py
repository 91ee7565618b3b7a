"""Options of the charts, for ECharts. Pure: a history goes in, data comes out.

Colours are in the middle, so that they can be read on light and on dark; names are only ever given
as names, which ECharts writes as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from paddock.client.faces import format_size, safe, views

from .history import BIN_S, History, Ring

Options = dict[str, Any]

LARGEST: Final = 8
LONGEST_NAME: Final = 28
MOST_WORDS: Final = 5
NEARLY: Final = 1.02  # the same, for people
_DIM: Final = "#8b93a1"
_RULE: Final = "rgba(139,147,161,0.18)"
_BLUE: Final = "#3b82f6"
_TEAL: Final = "#14b8a6"
_RED: Final = "#e5484d"
_AMBER: Final = "#d98a04"
_REST: Final = "#9aa3b2"
_AGENTS: Final = (
    *("#3b82f6", "#14b8a6", "#a855f7", "#f59e0b", "#ec4899", "#22a565", "#ef6c3e", "#6366f1"),
)
RUNGS: Final = {
    "skip_low": ("skip low", "#caa23a"),
    "queue": ("queue", "#d98a04"),
    "preempt": ("preempt", "#e8703a"),
    "emergency": ("emergency", "#e5484d"),
}
# Bytes and percent as people read them, in the browser.
_BYTES: Final = (
    "v => { if (v == null) return '–'; const u = ['B','KiB','MiB','GiB','TiB']; let i = 0; "
    "while (v >= 1024 && i < 4) { v /= 1024; i++; } "
    "return (i ? String(+v.toFixed(v < 100 ? 1 : 0)) : v) + ' ' + u[i]; }"
)
_PERCENT: Final = "v => v == null ? '–' : v.toFixed(1) + ' %'"
_COUNT: Final = "v => v == null ? '–' : String(v)"


def host(history: History, rungs: dict[str, float]) -> Options:
    """The machine's memory, with the ladder's lines."""
    seconds = history.seconds()
    line = _line("used", _pairs(history, history.host_percent, seconds), _BLUE, area=0.14)
    line["markLine"] = _rung_lines(rungs)
    axis = {"min": 0, "max": 100, "interval": 25, "axisLabel": {"formatter": "{value} %"}}
    return _chart(seconds, [line], axis, tip=_PERCENT, right=86)


def _rung_lines(rungs: dict[str, float]) -> dict[str, Any]:
    known = sorted((at, *RUNGS[name]) for name, at in rungs.items() if name in RUNGS)
    lines = []
    above_at = [at for at, _, _ in known[1:]] + [200.0]
    for (at, word, colour), above in zip(known, above_at, strict=False):
        # Two that lie close together: their words would lie on each other.
        near = above - at < 7
        label = {
            "formatter": f"{word} {at:g}",
            "color": colour,
            "verticalAlign": "top" if near else "middle",
        }
        lines.append({"yAxis": at, "lineStyle": {"color": colour}, "label": label})
    return {
        "silent": True,
        "symbol": "none",
        "animation": False,
        "lineStyle": {"type": "dashed", "width": 1},
        "label": {"position": "end", "fontSize": 10, "distance": 4},
        "data": lines,
    }


def by_agent(history: History) -> Options:
    """The largest by name, all others together."""
    seconds = history.seconds()
    names = history.largest(LARGEST, seconds)
    rest = history.curve(history.fleet_bytes, seconds)
    series = []
    for number in range(LARGEST):
        run = names[number] if number < len(names) else None
        pairs: list[list[Any]] = []
        if run is not None:
            # Where it was not seen there is nothing to draw: no bytes would be a claim.
            pairs = _pairs(history, history.agents[run], seconds)
            rest = [_without(left, used) for left, (_, used) in zip(rest, pairs, strict=True)]
        name = "" if run is None else _short(history.names[run])
        series.append(_stacked(name, pairs, _AGENTS[number], number))
    others = [[second * 1000, left] for second, left in zip(seconds, rest, strict=True)]
    several = len(history.agents) > len(names)
    series.append(_stacked("others", others if several else [], _REST, LARGEST))
    highest = max((history.fleet_bytes.get(second) or 0.0 for second in seconds), default=0.0)
    options = _chart(seconds, series, _byte_axis(highest), tip=_BYTES)
    options["tooltip"]["order"] = "valueDesc"
    shown = [one["name"] for one in series if one["data"]]
    options["legend"] = _legend() | {"type": "scroll", "data": shown}
    options["grid"]["top"] = 34
    return options


def _without(left: float | None, used: float | None) -> float | None:
    return None if left is None else max(0.0, left - (used or 0.0))


def queue(history: History) -> Options:
    """How many wait and work, and what began and ended meanwhile."""
    seconds = history.seconds()
    waits = _line("waiting", _pairs(history, history.waiting, seconds), _AMBER, area=0.1)
    works = _line("at work", _pairs(history, history.at_work, seconds), _BLUE)
    for line in (waits, works):
        line["step"] = "end"
    bars = [
        _bars(name, history.bins(kind), colour)
        for kind, (name, colour) in enumerate((("starts", _TEAL), ("ends", _REST), ("kills", _RED)))
    ]
    axes: list[Options] = [
        {"min": 0, "minInterval": 1, "splitNumber": 4},
        {"min": 0, "minInterval": 1, "splitNumber": 4, "splitLine": {"show": False}},
    ]
    options = _chart(seconds, [waits, works, *bars], axes, tip=_COUNT, right=34)
    options["legend"] = _legend()
    options["grid"]["top"] = 34
    return options


def is_known(history: History, run: str) -> bool:
    """Whether anything can be drawn of it."""
    ring = history.agents.get(run) or Ring()
    return any(value is not None for value in history.curve(ring, history.seconds()))


def one(history: History, run: views.RunView) -> Options:
    """What one agent used; its peak where no look came near it, and its wall once that is near."""
    seconds = history.seconds()
    ring, limit_bytes = history.agents.get(run.id) or Ring(), run.limit_bytes
    pairs = _pairs(history, ring, seconds)
    line = _line("in use", pairs, _BLUE, area=0.14)
    seen = max((value for _, value in pairs if value is not None), default=0.0)
    peak = run.peak_bytes or 0
    marks = [("peak, between two looks:", peak, _DIM)] if is_between_looks(peak, seen) else []
    if max(seen, peak) > limit_bytes * 0.4:
        marks.append(("wall", limit_bytes, _RED))
    line["markLine"] = {
        "silent": True,
        "symbol": "none",
        "animation": False,
        # A peak is often at the wall: their words stand at the two ends.
        "data": [_mark(*mark, end="End" if mark[0] == "wall" else "Start") for mark in marks],
    }
    axis = _byte_axis(max(seen, *(size for _, size, _ in marks)) if marks else seen)
    return _chart(seconds, [line], axis, tip=_BYTES)


def is_between_looks(peak: float, seen: float) -> bool:
    """Whether the kernel knows of more than a curve of looks can show."""
    return peak > seen * NEARLY


def _mark(word: str, size: int, colour: str, *, end: str) -> Options:
    return {
        "yAxis": size,
        "lineStyle": {"type": "dashed", "width": 1, "color": colour},
        "label": {
            "position": f"inside{end}Top",
            "fontSize": 11,
            "color": colour,
            "formatter": f"{word} {format_size(size)}",
        },
    }


# -- parts ----------------------------------------------------------------------------------


def _chart(
    seconds: Sequence[int],
    series: list[Options],
    axis: Options | list[Options],
    *,
    tip: str,
    right: int = 14,
) -> Options:
    axes = axis if isinstance(axis, list) else [axis]
    return {
        "animation": False,
        "grid": {"left": 58, "right": right, "top": 14, "bottom": 26},
        "tooltip": _tooltip(tip),
        "xAxis": {
            "type": "time",
            "min": seconds[0] * 1000,
            "max": seconds[-1] * 1000,
            **_axis_look(),
            "splitLine": {"show": False},
            "axisLabel": _label("{HH}:{mm}")
            | {"hideOverlap": True, "customValues": _minutes(seconds)},
        },
        "yAxis": [_value_axis(one_axis) for one_axis in axes],
        "series": series,
    }


def _minutes(seconds: Sequence[int]) -> list[int]:
    """Where the axis has its words, in milliseconds. Left to itself it would show nothing but the
    full hour around one."""
    first, last = -(-seconds[0] // 60), seconds[-1] // 60
    step = next(each for each in (1, 2, 3, 5) if (last - first) // each < MOST_WORDS)
    return [minute * 60_000 for minute in range(-(-first // step) * step, last + 1, step)]


def _byte_axis(highest: float) -> Options:
    """Steps of a power of two, as memory is; a little room above."""
    step = 1 << 20
    while step * 4 < highest * 1.05:
        step *= 2
    most = step * max(1, -int(-highest * 1.05 // step))
    return {"min": 0, "max": most, "interval": step, "axisLabel": {":formatter": _BYTES}}


def _value_axis(asked: Options) -> Options:
    look = _axis_look()
    label = look["axisLabel"] | asked.get("axisLabel", {})
    return {"type": "value"} | look | asked | {"axisLabel": label}


def _axis_look() -> Options:
    return {
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "splitLine": {"lineStyle": {"color": _RULE}},
        "axisLabel": {"color": _DIM, "fontSize": 11},
    }


def _label(formatter: str) -> Options:
    return {"color": _DIM, "fontSize": 11, "formatter": formatter}


def _tooltip(value: str) -> Options:
    return {
        "trigger": "axis",
        "confine": True,
        "className": "pd-tip",
        ":valueFormatter": value,
        "axisPointer": {"type": "line", "lineStyle": {"color": _DIM}},
    }


def _legend() -> Options:
    return {
        "top": 0,
        "left": 0,
        "icon": "roundRect",
        "itemWidth": 10,
        "itemHeight": 10,
        "itemGap": 14,
        "textStyle": {"color": _DIM, "fontSize": 12, "lineHeight": 18},
        "pageTextStyle": {"color": _DIM},
        "pageIconColor": _DIM,
        "pageIconSize": 10,
    }


def _line(name: str, pairs: list[list[Any]], colour: str, *, area: float = 0.0) -> Options:
    return {
        "type": "line",
        "id": name,
        "name": name,
        "data": pairs,
        "color": colour,
        "showSymbol": False,
        "lineStyle": {"width": 1.8},
        "areaStyle": {"opacity": area},
        "emphasis": {"disabled": True},
    }


def _stacked(name: str, pairs: list[list[Any]], colour: str, number: int) -> Options:
    return _line(name, pairs, colour, area=0.75) | {
        "id": f"agent-{number}",
        "stack": "agents",
        "lineStyle": {"width": 0.6},
    }


def _bars(name: str, bins: Iterable[tuple[int, int]], colour: str) -> Options:
    middle = BIN_S * 500
    return {
        "type": "bar",
        "id": name,
        "name": name,
        "yAxisIndex": 1,
        "data": [[begins_at * 1000 + middle, count] for begins_at, count in bins],
        "color": colour,
        "barWidth": 3,
        "barGap": "15%",
        "emphasis": {"disabled": True},
    }


def _pairs(history: History, ring: Ring, seconds: Sequence[int]) -> list[list[Any]]:
    values = history.curve(ring, seconds)
    return [[second * 1000, value] for second, value in zip(seconds, values, strict=True)]


def _short(name: str) -> str:
    name = safe(name)
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
