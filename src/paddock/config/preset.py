"""Presets: how an agent program is started, gone on with, and understood. Data; starts nothing.

Those that ship are in presets.yaml, a user's own in `agents:`; both are read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

GIVEN: Final = "given"  # paddock makes the session's id, and says it
LONGEST_WORD: Final = 131_071  # what the kernel takes as one argument, without its zero byte
AGAIN: Final = (
    "You were cut off in the middle of your work. Look at what is already done, "
    "then go on with it to its end."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Something in the last lines of a failed attempt's output, or the code that it ended with."""

    pattern: str = ""
    exit: tuple[int, ...] = ()  # empty: any but 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Words are templates: `{prompt}`, `{again}`, `{session}` may be part of one; `{model}` and
    `{arguments}` are a word of their own, in whose place come several or none."""

    name: str
    about: str = ""
    install: str = ""  # the command that installs its program, for people
    start: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()  # empty: it begins again
    model: tuple[str, ...] = ()  # empty: it hears of it by PADDOCK_MODEL alone
    again: str = AGAIN  # the prompt of one that goes on
    session: str | None = None  # GIVEN, or the pattern that finds it in the output
    stdin: str | None = None  # instead of the word with the prompt, when that comes as stdin
    memory_bytes: int | None = None  # its wall, where the run says none
    peak_bytes: int | None = None  # what the program was seen to use by itself
    env: Mapping[str, str] = field(default_factory=dict)
    as_root: Mapping[str, str] = field(default_factory=dict)  # what root must have set
    later: tuple[Sign, ...] = ()
    lost: tuple[Sign, ...] = ()
    source: str = "built in"

    @property
    def program(self) -> str:
        """Empty where the run says which."""
        return self.start[0] if self.start and "{" not in self.start[0] else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one run asks of a preset."""

    prompt: str
    model: str | None = None
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A command. Where a word holds the session's id it is known only when an attempt starts."""

    words: tuple[str, ...]
    sessions: Mapping[int, str] = field(default_factory=dict)  # templates, by the word's place

    def at(self, session: str) -> tuple[str, ...]:
        found = list(self.words)
        for place, template in self.sessions.items():
            found[place] = template.replace("{session}", session)
        return tuple(found)

    def by(self, program: str) -> Line:
        """The same, with another program in the place of its own."""
        return Line((program, *self.words[1:]), self.sessions)


class Unfit(ValueError):
    """A preset cannot do what a run asks of it: why, in one line."""


def how_to_get(preset: Preset) -> str:
    """Why a run is refused whose program is not there, and what to do about it."""
    hint = f"; to get it: {preset.install}" if preset.install else ""
    return f"{preset.program} is not installed here{hint}"


def start_line(preset: Preset, task: Task) -> tuple[Line, bool]:
    """How it is started, and whether the prompt comes as stdin: too long for an argument."""
    long = any(len(_filled(word, task.prompt, "").encode()) > LONGEST_WORD for word in preset.start)
    if long and preset.stdin is None:
        raise Unfit(
            f"a prompt of {len(task.prompt.encode()):,} bytes, and {preset.name} takes one of "
            f"{LONGEST_WORD:,} at most: put it into a file, and name that in the prompt"
        )
    line = _line(preset, preset.start, task, stdin=preset.stdin if long else None)
    if not line.words or not line.words[0].strip():
        raise Unfit(
            f"the preset {preset.name} needs a program: arguments: [./agent.sh], or after --"
        )
    return line, long


def resume_line(preset: Preset, task: Task) -> Line | None:
    """How it goes on after a cut; None: it is started once more."""
    if not preset.resume:
        return None
    line = _line(preset, preset.resume, task, stdin=None)
    if any(len(word.encode()) > LONGEST_WORD for word in line.words):
        return None
    return line


def _line(preset: Preset, words: tuple[str, ...], task: Task, *, stdin: str | None) -> Line:
    found: list[str] = []
    sessions: dict[int, str] = {}
    for word in words:
        if word == "{arguments}":
            found += task.arguments
        elif word == "{model}":
            found += _model(preset, task)
        elif "{prompt}" in word and stdin is not None:
            found += [stdin] if stdin else []
        else:
            if "{session}" in word:
                sessions[len(found)] = word
            found.append(_filled(word, task.prompt, preset.again))
    return Line(tuple(found), sessions)


def _model(preset: Preset, task: Task) -> list[str]:
    if task.model is None:
        return []
    return [word.replace("{model}", task.model) for word in preset.model]


def _filled(word: str, prompt: str, again: str) -> str:
    """Parted first: what a prompt says is never a placeholder."""
    return prompt.join(part.replace("{again}", again) for part in word.split("{prompt}"))
