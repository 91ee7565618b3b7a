"""The table of metrics: the endpoint, the reference page, the rules and the dashboard come from it.

Names and units are as Prometheus' conventions want them: base units, `_total` for what only grows,
`_ratio` for 0 to 1, `_timestamp_seconds` for a time of day. Every label has a bound.
"""

from __future__ import annotations

from typing import Final

from . import fleet_metrics, run_metrics
from .metric import Metric

SECTIONS: Final = {**fleet_metrics.SECTIONS, **run_metrics.SECTIONS}
METRICS: Final[dict[str, Metric]] = {
    metric.name: metric for metrics in SECTIONS.values() for metric in metrics
}
