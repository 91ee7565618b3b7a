"""The ladder: how hard the host is pressed, in steps, and when a step is left again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from .events import Host
from .policy import LadderPolicy
from .run import Priority
from .units import format_size


class Rung(IntEnum):
    CALM = 0
    SKIP_LOW = 1  # heartbeats and low priority wait
    QUEUE = 2  # nothing starts
    PREEMPT = 3  # the lowest priority gives way
    EMERGENCY = 4  # kill until the relief target


@dataclass(frozen=True, slots=True)
class Ladder:
    rung: Rung = Rung.CALM
    because: str = ""
    lower_since_at: float | None = None  # when a lower step was first enough


@dataclass(frozen=True, slots=True)
class Round:
    """One round of relief. The next waits until its victims are gone, or it has lasted too long."""

    victims: tuple[str, ...]
    give_up_at: float
    kill: bool = False
    hold: bool = False  # bursts wait for each other


def climb(ladder: Ladder, host: Host, policy: LadderPolicy, *, at: float) -> Ladder:
    """Up at once; down only with a margin, and when it has lasted."""
    rung, because = _rung(host, policy, margin=0.0)
    if rung > ladder.rung:
        return Ladder(rung, because)
    easier, easier_because = _rung(host, policy, margin=policy.hysteresis)
    if easier >= ladder.rung:
        return Ladder(ladder.rung, because if rung == ladder.rung else easier_because)
    since_at = ladder.lower_since_at
    if since_at is None:
        return Ladder(ladder.rung, ladder.because, at)
    # Who waits to start is looked at by admission too: a burst that is over need not keep it.
    dwell_s = policy.dwell_s if ladder.rung >= Rung.PREEMPT else policy.start_dwell_s
    if at - since_at < dwell_s:
        return Ladder(ladder.rung, ladder.because, since_at)
    return Ladder(easier, easier_because)


def rung_of(host: Host, policy: LadderPolicy) -> Rung:
    """The step that this look alone asks for, whatever step is still held from before."""
    return _rung(host, policy, margin=0.0)[0]


def emergency_bytes(total_bytes: int, policy: LadderPolicy) -> int:
    """How much is still available when the last step is taken, by percent or by floor."""
    by_percent = int(total_bytes * (100.0 - policy.emergency) / 100.0)
    return max(by_percent, policy.emergency_free_bytes)


def waits_from(rung: Rung) -> Priority | None:
    """The priority from which on nobody starts at this step; None: everybody may who fits."""
    return Priority.LOW if rung >= Rung.SKIP_LOW else None


def steps_of(policy: LadderPolicy) -> tuple[tuple[Rung, float, int], ...]:
    """Each step with its percent and its floor, the highest first."""
    return (
        (Rung.EMERGENCY, policy.emergency, policy.emergency_free_bytes),
        (Rung.PREEMPT, policy.preempt, policy.preempt_free_bytes),
        (Rung.QUEUE, policy.queue, policy.queue_free_bytes),
        (Rung.SKIP_LOW, policy.skip_low, policy.skip_low_free_bytes),
    )


def has_eased(host: Host, policy: LadderPolicy) -> bool:
    """Whether this look alone would be enough to leave the preempt step."""
    return _rung(host, policy, margin=policy.hysteresis)[0] < Rung.PREEMPT


def _rung(host: Host, policy: LadderPolicy, *, margin: float) -> tuple[Rung, str]:
    if host.used_percent is None or host.available_bytes is None:
        # Fail closed: start nothing that cannot be weighed, and kill nobody blindly.
        return Rung.QUEUE, "the host's memory cannot be read"
    rung, because = _by_memory(host, policy, margin=margin)
    signal = _other_signal(host, policy)
    if signal and rung < Rung.QUEUE:
        return Rung.QUEUE, signal
    return rung, because


def _by_memory(host: Host, policy: LadderPolicy, *, margin: float) -> tuple[Rung, str]:
    assert host.used_percent is not None and host.available_bytes is not None
    slack_bytes = host.total_bytes * margin / 100
    for rung, percent, floor_bytes in steps_of(policy):
        if host.used_percent >= percent - margin:
            return rung, f"host memory at {host.used_percent:.0f} % (step at {percent:.0f} %)"
        if host.available_bytes <= floor_bytes + slack_bytes:
            free, floor = format_size(host.available_bytes), format_size(floor_bytes)
            return rung, f"only {free} of host memory free (floor {floor})"
    return Rung.CALM, ""


def _other_signal(host: Host, policy: LadderPolicy) -> str:
    if host.memory_stall_percent >= policy.stall_percent:
        return f"tasks stall on memory {host.memory_stall_percent:.0f} % of the time"
    if host.swap_percent > policy.swap_percent:
        return f"swap is {host.swap_percent:.0f} % full"
    if host.pageouts_rising:
        return "page-outs are rising"
    if host.slowdown > policy.slowdown:
        return f"runs take {host.slowdown:.1f} times as long as usual"
    return ""
