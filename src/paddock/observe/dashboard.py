"""The dashboard of a host, as Grafana takes it: JSON made from the rows of `panels`."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from .cluster_panels import cluster_rows
from .panels import HOST_ROWS, Panel, Row

SCHEMA: Final = 41  # Grafana 11.6 and later; older ones are brought up to it
COLUMNS: Final = 24
HEIGHT: Final = {"stat": 4, "timeseries": 8, "bargauge": 8}
_SOURCES: Final = {
    "name": "datasource",
    "label": "Prometheus",
    "type": "datasource",
    "query": "prometheus",
    "hide": 0,
    "multi": False,
    "includeAll": False,
}
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


def host_dashboard() -> dict[str, Any]:
    about = "Agents, queue, pressure, disks of one machine."
    return _dashboard(
        "paddock-host", "paddock: one host", about, rows=HOST_ROWS, asked=_asked_of_a_host()
    )


def cluster_dashboard(namespace: str, container: str = "agent") -> dict[str, Any]:
    about = f"Agents, quotas and volumes of the namespace {namespace}."
    rows = cluster_rows(namespace, container)
    return _dashboard("paddock-cluster", "paddock: a cluster", about, rows=rows, asked=[])


def _dashboard(
    uid: str, title: str, about: str, *, rows: tuple[Row, ...], asked: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["paddock"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "timezone": "browser",
        "time": {"from": "now-3h", "to": "now"},
        "timepicker": {},
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": [_SOURCES, *asked]},
        "panels": _laid_out(rows),
    }


def _asked_of_a_host() -> list[dict[str, Any]]:
    return [
        _asked("instance", "host", "label_values(paddock_build_info, instance)", several=False),
        _asked(
            "group",
            "group",
            'label_values(paddock_runs_submitted_total{instance="$instance"}, group)',
            several=True,
        ),
    ]


def _asked(name: str, label: str, query: str, *, several: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,  # whenever the time range changes
        "sort": 1,
        "hide": 0,
        "multi": several,
        "includeAll": several,
    }
    if several:
        found["allValue"] = ".*"
        found["current"] = {"text": "All", "value": "$__all"}
    return found


def _laid_out(rows: tuple[Row, ...]) -> list[dict[str, Any]]:
    """From left to right, from top to bottom."""
    found: list[dict[str, Any]] = []
    ids, y = count(1), 0
    for row in rows:
        place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
        found.append(
            {
                "id": next(ids),
                "type": "row",
                "title": row.title,
                "collapsed": False,
                "gridPos": place,
                "panels": [],
            }
        )
        x, y = 0, y + 1
        for panel in row.panels:
            if x + panel.width > COLUMNS:
                x, y = 0, y + HEIGHT[panel.shown]
            place = {"x": x, "y": y, "w": panel.width, "h": HEIGHT[panel.shown]}
            found.append({"id": next(ids), "gridPos": place, **_panel(panel)})
            x += panel.width
        y += HEIGHT[row.panels[-1].shown]
    return found


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "type": panel.shown,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": _SOURCE,
                "expr": query.expr,
                "legendFormat": query.legend or "__auto",
                "range": True,
                "instant": False,
            }
            for number, query in enumerate(panel.queries)
        ],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    found: dict[str, Any] = {"unit": panel.unit, "min": 0, "mappings": _mappings(panel)}
    if panel.unit == "percentunit" and panel.shown == "bargauge":
        found["max"] = 1
    if panel.shown == "timeseries":
        found["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 25 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        }
    return found


def _mappings(panel: Panel) -> list[dict[str, Any]]:
    if not panel.words:
        return []
    words = {value: {"text": text, "index": n} for n, (value, text) in enumerate(panel.words)}
    return [{"type": "value", "options": words}]


def _options(panel: Panel) -> dict[str, Any]:
    last = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    if panel.shown == "timeseries":
        return {
            "legend": {
                "displayMode": "list",
                "placement": "bottom",
                "showLegend": True,
                "calcs": [],
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    if panel.shown == "stat":
        return {
            "reduceOptions": last,
            "colorMode": "value",
            "graphMode": "area",
            "textMode": "auto",
        }
    return {"reduceOptions": last, "orientation": "horizontal", "displayMode": "basic"}
