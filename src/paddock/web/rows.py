"""Runs as the table of agents and the page of one show them: words and shares, no markup."""

from __future__ import annotations

import re
import time
from typing import Any, Final

from paddock.client.faces import format_duration, format_size, safe, views

LONGEST_SENTENCE: Final = 300
# Which colour a state or an outcome has; the words are always there too.
TONES: Final = {
    "running": "good",
    "starting": "busy",
    "stopping": "warn",
    "queued": "wait",
    "succeeded": "good",
    "cancelled": "quiet",
    "skipped": "quiet",
    "preempted": "warn",
    "frozen": "cold",
}
SHORT: Final = {
    "memory_limit_exceeded": "memory limit",
    "timeout_exceeded": "timeout",
    "spawn_failed": "did not start",
}

_HOW_LONG: Final = re.compile(r"^(?:running|starting) for [\w. ]+(?:[,;] )?")


def state_of(run: views.RunView) -> str:
    """One word: how it ended, or what it does."""
    if run.outcome:
        return run.outcome
    return "frozen" if run.frozen else run.state


def shown(word: str) -> str:
    return SHORT.get(word, word.replace("_", " "))


def tone_of(word: str) -> str:
    return TONES.get(word, "bad")


def share_of(run: views.RunView) -> float | None:
    """Of its wall, from 0 to 1."""
    if run.memory_bytes is None or not run.limit_bytes:
        return None
    return min(1.0, run.memory_bytes / run.limit_bytes)


def age_of(run: views.RunView, now: float | None = None) -> str:
    if run.since_at is None:
        return ""
    return format_duration(max(0.0, round((now or time.time()) - run.since_at)))


def row_of(run: views.RunView, *, cpu: float | None, now: float) -> dict[str, Any]:
    """What one line of the table needs, and nothing more: 300 of them go out every second."""
    word, share = state_of(run), share_of(run)
    memory = run.memory_bytes if run.memory_bytes is not None else run.peak_bytes
    return {
        "id": run.id,
        "name": safe(run.name),
        "state": shown(word),
        "tone": tone_of(word),
        "phase": phase_of(run),
        "bytes": memory or 0,
        "memory": "" if memory is None else format_size(memory),
        "limit": format_size(run.limit_bytes),
        "percent": None if share is None else round(share * 100, 1),
        "cpu": None if cpu is None else round(cpu * 100),
        "priority": run.priority,
        "age": age_of(run, now),
        "since": run.since_at or 0,
        "group": safe(run.group),
        "why": safe(why_of(run))[:LONGEST_SENTENCE],
    }


def phase_of(run: views.RunView) -> str:
    """By which the table is narrowed: at work, waiting, ended."""
    return {"queued": "waiting", "ended": "ended"}.get(run.state, "work")


def sentence_of(run: views.RunView) -> str:
    return run.waits_for or run.sentence


def why_of(run: views.RunView) -> str:
    """As the sentence, without how long it runs: beside it is a column for that."""
    return _HOW_LONG.sub("", sentence_of(run))


def clock_time(at: float | None) -> str:
    if at is None:
        return "–"
    moment = time.localtime(at)
    today = time.localtime()
    same_day = moment[:3] == today[:3]
    return time.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S", moment)
