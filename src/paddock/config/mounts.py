"""What of the host containers see besides their workspace: `SRC[:DST][:ro]`, as docker has it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from .kinds import Wrong, as_items
from .located import Scalar, Value, describe

MOST_MOUNTS: Final = 100
_MODES: Final = {"": False, "ro": True, "rw": False}
_MOUNT: Final = re.compile(r"(/[^:\0]*)(?::(/[^:\0]*))?(?::(ro|rw))?")
# What an engine puts there itself, and what would take the place of all the rest.
_TAKEN: Final = ("/", "/proc", "/sys", "/dev", "/tmp")


class HostMount(NamedTuple):
    source: str
    target: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Mounts:
    allowed = "a list of SRC[:DST][:ro], absolute paths, such as /opt/models:/models:ro"

    def read(self, value: Value) -> tuple[HostMount, ...]:
        items = as_items(value, self.allowed)
        if len(items) > MOST_MOUNTS:
            raise Wrong(describe(value), f"{MOST_MOUNTS} mounts at most")
        found: dict[str, HostMount] = {}
        for item in items:
            mount = self._mount(item)
            if mount.target in found:
                raise Wrong(f"{mount.target} twice", "each place inside once", at=item.at)
            found[mount.target] = mount
        return tuple(found.values())

    def _mount(self, value: Value) -> HostMount:
        match = _MOUNT.fullmatch(value.text) if isinstance(value, Scalar) else None
        if match is None:
            raise Wrong(describe(value), self.allowed, at=value.at)
        source, target = _plain(match[1]), _plain(match[2] or match[1])
        if ".." in (*source.split("/"), *target.split("/")):
            raise Wrong(describe(value), "paths without ..", at=value.at)
        if target in _TAKEN:
            allowed = f"a place inside other than {', '.join(_TAKEN)}"
            raise Wrong(describe(value), allowed, at=value.at)
        return HostMount(source, target, _MODES[match[3] or ""])

    def schema(self) -> dict[str, Any]:
        mount = {"type": "string", "pattern": r"^/[^:]*(:/[^:]*)?(:(ro|rw))?$"}
        return {"type": "array", "maxItems": MOST_MOUNTS, "items": mount}

    def show(self, value: Any) -> str:
        return "[" + ", ".join(map(_shown, value)) + "]"


def _plain(path: str) -> str:
    return path.rstrip("/") or "/"


def _shown(mount: HostMount) -> str:
    return f"{mount.source}:{mount.target}{':ro' if mount.read_only else ''}"
