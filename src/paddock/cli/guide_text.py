"""The agents' guide: what an agent should know, in words, with the limits that are in force.

Only what is really held is stated: a limit that nobody holds teaches agents to believe none. The
text is in `agent_guide.md`, beside this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import TextWrapper
from typing import Final

from paddock.core.units import format_duration, format_size

TEXT: Final = Path(__file__).with_name("agent_guide.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """None or empty: not held, or not known."""

    whose: str  # as part of a sentence
    memory_bytes: int
    walled: bool  # by the kernel; else paddock looks, and stops who is over
    no_swap: bool = False
    high_bytes: int | None = None  # where the kernel begins to slow a program down
    pids: int | None = None
    cpus: float | None = None
    soft_s: float | None = None
    hard_s: float | None = None
    tools: tuple[str, ...] = ()  # commands with walls of their own


def guide(limits: Limits) -> str:
    """Markdown, to be put into an agent's instructions."""
    wrapper = TextWrapper(100, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    held = "\n".join(map(wrapper.fill, in_force(limits)))
    text = TEXT.read_text(encoding="utf-8")
    return text.format(whose=limits.whose, held=held, near=_near(limits))


def _near(limits: Limits) -> str:
    """As `paddock.agent` has it: 80 % of the limit, or shortly before the kernel's throttle."""
    near = int(limits.memory_bytes * 0.8)
    if limits.high_bytes is None or limits.high_bytes * 0.95 > near:
        return f"{format_size(near)} (80 %)"
    return format_size(int(limits.high_bytes * 0.95))


def in_force(limits: Limits) -> Iterator[str]:
    yield _memory(limits)
    if limits.high_bytes is not None:
        yield (
            f"From {format_size(limits.high_bytes)} on the kernel slows you down, until you all "
            "but stand still."
        )
    if limits.pids is not None:
        yield f"{limits.pids} processes and threads."
    cores = "all of them, shared fairly" if limits.cpus is None else f"{limits.cpus:g} at most"
    yield f"Cores: {cores}. Disk: no limit but what is free."
    if limits.hard_s is not None:
        yield from _time(limits, limits.hard_s)
    if limits.tools:
        yield (
            f"{', '.join(limits.tools)}: each in a wall of its own. At it the command ends alone "
            "(exit code 137), and says why on stderr."
        )


def _memory(limits: Limits) -> str:
    size = format_size(limits.memory_bytes)
    if limits.walled:
        swap = " There is no swap." if limits.no_swap else ""
        return (
            f"Memory: {size}, for you and all that you start together. Above it the kernel kills "
            f"one of your processes, or you.{swap}"
        )
    return (
        f"Memory: {size}, for you and all that you start together. Nothing holds you there, but "
        "whoever uses more is stopped within seconds."
    )


def _time(limits: Limits, hard_s: float) -> Iterator[str]:
    text = f"Time: {format_duration(hard_s)}, more where runs like this one have needed more; then"
    yield f"{text} SIGTERM, and 5 s later SIGKILL."
    if limits.soft_s is not None:
        yield f"After {format_duration(limits.soft_s)} you are told that time is short (SIGUSR1)."
