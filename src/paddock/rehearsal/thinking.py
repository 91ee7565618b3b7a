"""What the stand-in's model says next.

It counts what was done in the conversation itself, so a session that is resumed goes on where it
was, and a stand-in that was restarted has lost nothing.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

from .heard import Answer, Call, Heard, Prompt, Refusal, Result
from .ledger import Ledger
from .script import Asked, Fail, Memory, RateLimit, Run, Say, Script, Stall, Wait, Write
from .tools import call_of, command_tool, is_writer, marker, poll_of

# x: a command, which ends with a line of ours; w: a file, by a tool of the program's own.
_CALL: Final = re.compile(r"rehearsal(\d+)([xw])")
_CUT_BY_PROGRAM: Final = 4000
# Codex does not wait for long commands: it says this, and is asked again with `write_stdin`.
_GOES_ON: Final = re.compile(r"running with session ID (\d+)")
MOST_ASKED: Final = 5  # of one step, whatever becomes of it: no program is kept for ever
ASIDE: Final = "Rehearsal"


@dataclass(frozen=True, slots=True)
class Pause:
    """A stream that begins and then says nothing."""

    seconds: float


Reply = Answer | Refusal | Pause


@dataclass(frozen=True, slots=True)
class Progress:
    """What a conversation says of the steps."""

    done: frozenset[int]
    going_on: dict[int, str]  # steps whose command still runs, and the session it runs in


class Model:
    def __init__(
        self,
        script: Script,
        ledger: Ledger,
        *,
        directory: Path,
        by_text: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._script = script
        self._ledger = ledger
        self._directory = directory
        self._by_text = by_text  # the program offers no tools: it takes files from the text
        self._clock = clock

    def reply(self, heard: Heard) -> Reply:
        if self._by_text:
            return self._in_words(heard)
        if command_tool(heard.tools) is None:
            # A title, a summary, a question of the program to itself: no turn of the script.
            return Answer(ASIDE)
        progress = progress_in(heard)
        for number in sorted(progress.done):
            self._ledger.note_once("done", number)
        said: list[str] = []
        for number, step in enumerate(self._script.steps):
            match step:
                case Say(text):
                    said.append(text)
                case RateLimit() | Fail() | Stall():
                    refused = self._refused(step, number)
                    if refused is not None:
                        return refused
                case Run() | Write() | Wait() | Memory():
                    if not self._is_over(number, progress):
                        return self._ask(step, number, heard, progress, said)
                    said.clear()
                case _:
                    assert_never(step)
        self._ledger.note("ended")
        return Answer("\n".join([*said, self._script.end]))

    def _in_words(self, heard: Heard) -> Reply:
        """Files as Aider takes them, all at once; what it cannot do is left out."""
        if "commit message" in heard.system:
            for number, step in enumerate(self._script.steps):
                if isinstance(step, Write):
                    self._ledger.note_once("done", number)
            return Answer("Rehearse a change")
        said: list[str] = []
        for number, step in enumerate(self._script.steps):
            match step:
                case Say(text):
                    said.append(text)
                case RateLimit() | Fail() | Stall():
                    refused = self._refused(step, number)
                    if refused is not None:
                        return refused
                case Write(path, text):
                    self._ledger.note("asked", number, tool="text")
                    end = "" if text.endswith("\n") else "\n"
                    said.append(f"{path}\n```\n{text}{end}```")
                case _:
                    self._ledger.note_once("cannot", number)
        self._ledger.note("ended")
        return Answer("\n\n".join([*said, self._script.end]))

    def _is_over(self, number: int, progress: Progress) -> bool:
        if number in progress.done:
            return True
        return number not in progress.going_on and self._times("asked", number) >= MOST_ASKED

    def _ask(
        self, step: Asked, number: int, heard: Heard, progress: Progress, said: list[str]
    ) -> Answer:
        session = progress.going_on.get(number)
        if session is not None:
            self._ledger.note("looked", number)
            name = f"rehearsal{number}xl{self._times('looked', number)}"
            return Answer("", Call(name, *poll_of(session)))
        found = call_of(step, number, tools=heard.tools, directory=self._directory)
        assert found is not None  # there is a tool for commands, and commands can do it all
        self._ledger.note("asked", number, tool=found[0])
        kind = "w" if is_writer(found[0]) else "x"
        name = f"rehearsal{number}{kind}{self._times('asked', number)}"
        return Answer(" ".join(said), Call(name, *found))

    def _refused(self, step: RateLimit | Fail | Stall, number: int) -> Reply | None:
        if isinstance(step, RateLimit):
            return self._limited(step, number)
        if self._times("refused", number) >= step.times:
            return None
        if isinstance(step, Stall):
            self._ledger.note("refused", number, status=0)
            return Pause(step.seconds)
        self._ledger.note("refused", number, status=step.status)
        return Refusal(step.status, "an error of the rehearsal")

    def _limited(self, step: RateLimit, number: int) -> Refusal | None:
        """Until the time that the first refusal stated: who asks before it is refused again."""
        now = self._clock()
        until = self._ledger.first_until(number)
        if until is not None and now >= until:
            return None
        until = now + step.seconds if until is None else until
        self._ledger.note("refused", number, status=429, until=until)
        return Refusal(429, "Rate limit reached in the rehearsal", until=until, now=now)

    def _times(self, what: str, number: int) -> int:
        return self._ledger.times(what, number)


def progress_in(heard: Heard) -> Progress:
    """Steps whose call came to an end, and those that still run."""
    done: set[int] = set()
    going_on: dict[int, str] = {}
    for turn, following in zip(heard.turns, (*heard.turns[1:], None), strict=False):
        match = _CALL.search(turn.call) if isinstance(turn, Result) else None
        if match is None or not isinstance(turn, Result):
            continue
        number, by_command = int(match.group(1)), match.group(2) == "x"
        resumed = isinstance(following, Prompt)
        session = None if resumed else _GOES_ON.search(turn.text)
        going_on.pop(number, None)
        if session is not None and marker(number) not in turn.text:
            going_on[number] = session.group(1)
        elif _is_end(turn, number) if by_command else not resumed:
            done.add(number)
    return Progress(frozenset(done), going_on)


def _is_end(result: Result, number: int) -> bool:
    """By the last line of the command. Without it the program was stopped in the middle of the
    call, whatever it put there instead; with SIGTERM as its end the command was stopped along with
    the program. Only a result so long that the program has cut it may lack that line."""
    start = result.text.rfind(marker(number))
    if start < 0:
        return len(result.text) >= _CUT_BY_PROGRAM
    return not result.text[start:].startswith(f"{marker(number)}{128 + signal.SIGTERM}]")
