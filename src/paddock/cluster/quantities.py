"""Kubernetes quantities: `500m`, `8Gi`, `1e3`; read to plain numbers and written back."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_UNITS: Final = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", start=1)},
}
_SHAPE: Final = re.compile(r"([+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)(Ki|[numkMGTPE]i?|)")


class NoQuantity(ValueError):
    """A text that Kubernetes would not take for a quantity either."""


def number_of(text: str) -> Decimal:
    found = _SHAPE.fullmatch(text)
    if found is None or found[2] not in _UNITS:
        raise NoQuantity(f"{text!r} is no quantity; as in 500m, 2 or 8Gi")
    return Decimal(found[1]) * _UNITS[found[2]]


def bytes_of(text: str) -> int:
    return int(number_of(text))


def size_text(size_bytes: int) -> str:
    """The shortest exact way to write it."""
    for unit in ("Gi", "Mi", "Ki"):
        whole, rest = divmod(size_bytes, int(_UNITS[unit]))
        if whole and not rest:
            return f"{whole}{unit}"
    return str(size_bytes)


def cpu_text(cpus: float) -> str:
    return f"{int(cpus)}" if cpus == int(cpus) else f"{round(cpus * 1000)}m"
