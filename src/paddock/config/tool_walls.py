"""Walls for single commands of an agent (ISO-9): `pytest`, or with a size or a lease of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .kinds import Size, Wrong, as_items, as_table
from .located import Scalar, Value, describe
from .mistakes import nearest, quoted

MOST_WALLS: Final = 100
_COMMAND: Final = re.compile(r"[\w.+*?\[\]-]{1,64}")
_LEASE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PROGRAM: Final = "a program's name, * and ? allowed"
_KEYS: Final = ("command", "memory", "lease")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWall:
    """Commands whose program matches `command` get a wall, a host-wide lease, or both.

    With neither said they get a wall: the usual share of their agent's.
    """

    command: str
    memory_bytes: int | None = None
    lease: str | None = None


@dataclass(frozen=True, slots=True)
class ToolWalls:
    memory: Size

    @property
    def allowed(self) -> str:
        return "a list of names such as pytest, or of {command: pytest, memory: 2G, lease: tests}"

    def read(self, value: Value) -> tuple[ToolWall, ...]:
        items = as_items(value, self.allowed)
        if len(items) > MOST_WALLS:
            raise Wrong(describe(value), f"{MOST_WALLS} tool walls at most")
        return tuple(self._wall(item) for item in items)

    def _wall(self, value: Value) -> ToolWall:
        if isinstance(value, Scalar):
            name = _name({"command": value}, "command", _COMMAND, _PROGRAM)
            assert name is not None
            return ToolWall(command=name)
        entries = as_table(value, self.allowed)
        for key in entries:
            if key not in _KEYS:
                near = nearest(key, _KEYS)
                raise Wrong(f"an unknown key {quoted(key)}", self.allowed, near=near, at=value.at)
        command = _name(entries, "command", _COMMAND, _PROGRAM)
        lease = _name(entries, "lease", _LEASE, "a lease's name of letters, digits, . _ -")
        size = self.memory.read(entries["memory"]) if "memory" in entries else None
        if command is None:
            raise Wrong("a tool wall without a command", self.allowed, at=value.at)
        return ToolWall(command=command, memory_bytes=size, lease=lease)

    def schema(self) -> dict[str, Any]:
        wall = {
            "type": "object",
            "additionalProperties": False,
            "required": ["command"],
            "properties": {
                "command": {"type": "string", "pattern": f"^{_COMMAND.pattern}$"},
                "memory": self.memory.schema(),
                "lease": {"type": "string", "pattern": f"^{_LEASE.pattern}$"},
            },
        }
        name = {"type": "string", "pattern": f"^{_COMMAND.pattern}$"}
        return {"type": "array", "maxItems": MOST_WALLS, "items": {"anyOf": [name, wall]}}

    def show(self, value: Any) -> str:
        return "[" + ", ".join(map(self._shown, value)) + "]"

    def _shown(self, wall: ToolWall) -> str:
        size = None if wall.memory_bytes is None else self.memory.show(wall.memory_bytes)
        facts = {"command": wall.command, "memory": size, "lease": wall.lease}
        return "{" + ", ".join(f"{k}: {v}" for k, v in facts.items() if v is not None) + "}"


def _name(
    entries: Mapping[str, Value], key: str, pattern: re.Pattern[str], allowed: str
) -> str | None:
    value = entries.get(key)
    if value is None:
        return None
    if isinstance(value, Scalar) and pattern.fullmatch(value.text):
        return value.text
    raise Wrong(f"{key} {describe(value)}", allowed, at=value.at)
