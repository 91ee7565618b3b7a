"""What a command's stderr says when its wall stopped it: what happened, and what to try."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from paddock.core.units import format_size

from .counts import cores
from .kinds import BY_NAME, CPUS, EVERY_CORE, ONE, STARTS_OTHERS, Kind
from .running import End

_SHELLS: Final = ("sh", "bash", "dash", "zsh", "ksh", "ash")
WORDS_READ: Final = 200
_DIGITS: Final = 9  # of a number of workers, in which a point counts as one
# At the wall nobody knows how much more was wanted. A quarter more is the least that makes sense:
# fewer workers must come out of it.
LEAST_DEMAND: Final = 1.25


class Workers(NamedTuple):
    kind: Kind
    number: int | None  # None: as many as there is work (`make -j`)


def explain(end: End, argv: Sequence[str], env: Mapping[str, str]) -> str:
    """Two lines for an agent, or a person, that has only this to go by."""
    name = _shown(os.path.basename(argv[0]))  # noqa: PTH119
    workers = find_workers(argv, env, cpus=cores())
    whole = "" if end.code == 137 else "a process of "
    return (
        f"paddock: {whole}{name} was stopped at {_where(end)}{_crowd(end, workers)}; "
        f"try {suggestion(end, workers)}\n"
        f"paddock: only this command was stopped{_largest(end)}; everything else goes on\n"
    )


def as_object(end: End, argv: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    workers = find_workers(argv, env, cpus=cores())
    return {
        "command": list(argv),
        "exit_code": end.code,
        "stopped_at": end.stopped,
        "wall_bytes": end.limit_bytes,
        "agent_wall_bytes": end.around_bytes,
        "peak_bytes": end.peak_bytes,
        "workers": None if workers is None else workers.number,
        "try": suggestion(end, workers) if end.stopped else None,
    }


def _where(end: End) -> str:
    if end.stopped == "agent":
        around = format_size(end.around_bytes or 0)
        return f"its agent's memory wall: {around} for the agent and all its commands"
    limit = format_size(end.limit_bytes or 0)
    peak = limit if end.peak_bytes is None else format_size(end.peak_bytes)
    return f"its memory wall: peak {peak} of {limit}"


def _crowd(end: End, workers: Workers | None) -> str:
    if workers is not None and workers.number != 1:
        return f" with {workers.number or 'unlimited'} workers"
    return f" with {end.processes} processes" if end.processes > 1 else ""


def _largest(end: End) -> str:
    if end.largest is None or not end.largest[1]:
        return ""
    size_bytes, command = end.largest
    return f" (its largest process: {format_size(size_bytes)}, {_shown(command)})"


def _shown(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:100]


# -- what to try --------------------------------------------------------------------------------


def suggestion(end: End, workers: Workers | None) -> str:
    limit_bytes = (end.around_bytes if end.stopped == "agent" else end.limit_bytes) or 0
    if workers is not None and workers.number != 1:
        number = fewer(workers, limit_bytes=limit_bytes, end=end)
        return workers.kind.advice.format(number)
    around_bytes = end.around_bytes or 0
    if end.stopped == "own" and limit_bytes < 0.85 * around_bytes:
        return "a part of the work at a time, or a larger wall: paddock tool --memory 90% -- …"
    return "a part of the work at a time, or ask for a run with more memory"


def fewer(workers: Workers, *, limit_bytes: int, end: End) -> int:
    """So many of them as would fit, at what one usually takes or was seen to take."""
    each_bytes = max(workers.kind.each_bytes, end.largest[0] if end.largest else 0)
    started = workers.number or max(2, end.processes)
    demand_bytes = max(started * each_bytes, LEAST_DEMAND * limit_bytes)
    return min(max(1, int(started * limit_bytes / demand_bytes)), max(1, started - 1))


# -- how many there were ------------------------------------------------------------------------


def find_workers(argv: Sequence[str], env: Mapping[str, str], *, cpus: int) -> Workers | None:
    """By the command line, then the environment, then what the tool does by itself."""
    words = list(_words(argv))
    found = None
    for at, word in enumerate(words):
        kind = BY_NAME.get(os.path.basename(word))  # noqa: PTH119
        if kind is not None:
            found = _workers(kind, words[at + 1 :], env, cpus)
            if kind.names[0] not in STARTS_OTHERS:
                break
    return found


def _words(argv: Sequence[str]) -> Iterator[str]:
    """`sh -c 'cargo test -j 8'` as its words, so that it is read like `cargo test -j 8`."""
    in_shell = os.path.basename(argv[0]) in _SHELLS  # noqa: PTH119
    for word in argv[:WORDS_READ]:
        if in_shell and " " in word:
            try:
                yield from shlex.split(word)[:WORDS_READ]
            except ValueError:
                yield from word.split()[:WORDS_READ]
        else:
            yield word


def _workers(kind: Kind, words: Sequence[str], env: Mapping[str, str], cpus: int) -> Workers:
    said = _in_words(kind, words, cpus, env)
    if said is None:
        said = _in_environment(kind, env, cpus)
    if said is None:
        said = {CPUS: cpus, ONE: 1}[kind.default]
    return Workers(kind, said or None)


def _in_words(
    kind: Kind, words: Sequence[str], cpus: int, env: Mapping[str, str] | None = None
) -> int | None:
    """0 for a flag that says `as many as there are`; None if nothing is said."""
    found = None
    for at, word in enumerate(words):
        if word in kind.alone:
            found = 1
        value = _value(kind.flags, word, words[at + 1] if at + 1 < len(words) else "")
        if value is not None:
            number = _number(value, cpus, env or {})
            found = 0 if number is None else number
    return found


def _value(flags: Sequence[str], word: str, following: str) -> str | None:
    for flag in flags:
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word[len(flag) + 1 :]
        short = len(flag) == 2
        if short and word.startswith(flag) and _is_count(word[2:]):
            return word[2:]
    return None


def _is_count(text: str) -> bool:
    return text[:1].isdigit() or text in EVERY_CORE


def _number(text: str, cpus: int, env: Mapping[str, str]) -> int | None:
    """`4`, `auto`, `50%`, `1C` (Maven: for each core). None: there is no number."""
    if text in EVERY_CORE:
        told = env.get("PYTEST_XDIST_AUTO_NUM_WORKERS", "")
        return _whole(told) or cpus
    digits = text.rstrip("%C")
    if not (digits.isascii() and digits.replace(".", "", 1).isdigit()) or len(digits) > _DIGITS:
        return None
    amount = float(digits)
    if text.endswith("%"):
        return max(1, int(cpus * amount / 100))
    return max(1, int(amount * cpus if text.endswith("C") else amount))


def _whole(text: str) -> int:
    """0 for what is no number, or one of more workers than anybody means."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else 0


def _in_environment(kind: Kind, env: Mapping[str, str], cpus: int) -> int | None:
    for name in kind.variables:
        text = env.get(name, "").strip()
        if text.isascii() and text.isdigit():
            return _whole(text) or None
        said = _in_words(kind, text.split(), cpus, env) if text else None
        if said is not None:
            return said
    return None
