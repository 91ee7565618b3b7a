"""What a stage is: its steps, how each takes its input, and how much may wait between two."""

# ruff: noqa: PTH123
from __future__ import annotations

import json
import os

from . import STAGE
from .ends import BAD_STAGE, Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CHUNK_BYTES = 50 << 20
QUEUED = 10
GRACE_S = 5.0
LINGER_S = 1.0
CROWD = 10
BY_STREAM, BY_CHUNK = "stream", "chunk"
REPLAY, SEEK = "replay", "seek"
BYTES, LINES = "bytes", "lines"
STEP_KEYS = {
    "each": (BY_STREAM, BY_CHUNK),  # how it takes its input
    "cut": (BYTES, LINES),  # where its input may be cut into chunks
    "resume": (REPLAY, SEEK),  # how it goes on after a kill
}


class Step:
    __slots__ = ("command", "cut", "each", "name", "resume")

    def __init__(self, name: str, command: list[str], ways: Mapping[str, str]) -> None:
        self.name = name
        self.command = command
        self.each = ways["each"]
        self.cut = ways["cut"]
        self.resume = ways["resume"]


class Stage:
    """`chunk_bytes` and `queued` bound what waits on disk between two steps."""

    __slots__ = ("chunk_bytes", "grace_s", "linger_s", "queued", "steps")

    def __init__(self, steps: list[Step], numbers: Mapping[str, float]) -> None:
        self.steps = steps
        self.chunk_bytes = int(numbers["chunk_bytes"])
        self.queued = int(numbers["queued"])
        self.grace_s = numbers["grace_s"]
        self.linger_s = numbers["linger_s"]

    def is_full(self, kept_bytes: int) -> bool:
        """Another chunk would be more than what so many full ones hold."""
        return kept_bytes > (self.queued - 1) * self.chunk_bytes

    def is_crowded(self, chunks: int) -> bool:
        """So many small ones that no more are made of what trickles in."""
        return chunks >= CROWD * self.queued


def read_stage(words: list[str], environment: Mapping[str, str]) -> Stage:
    """From the file that is named, or from the environment."""
    if len(words) > 1:
        raise _bad(f"one file at most, and not {len(words)}")
    if not words and STAGE not in environment:
        raise _bad(f"name a file, or set {STAGE}")
    try:
        if words:
            with open(words[0], encoding="utf-8") as file:
                text = file.read()
        else:
            text = environment[STAGE]
        found = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise _bad(str(error)) from None
    return parse(found)


def parse(found: Any) -> Stage:
    if not isinstance(found, dict):
        raise _bad("it is one JSON object with `steps`")
    given = dict(found)
    steps = given.pop("steps", None)
    if not isinstance(steps, list) or not steps:
        raise _bad("`steps` is a list of at least one step")
    numbers = {
        "chunk_bytes": _number(given, "chunk_bytes", CHUNK_BYTES, least=1, whole=True),
        "queued": _number(given, "queued", QUEUED, least=1, whole=True),
        "grace_s": _number(given, "grace_s", GRACE_S, least=0),
        "linger_s": _number(given, "linger_s", LINGER_S, least=0),
    }
    if given:
        raise _bad(f"unknown: {', '.join(sorted(given))}")
    stage = Stage([_step(step, number) for number, step in enumerate(steps)], numbers)
    _check(stage)
    return stage


def _number(
    given: dict[str, Any], key: str, usual: float, *, least: float, whole: bool = False
) -> float:
    value = given.pop(key, usual)
    fits = isinstance(value, int) or (isinstance(value, float) and not whole)
    if not fits or isinstance(value, bool) or not least <= value < 1 << 50:
        kind = "a whole number" if whole else "a number"
        raise _bad(f"`{key}` is {value!r}; it must be {kind} of at least {least}")
    return float(value) if not whole else int(value)


def _step(found: Any, number: int) -> Step:
    if not isinstance(found, dict):
        raise _bad(f"step {number + 1} must be an object with `name` and `command`")
    given = dict(found)
    name, command = given.pop("name", None), given.pop("command", None)
    if not isinstance(name, str) or not name or not name.isprintable():
        raise _bad(f"step {number + 1} has no `name`")
    if not isinstance(command, list) or not command or not all(map(_is_word, command)):
        raise _bad(f"step {name}: `command` must be a list of words")
    ways = {}
    for key, allowed in STEP_KEYS.items():
        ways[key] = given.pop(key, allowed[0])
        if ways[key] not in allowed:
            raise _bad(f"step {name}: `{key}` is {ways[key]!r}; it can be {' or '.join(allowed)}")
    if given:
        raise _bad(f"step {name}: unknown: {', '.join(sorted(given))}")
    return Step(name, command, ways)


def _is_word(value: object) -> bool:
    """Such as a program can be given: JSON can write half a sign, and no system call takes it."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def _check(stage: Stage) -> None:
    first, *others = stage.steps
    if len({step.name for step in stage.steps}) < len(stage.steps):
        raise _bad("two steps have the same name")
    if first.each == BY_CHUNK:
        raise _bad(f"step {first.name} is the first: it has no input that could come by chunks")
    for step in others:
        if step.resume == SEEK:
            raise _bad(
                f"step {step.name}: only the first step can `seek`; the others go on "
                "at what they acknowledged"
            )
    for step in stage.steps:
        if step.cut == LINES and step.each != BY_CHUNK:
            raise _bad(f"step {step.name}: `cut: lines` is for steps with `each: chunk`")


def spool_of(environment: Mapping[str, str]) -> str:
    directory = environment.get("PADDOCK_CHECKPOINT_DIR", "")
    if not os.path.isabs(directory):  # noqa: PTH117
        raise _bad("PADDOCK_CHECKPOINT_DIR must name a directory that outlives the attempt")
    number = environment.get("PADDOCK_STEP_NUMBER", "")  # a run may have several stages
    return f"{directory}/stream-{number}" if number.isdecimal() else f"{directory}/stream"


def _bad(text: str) -> Trouble:
    return Trouble(BAD_STAGE, f"this stage cannot be run: {text}")
