"""The custom resource AgentRun: a run as an object of the cluster, with its schema. Data."""

from __future__ import annotations

from typing import Any, Final

from paddock.cluster.labels import GROUP

VERSION: Final = "v1"
PLURAL: Final = "agentruns"
# What a run of a fleet file may say that has a meaning in a cluster. The rest is of one host.
WORDS: Final = {
    "agent": "A preset, with a prompt, instead of a command.",
    "prompt": "What the agent is to do.",
    "role": "implementation, quality, testing or another: it decides the tier.",
    "model": "Given to the agent, and may decide the tier.",
    "group": "Runs that share a breaker.",
    "memory": "Its wall, as in 4G; else its tier's.",
    "timeout": "As in 30m, or none.",
    "soft_timeout": "As in 15m.",
    "complexity": "simple, medium or complex.",
}
STATES: Final = ("queued", "starting", "running", "stopping", "ended")


def crd() -> dict[str, Any]:
    columns = [
        ("State", ".status.state"),
        ("Outcome", ".status.outcome"),
        ("Attempt", ".status.attempt"),
        ("Priority", ".spec.priority"),
        ("Role", ".spec.role"),
        ("Because", ".status.because"),
        ("Age", ".metadata.creationTimestamp"),
    ]
    kinds = {"Attempt": "integer", "Age": "date"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": "AgentRun",
                "plural": PLURAL,
                "singular": "agentrun",
                "shortNames": ["arun"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": name, "type": kinds.get(name, "string"), "jsonPath": path}
                        for name, path in columns
                    ],
                    "schema": {"openAPIV3Schema": _schema()},
                }
            ],
        },
    }


def _schema() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["spec"],
        "properties": {"spec": _spec(), "status": _status()},
    }


def _spec() -> dict[str, Any]:
    words = {"type": "array", "maxItems": 4096, "items": {"type": "string"}}
    names = {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 253}}
    step = {
        "type": "object",
        "required": ["name", "command"],
        "properties": {"name": _text(), "command": words},
    }
    return {
        "type": "object",
        "properties": {
            **{name: _text(about) for name, about in WORDS.items()},
            "command": {**words, "description": "A program and its arguments."},
            "resume": {**words, "description": "Instead, after an attempt that was cut short."},
            "steps": {"type": "array", "maxItems": 1000, "items": step},
            "needs": {**names, "description": "AgentRuns that must have succeeded before."},
            "priority": {
                "type": "string",
                "enum": ["critical", "high", "normal", "low"],
                "default": "normal",
            },
            "retries": {"type": "integer", "minimum": 0, "maximum": 100},
            "cpu": {"type": "number", "minimum": 0.1, "maximum": 1024},
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "cancel": {"type": "boolean", "description": "True stops it for good."},
        },
    }


def _status() -> dict[str, Any]:
    number = {"type": "integer"}
    return {
        "type": "object",
        "properties": {
            "state": {"type": "string", "enum": list(STATES)},
            "outcome": {**_text(), "nullable": True},
            "because": _text(),
            "attempt": number,
            "exitCode": {**number, "nullable": True},
            "startedAt": {**_text(), "nullable": True},
            "endedAt": {**_text(), "nullable": True},
            "term": {**number, "description": "Of the leader that wrote this."},
            "record": _text("What the controller needs to go on with it; not for people."),
        },
    }


def _text(about: str = "") -> dict[str, Any]:
    return {"type": "string"} | ({"description": about} if about else {})
