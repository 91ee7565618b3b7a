"""The small language of pretend agents: what one does from its start to its end.

Words in order: `use=64M` `sleep=1.5` `print=TEXT` `exit=7` `die=9` `fail=REASON`; and words about
its manners, anywhere: `deaf` (ignores SIGTERM), `wraps-up=0` (ends with this code at the soft
timeout), `checkpoints=0.1` (writes one this long after being asked), `strays=2` (leaves processes
for so long). The real drivers' tests have a program that speaks the same language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from paddock.core.units import parse_size


class BadScript(ValueError):
    """A word that the language does not have, or a value it does not take."""


@dataclass(frozen=True, slots=True)
class Use:
    bytes: int


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


@dataclass(frozen=True, slots=True)
class Print:
    text: str


@dataclass(frozen=True, slots=True)
class Leave:
    code: int | None = None
    signal: int | None = None


Deed = Use | Sleep | Print | Leave


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    deeds: tuple[Deed, ...]
    deaf: bool = False
    wraps_up: int | None = None
    checkpoints_s: float | None = None
    strays_s: float | None = None
    fails: str | None = None  # never comes to life


WORDS: Final = "use sleep print exit die fail deaf wraps-up checkpoints strays"


def read_script(words: tuple[str, ...]) -> Script:
    """A script that says nothing of its end ends with 0."""
    deeds: list[Deed] = []
    manners: dict[str, object] = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            _read_word(name, value, deeds, manners)
        except ValueError as error:
            raise BadScript(f"{word!r}: {error}; the words are: {WORDS}") from None
    if not deeds or not isinstance(deeds[-1], Leave):
        deeds.append(Leave(code=0))
    return Script(deeds=tuple(deeds), **manners)  # type: ignore[arg-type]


def _read_word(name: str, value: str, deeds: list[Deed], manners: dict[str, object]) -> None:
    match name:
        case "use":
            deeds.append(Use(parse_size(value)))
        case "sleep":
            deeds.append(Sleep(_seconds(value)))
        case "print":
            deeds.append(Print(value))
        case "exit":
            deeds.append(Leave(code=int(value)))
        case "die":
            deeds.append(Leave(signal=int(value)))
        case "fail":
            manners["fails"] = value or "it was told to fail"
        case "deaf":
            manners["deaf"] = True
        case "wraps-up":
            manners["wraps_up"] = int(value)
        case "checkpoints" | "strays":
            manners[f"{name}_s"] = _seconds(value)
        case _:
            raise BadScript("no such word")


def _seconds(value: str) -> float:
    seconds = float(value)
    if not 0 <= seconds < 1e9:
        raise BadScript(f"{value} is no time in seconds")
    return seconds
