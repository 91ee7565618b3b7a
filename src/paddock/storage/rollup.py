"""What is counted over a span of time, kept so that two spans add up to one. Pure data.

A field is added up unless it is named among those of which the largest, the least or the last
counts. New fields go to the end: an older row has fewer of them, and reads as before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

import msgspec
from msgspec import Struct, structs

from paddock.core.pressure import Rung
from paddock.core.units import MIB

MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86400
OTHERS: Final = "(others)"  # where so many groups are at work at once that they are not told apart

Sketch = dict[int, int]
_LOG_RATIO: Final = math.log(1.05)  # bins 5 % wide; a value counts as its bin's upper edge
PEAK_UNIT: Final = float(MIB)
TIME_UNIT: Final = 0.01
_LAST_BIN: Final = 2000  # of 5 % each: 10 to the power of 42
_LARGEST: Final = 1e30
_RUNGS: Final = frozenset(int(rung) for rung in Rung)


def put(sketch: Sketch, value: float, unit: float) -> None:
    index = 0 if value <= unit else math.ceil(math.log(value / unit) / _LOG_RATIO - 1e-9)
    sketch[index] = sketch.get(index, 0) + 1


def edge(index: int, unit: float) -> float:
    return unit * math.exp(index * _LOG_RATIO)


def quantile(sketch: Mapping[int, int], share: float, unit: float) -> float | None:
    """What this share of the values did not pass; None of nothing."""
    left = share * sum(sketch.values())
    for index in sorted(sketch):
        left -= sketch[index]
        if left <= 1e-9:
            return edge(index, unit)
    return edge(max(sketch), unit) if sketch else None


class Span(Struct, array_like=True):
    """Sums of levels are in units times seconds: divided by `seconds` they are averages."""

    LARGEST: ClassVar[frozenset[str]] = frozenset()
    LEAST: ClassVar[frozenset[str]] = frozenset()
    LAST: ClassVar[frozenset[str]] = frozenset()
    SKETCHES: ClassVar[tuple[str, ...]] = ()

    def add(self, later: Self) -> None:
        for name in self.__struct_fields__:
            new = getattr(later, name)
            if new is not None:
                setattr(self, name, self._both(name, getattr(self, name), new))

    def _both(self, name: str, old: Any, new: Any) -> Any:
        if isinstance(new, dict):
            return {key: old.get(key, 0) + new.get(key, 0) for key in old.keys() | new.keys()}
        if old is None or name in self.LAST:
            return new
        if name in self.LARGEST:
            return max(old, new)
        return min(old, new) if name in self.LEAST else old + new


class FleetSpan(Span, array_like=True):
    """The host and the fleet. `None` is what nobody could tell."""

    LARGEST: ClassVar = frozenset(
        {"used_percent_max", "rung_max", "agents_max", "expected_max", "used_max", "waiting_max"}
    )
    LEAST: ClassVar = frozenset({"available_min"})
    SKETCHES: ClassVar = ("waits", "begins")
    LAST: ClassVar = frozenset(
        {
            *("total_bytes", "wall_bytes", "most_agents", "workspace_bytes", "unused_bytes"),
            *("log_bytes", "disk_bytes", "disk_free_bytes", "cores"),
        }
    )

    seconds: float = 0.0
    used_percent_s: float = 0.0  # of the host's memory
    used_percent_max: float = 0.0
    readable_s: float = 0.0  # in which the host's memory could be read
    available_min: int | None = None
    total_bytes: int | None = None
    rungs_s: dict[int, float] = {}  # the ladder's steps
    rung_max: int = 0
    cpu_s: float = 0.0  # seconds of cores in use, by anybody
    cpu_of_s: float = 0.0  # of so many there were
    cores: int | None = None
    stall_s: float = 0.0  # percent times seconds
    agents_s: float = 0.0
    agents_max: int = 0
    most_agents: int | None = None  # that the policy lets in
    expected_s: float = 0.0  # bytes that admission counted with
    expected_max: int = 0
    limits_s: float = 0.0  # bytes of all walls
    used_s: float = 0.0
    used_max: int = 0
    wall_bytes: int | None = None
    pressed_s: float = 0.0  # agent-seconds close to the own wall
    frozen_s: float = 0.0
    waiting_s: float = 0.0
    waiting_max: int = 0
    submitted: int = 0
    starts: int = 0
    ends: dict[str, int] = {}  # by outcome
    preemptions: int = 0
    ooms: int = 0  # at their own walls
    fleet_ooms: int = 0
    freezes: int = 0  # by pressure
    waits: Sketch = {}  # from being queued to being let in
    begins: Sketch = {}  # from being let in to being at work
    workspace_bytes: int | None = None
    unused_bytes: int | None = None  # of them, in workspaces that no run has
    log_bytes: int | None = None
    disk_bytes: int | None = None
    disk_free_bytes: int | None = None
    quota_refusals: int = 0  # runs that ended, or were not taken, for a limit that all share


class GroupSpan(Span, array_like=True):
    LARGEST: ClassVar = frozenset({"used_max", "limit_max"})
    SKETCHES: ClassVar = ("peaks", "run_times", "waits", "crowded_times")
    LAST: ClassVar = frozenset({"limit_bytes", "expected_bytes"})

    seconds: float = 0.0  # of agents at work
    used_s: float = 0.0
    used_max: int = 0
    expected_s: float = 0.0
    limits_s: float = 0.0
    limit_bytes: int | None = None  # of the newest attempt
    limit_max: int = 0
    expected_bytes: int | None = None
    attempts: int = 0  # that ended
    ends: dict[str, int] = {}  # of runs, by outcome
    preemptions: int = 0
    ooms: int = 0
    fleet_ooms: int = 0
    peaks: Sketch = {}  # of each attempt that ended
    run_times: Sketch = {}  # of those that succeeded
    waits: Sketch = {}
    frozen_s: float = 0.0
    crowded_times: Sketch = {}  # the run times of those that began while all cores were in use


_encode: Final = msgspec.msgpack.Encoder().encode
_FLEET: Final = msgspec.msgpack.Decoder(FleetSpan)
_GROUP: Final = msgspec.msgpack.Decoder(GroupSpan)


# What a packed span that rotted may be met with; sums that no longer fit among them.
UNREADABLE: Final = (msgspec.DecodeError, ValueError, OverflowError, RecursionError)


def packed(span: Span) -> bytes:
    return _encode(span)


def fleet_span(data: bytes) -> FleetSpan:
    span = _FLEET.decode(data)
    _check(span)
    if not {span.rung_max, *span.rungs_s} <= _RUNGS:
        raise ValueError("a step of the ladder that there is not")
    return span


def group_span(data: bytes) -> GroupSpan:
    span = _GROUP.decode(data)
    _check(span)
    return span


def _check(span: Span) -> None:
    """What decodes may still be no sum of anything: a bit that flipped makes a year of a second."""
    for name in span.__struct_fields__:
        value = getattr(span, name)
        counted = value.values() if isinstance(value, dict) else (value,)
        if not all(each is None or -_LARGEST < each < _LARGEST for each in counted):
            raise ValueError(f"{name} is no sum")
    for sketch in (getattr(span, name) for name in span.SKETCHES):
        if not all(abs(index) <= _LAST_BIN for index in sketch):
            raise ValueError("a bin that there is not")


def added(old: bytes, new: bytes, *, of_group: bool) -> bytes:
    """Two packed spans as one."""
    read = group_span if of_group else fleet_span
    span: Any = read(old)
    span.add(read(new))
    return packed(span)


def is_empty(span: Span) -> bool:
    return all(value in (None, 0, {}) for value in structs.asdict(span).values())
