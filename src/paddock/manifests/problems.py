"""What is wrong with manifests: where, what, and what to do instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from .objects import Object

Rule = Callable[[Sequence[Object]], "list[Problem]"]
_RULES: Final[dict[str, Rule]] = {}


@dataclass(frozen=True, slots=True)
class Problem:
    rule: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} ({self.rule})"


def rule(name: str) -> Callable[[Rule], Rule]:
    """Puts a function into the table of rules, by the name that problems carry."""

    def put(check: Rule) -> Rule:
        _RULES[name] = check
        return check

    return put


def rules() -> dict[str, Rule]:
    from . import rules_of_limits, rules_of_scaling, rules_of_watching  # noqa: F401 - fill it

    return dict(_RULES)


def where(one: Object) -> str:
    metadata = one.get("metadata") or {}
    space = metadata.get("namespace")
    name = metadata.get("name", "?")
    return f"{one.get('kind', '?')} {space}/{name}" if space else f"{one.get('kind', '?')} {name}"


def of_kind(objects: Sequence[Object], *kinds: str) -> list[Object]:
    return [one for one in objects if one.get("kind") in kinds]


def space_of(one: Object) -> str | None:
    found: str | None = (one.get("metadata") or {}).get("namespace")
    return found
