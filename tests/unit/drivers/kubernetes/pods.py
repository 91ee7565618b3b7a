"""Pods and Jobs as a cluster writes them, each in a line: one for every way to end."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
MARK = "0123456789abcdef"
LIMIT = 16 << 30


def a_pod(phase: str = "Running", *, state: Object | None = None, **status: Any) -> Object:
    """`state` is that of the agent's container; `reason` and the rest the pod's own."""
    found: Object = {"phase": phase, **status}
    if state is not None:
        found["containerStatuses"] = [
            {"name": "sidecar", "state": {"running": {}}},
            {"name": "agent", "state": state},
        ]
    return {"metadata": {"name": "pd-1-a-1-x", "uid": "u-1"}, "spec": {}, "status": found}


def ended(code: int, reason: str = "Error", **more: Any) -> Object:
    return {"terminated": {"exitCode": code, "reason": reason, **more}}


def waiting(reason: str, message: str = "") -> Object:
    return {"waiting": {"reason": reason, "message": message}}


def disruption(reason: str, message: str = "told so") -> list[Object]:
    known = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
    return [{"type": "Ready", "status": "False"}, known]


def a_job(kind: str | None = None, reason: str = "", message: str = "") -> Object:
    conditions = []
    if kind is not None:
        told = {"type": kind, "status": "True", "reason": reason, "message": message}
        conditions.append(told)
    return {"metadata": {"name": "pd-1-a-1"}, "status": {"conditions": conditions}}
