"""What `paddock bench find` starts from, and what it leaves in the configuration."""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING, Final

from paddock.core.units import format_size

from .exits import CommandError, ExitCode
from .group_names import readable
from .here import settings_of_host
from .printing import note, safe

if TYPE_CHECKING:
    from pathlib import Path

    from paddock.bench.find import Asked, Found
    from paddock.simulate.trace import Trace
    from paddock.wire.views import LearnedView

TRACES: Final = 40  # different lives
FEWEST: Final = 10  # attempts of a group whose history counts
_MIB: Final = 1 << 20


def wall_of(within: int | None) -> tuple[int, int]:
    """The host's memory, and what of it agents may have."""
    from paddock.config.at_once import reserve_bytes
    from paddock.core.capacity import host_reserve, nominal_total
    from paddock.host.memory import read_memory

    memory = read_memory()
    if within is None:
        total = memory.total_bytes
        return total, total - reserve_bytes(settings_of_host(), total)
    free = memory.available_bytes or memory.total_bytes
    wall = within - host_reserve(nominal_total(within))
    if wall > free:
        text = f"agents on {format_size(within)} may have {format_size(wall)}, and only "
        raise CommandError(f"{text}{format_size(free)} are free here", ExitCode.REFUSED)
    return within, wall


def chosen(
    shape: str | None, group: str | None, *, from_history: bool, seed: int
) -> tuple[str, tuple[Trace, ...]]:
    """What agents are like: in a word, and as lives."""
    if shape is not None and from_history:
        raise CommandError("--shape and --from-history each say what agents are like: say one")
    if group is not None and not from_history:
        raise CommandError("--group chooses from what was learned: say --from-history as well")
    if from_history:
        return group or "history", history(group, seed=seed)
    return shape or "bursty", shaped(shape or "bursty", seed=seed)


def shaped(name: str, *, seed: int) -> tuple[Trace, ...]:
    from paddock.bench.traces import shape

    return tuple(shape(name, seed=seed, many=TRACES))


def history(group: str | None, *, seed: int) -> tuple[Trace, ...]:
    """Lives drawn from how long your own runs used which size."""
    from paddock.bench.traces import of_levels

    known = [view for view in _learned() if view.attempts >= FEWEST and view.histogram]
    chosen = [view for view in known if group in (None, view.group)]
    if not chosen:
        names = ", ".join(readable(view.group, view.last_run) for view in known[:5]) or "none yet"
        about = "no group" if group is None else f"no group {group!r}"
        raise CommandError(
            f"there is {about} with {FEWEST} attempts or more to learn from (those with: {names}); "
            "`paddock memory --learned` shows what is known",
            ExitCode.NOT_FOUND,
        )
    random = Random(seed)
    weights = [view.attempts for view in chosen]
    drawn = random.choices(chosen, weights=weights, k=TRACES)
    return tuple(of_levels(view.histogram, random) for view in drawn)


def _learned() -> tuple[LearnedView, ...]:
    from .connecting import connected

    with connected() as client:
        return tuple(client.learned())


def write_found(asked: Asked, found: Found, *, of: str, kept: Path) -> None:
    """Only what was found on this very host: one that was made smaller says nothing of it."""
    from paddock.bench.find import said
    from paddock.config.layers import user_file
    from paddock.config.writing import NotWritten, write_values
    from paddock.host.memory import read_memory

    if not found.agents:
        raise CommandError("nothing is written: no agent fits", ExitCode.REFUSED)
    if asked.total_bytes != read_memory().total_bytes:
        raise CommandError(
            "nothing is written: --within is another host than this", ExitCode.REFUSED
        )
    values = {
        "sandbox.memory_limit": f"{found.memory_limit_bytes // _MIB}M",
        "sandbox.host_memory_reserve": f"{(asked.total_bytes - asked.wall_bytes) // _MIB}M",
        "performance.max_concurrent_agents": str(found.agents),
    }
    path = user_file()
    day, held = time.strftime("%Y-%m-%d"), said(asked, found)[0]
    why = f"{day}, agents as in {of}: {held}; report: {kept.absolute()}"
    try:
        write_values(path, values, by="paddock bench find", why=safe(why))
    except NotWritten as error:
        raise CommandError(f"{error}; nothing was changed", ExitCode.REFUSED) from None
    for key, value in values.items():
        note(f"{path}: {key}: {value}")
    note(f"{path}: its first line says what that was found by")
