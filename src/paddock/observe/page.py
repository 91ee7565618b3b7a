"""What a scrape is answered with: Prometheus' text format.

By hand, because a thousand agents are ten thousand lines: prometheus-client takes 8 to 15 µs for
each, this takes one. The tests read it with prometheus-client and with promtool.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from .counts import Histogram
from .metric import Metric
from .metrics import METRICS

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Value = float | int | Histogram
Sample = tuple[str, Value]  # the labels as they are written, and what it is


def written(labels: Iterable[tuple[str, str]]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)


def _escaped(text: str) -> str:
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    if "\\" in text or '"' in text or "\n" in text:
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return text


class Page:
    """Takes values by the name and the labels of the table, in any order; nothing else gets in."""

    def __init__(self) -> None:
        self._samples: dict[str, list[Sample]] = {name: [] for name in METRICS}

    def put(self, name: str, value: Value | None, *labels: str) -> None:
        """None: there is nothing to say."""
        if value is None:
            return
        metric = METRICS[name]
        text = written(zip(metric.labels, labels, strict=True))
        self._samples[name].append((text, value))

    def extend(self, name: str, samples: Iterable[Sample]) -> None:
        """Many at once, their labels already written."""
        self._samples[name].extend(samples)

    def text(self) -> bytes:
        """May be made in another thread: nothing in it changes any more."""
        parts = [
            _family(METRICS[name], samples) for name, samples in self._samples.items() if samples
        ]
        return "".join(parts).encode()


def _family(metric: Metric, samples: list[Sample]) -> str:
    name = metric.name
    lines = [f"# HELP {name} {metric.about}", f"# TYPE {name} {metric.kind}"]
    for labels, value in samples:
        if isinstance(value, Histogram):
            lines += _histogram(name, labels, value)
        else:
            lines.append(f"{name}{{{labels}}} {value!r}" if labels else f"{name} {value!r}")
    lines.append("")
    return "\n".join(lines)


def _histogram(name: str, labels: str, value: Histogram) -> list[str]:
    bounds = (*value.bounds, math.inf)
    more = f"{labels}," if labels else ""
    lines = [
        f'{name}_bucket{{{more}le="{_bound(bound)}"}} {count}'
        for bound, count in zip(bounds, accumulate(value.counts), strict=True)
    ]
    end = f"{{{labels}}}" if labels else ""
    return [*lines, f"{name}_sum{end} {value.sum!r}", f"{name}_count{end} {sum(value.counts)}"]


def _bound(bound: float) -> str:
    return "+Inf" if bound == math.inf else repr(float(bound))
