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
_SHAPE: Final = re.compile(
    r"([+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40}))"
    r"(?:[eE]([+-]?[0-9]{1,20})|([numkKMGTPE]i?)|)"
)
# Kubernetes holds no more than this, and nothing finer than a billionth: it cuts what is. Without
# that `1e999999999` would be written out, digit by digit.
LARGEST: Final = Decimal((1 << 63) - 1)
_LARGEST_POWER, _FINEST_POWER = 90, -90


class NoQuantity(ValueError):
    """A text that Kubernetes would not take for a quantity either."""


def number_of(text: str) -> Decimal:
    found = _SHAPE.fullmatch(text)
    if found is None or (found[3] or "") not in _UNITS:
        raise NoQuantity(f"{text[:40]!r} is no quantity; as in 500m, 2 or 8Gi")
    power = max(_FINEST_POWER, min(int(found[2] or 0), _LARGEST_POWER))
    number = Decimal(found[1]).scaleb(power) * _UNITS[found[3] or ""]
    return max(-LARGEST, min(number, LARGEST))


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
