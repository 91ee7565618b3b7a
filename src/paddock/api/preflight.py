"""Before anything is taken: whether what is asked for at once is safe on this host (CAP-3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from paddock.core.policy import Policy
from paddock.core.run import RunSpec
from paddock.core.units import format_size


def at_once(specs: Sequence[RunSpec]) -> list[list[RunSpec]]:
    """Those that could run at the same time: level by level of their needs among themselves.

    A circle has no levels; the core refuses it, so it may stand anywhere here.
    """
    own = {spec.id: spec for spec in specs}
    left = {spec.id: {need for need in spec.needs if need in own} for spec in specs}
    levels: list[list[RunSpec]] = []
    needed_by = _needed_by(left)
    ready = [run for run, needs in left.items() if not needs]
    while ready:
        levels.append([own[run] for run in ready])
        after: list[str] = []
        for run in ready:
            for waiting in needed_by.get(run, ()):
                left[waiting].discard(run)
                if not left[waiting]:
                    after.append(waiting)
        ready = after
    return levels


def _needed_by(needs: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for run, needed in needs.items():
        for need in needed:
            found.setdefault(need, []).append(run)
    return found


def too_many(specs: Sequence[RunSpec], policy: Policy) -> tuple[str, frozenset[str]] | None:
    """The sentence about the largest level that cannot run at once, and who is in it."""
    if len(specs) < 2:
        return None  # one that can never fit is refused by the core
    levels = at_once(specs)
    worst = max(levels, key=lambda level: sum(s.limit_bytes for s in level), default=[])
    widest = max(levels, key=len, default=[])
    for level in (worst, widest):
        sentence = _sentence(level, policy)
        if sentence is not None:
            return sentence, frozenset(spec.id for spec in level)
    return None


def _sentence(level: Sequence[RunSpec], policy: Policy) -> str | None:
    sizes = sorted((spec.limit_bytes for spec in level), reverse=True)
    fitting = sum(1 for held in accumulate(sizes) if held <= policy.wall_bytes)
    bounds = (spec.bounds.agents for spec in level if spec.bounds is not None)
    safe = min(most for most in (fitting, policy.max_agents, *bounds) if most is not None)
    if len(level) < 2 or safe >= len(level):
        return None
    each = format_size(sizes[0]) if sizes[0] == sizes[-1] else f"up to {format_size(sizes[0])}"
    asked = f"{len(level):,} agents of {each} at once are asked for"
    kept = f"{format_size(policy.total_bytes)}, {format_size(policy.reserve_bytes)} of it kept"
    if safe == fitting:
        verb = "is" if safe == 1 else "are"
        return f"{asked}; {safe:,} {verb} safe on this host ({kept} for the host): {_WAIT}"
    rule = "performance.max_concurrent_agents or the profile; paddock config show says which"
    return f"{asked}; {safe:,} at once are allowed ({rule}): {_WAIT}"


_WAIT = "the others wait their turn"
