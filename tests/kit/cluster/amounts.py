"""Quantities, and how the server says no."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from paddock.cluster.quantities import cpu_text, size_text
from tests.kit.cluster.objects import Kind, Object, Refusal

_UNITS: dict[str, Any] = {"m": Decimal("0.001"), "k": 1000, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "": 1}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti)?")


def quantity(text: str | float) -> Decimal:
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise Refusal(400, "BadRequest", f"quantities must match the regular expression: {text!r}")
    return Decimal(match[1]) * Decimal(_UNITS[match[2] or ""])


def text_of(resource: str, value: Decimal) -> str:
    """As the server writes it: bytes with their unit."""
    if resource.rpartition(".")[2] in ("memory", "storage", "ephemeral-storage"):
        return size_text(int(value))
    return cpu_text(float(value))


def written(values: dict[str, Decimal], names: list[str]) -> str:
    return ",".join(f"{one}={text_of(one, values[one])}" for one in sorted(names))


def invalid(kind: Kind, name: str, why: str) -> Refusal:
    return Refusal(422, "Invalid", f'{kind.kind} "{name}" is invalid: {why}')


def forbidden(kind: Kind, wanted: Object, why: str) -> Refusal:
    name = wanted["metadata"].get("name", "")
    return Refusal(403, "Forbidden", f'{kind.full_name} "{name}" is forbidden: {why}')
