"""From settings to what the core and a run need: the policy of a host, the defaults of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from paddock.core.capacity import nominal_total
from paddock.core.policy import (
    Admission,
    BreakerPolicy,
    LadderPolicy,
    Policy,
    SizingPolicy,
    TimeoutPolicy,
)
from paddock.core.units import format_size

from . import settings as s
from .at_once import agents_at_once, cap_in_words, notes_on_agents, reserve_bytes
from .kinds import Share
from .project_bounds import unheeded
from .settings import Settings
from .tool_walls import ToolWall

# Megabytes of the config file are memory's, as all sizes here.
_MB: Final = 1024 * 1024
_USUAL_HIGH: Final = Share(75)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDefaults:
    """What a run gets when it says nothing."""

    limit_bytes: int
    stream_limit_bytes: int  # of a run with steps that stream to each other
    memory_high: int | Share
    soft_limit_bytes: int
    cpu_limit: float | None  # None: unlimited
    pids_limit: int
    driver: str
    soft_timeout_s: float | None  # None: half of the hard one
    image: str | None
    tool_walls: tuple[ToolWall, ...]
    tool_share: float
    max_repo_bytes: int
    log_buffer_bytes: int
    log_rotation_bytes: int
    log_files_kept: int
    full_log: bool

    def high_bytes(self, limit_bytes: int) -> int:
        """Where throttling begins for this limit; always below it."""
        return high_bytes(self.memory_high, limit_bytes)


def high_bytes(high: int | Share, limit_bytes: int) -> int:
    if isinstance(high, Share):
        return high.of(limit_bytes)
    # A size that was set for larger runs says nothing about a smaller one.
    return high if high < limit_bytes else _USUAL_HIGH.of(limit_bytes)


def to_policy(settings: Settings, total_bytes: int) -> Policy:
    """The policy of a host of which `total_bytes` were measured.

    The safe number (CAP-1) is for agents of the default size. With `admission: guaranteed` it is a
    cap too. With `learned` it is not: smaller agents, and those known to be smaller, share what it
    would leave idle (CAP-5), and admission's two sums keep them within the fleet's wall.
    """
    at_once = agents_at_once(settings, total_bytes)
    admission = Admission(settings[s.ADMISSION])
    guaranteed = admission is Admission.GUARANTEED
    said = cap_in_words(settings, at_once, guaranteed=guaranteed)
    return Policy(
        total_bytes=nominal_total(total_bytes),
        reserve_bytes=reserve_bytes(settings, total_bytes),
        admission=admission,
        max_agents=at_once.effective if guaranteed else at_once.configured,
        max_agents_by=said.by,
        more_agents_by=said.more,
        queue_depth=settings[s.QUEUE_DEPTH],
        min_run_s=settings[s.MIN_RUN],
        max_preemptions=settings[s.MAX_PREEMPTIONS],
        free_floor_bytes=settings[s.FREE_FLOOR],
        ladder=_ladder(settings),
        breaker=BreakerPolicy(
            failures=settings[s.BREAKER_FAILURES], window_s=settings[s.BREAKER_WINDOW]
        ),
        sizing=SizingPolicy(touches_per_hour=settings[s.TOUCHES]),
        timeouts=TimeoutPolicy(simple_s=settings[s.AGENT_TIMEOUT]),
    )


def _ladder(settings: Settings) -> LadderPolicy:
    floor = settings[s.FREE_FLOOR]
    return LadderPolicy(
        skip_low=settings[s.SKIP_LOW],
        queue=settings[s.LADDER_QUEUE],
        preempt=settings[s.PREEMPT],
        emergency=settings[s.EMERGENCY],
        relief_target=settings[s.RELIEF_TARGET],
        skip_low_free_bytes=floor * 5 // 4,
        queue_free_bytes=floor,
        preempt_free_bytes=floor * 3 // 4,
        emergency_free_bytes=floor * 3 // 8,
    )


def run_defaults(settings: Settings, total_bytes: int) -> RunDefaults:
    """The limit is what fits this host, where the usual one does not."""
    # What the core would admit, not only what the wall holds: a run that asked for nothing must
    # not be refused for what it never asked.
    largest = to_policy(settings, total_bytes).largest_bytes
    limit = min(settings[s.MEMORY_LIMIT], largest)
    # Who makes agents smaller does not ask for larger streams; who sets this one, does.
    said = settings.where(s.STREAM_MEMORY_LIMIT).source != s.BUILT_IN
    return RunDefaults(
        limit_bytes=limit,
        stream_limit_bytes=min(settings[s.STREAM_MEMORY_LIMIT], largest if said else limit),
        memory_high=settings[s.MEMORY_HIGH],
        soft_limit_bytes=min(settings[s.SOFT_MEMORY_LIMIT], limit),
        cpu_limit=settings[s.CPU_LIMIT],
        pids_limit=settings[s.PIDS_LIMIT],
        driver=settings[s.SANDBOX_DRIVER],
        soft_timeout_s=settings[s.SOFT_TIMEOUT],
        image=settings[s.CONTAINER_IMAGE],
        tool_walls=settings[s.TOOL_WALLS],
        tool_share=settings[s.TOOL_SHARE],
        max_repo_bytes=settings[s.MAX_REPO_SIZE] * _MB,
        log_buffer_bytes=settings[s.LOG_BUFFER] * _MB,
        log_rotation_bytes=settings[s.LOG_ROTATION] * _MB,
        log_files_kept=settings[s.LOG_FILES],
        full_log=settings[s.FULL_LOG],
    )


def notes(settings: Settings, total_bytes: int) -> Iterator[str]:
    """What is legal and still not what was asked for: a cap that bites, a limit that cannot fit."""
    yield from unheeded(settings)
    yield from notes_on_agents(settings, agents_at_once(settings, total_bytes))
    limit = run_defaults(settings, total_bytes).limit_bytes
    if limit < settings[s.MEMORY_LIMIT]:
        yield (
            f"runs that say nothing get {format_size(limit)}: the "
            f"{s.MEMORY_LIMIT.kind.show(settings[s.MEMORY_LIMIT])} of "
            f"{s.MEMORY_LIMIT.key} would not fit this host"
        )
