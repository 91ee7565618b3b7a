"""`submit --from`: one run a line, a shell command line or a JSON object. Submits nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from paddock.config.located import Items, Scalar, Table, load_text
from paddock.config.mistakes import ConfigError, Mistake, Mistakes, Place, printable

from .fleet_file import LARGEST_FILE, MOST_RUNS, FleetFileError, read_run
from .json_line import NotJson, load_json
from .run_request import RunRequest
from .run_words import LONGEST_NAME, LONGEST_WORD

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
# What a shell takes as it stands; in double quotes $ and ` still mean something.
_QUOTED: Final = re.compile(r"""\\.|'[^']*'|"(?:[^"\\$`]|\\.)*\"""")
_SYNTAX: Final = re.compile(r"[$&|><;*?~`()\[\]{}#]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# Words that only a shell knows: there is no such program to start.
_SHELL_WORDS: Final = (
    *("!", ".", ":", "alias", "cd", "eval", "exec", "exit", "export", "read", "set", "shift"),
    *("source", "trap", "ulimit", "umask", "unset", "wait", "if", "for", "while", "until", "case"),
)
# Inside these quotes pair up in ways that only a shell can follow.
_NESTING: Final = ("$(", "`", "#")


def parse_lines(text: str, *, file: str, directory: Path) -> tuple[RunRequest, ...]:
    """Empty lines and those that begin with # are left out; every mistake is reported at once."""
    mistakes = Mistakes()
    # Not splitlines(): editors count by newlines alone, and JSON may have others inside.
    lines = text.removesuffix("\n").split("\n") if 0 < len(text) <= LARGEST_FILE else []
    if not lines or len(lines) > MOST_RUNS:
        found = (
            f"{len(text):,} characters in {len(lines) or 'too many'} lines" if text else "nothing"
        )
        mistakes.add(Place(file), "", found=found, allowed=f"1 to {MOST_RUNS:,} runs, one a line")
        mistakes.raise_any(FleetFileError)
    found_runs = tuple(_runs(lines, Place(file), directory, mistakes))
    mistakes.raise_any(FleetFileError)
    return found_runs


def default_name(command: tuple[str, ...]) -> str:
    """A name for a run that was given none: its program's."""
    name = _NOT_IN_NAMES.sub("-", Path(command[0]).name if command else "").strip("-_")
    return name[:LONGEST_NAME] or "run"


def needs_shell(line: str) -> bool:
    """Whether a command line says more than a program and its arguments."""
    if _ASSIGNMENT.match(line) or _SYNTAX.search(_QUOTED.sub("", line)):
        return True
    return line.partition(" ")[0] in _SHELL_WORDS


def _runs(
    lines: list[str], file: Place, directory: Path, mistakes: Mistakes
) -> Iterator[RunRequest]:
    for number, line in enumerate(lines, start=1):
        at, bare = Place(file.file, number), line.strip()
        if not bare or bare.startswith("#"):
            continue
        try:
            if bare.startswith("{"):
                yield read_run(_named(_table(bare, at)), directory=directory)
            else:
                yield _command_line(bare, at)
        except ConfigError as error:
            mistakes.take(error)


def _table(line: str, at: Place) -> Table:
    """A JSON object; as people write it by hand, `{command: [make]}`, it is read too."""
    try:
        return load_json(line, at)
    except NotJson as error:
        try:
            return load_text(line, file=at.file, first_line=at.line)
        except ConfigError:
            found = f"what is no JSON ({printable(str(error))})"
            allowed = 'a JSON object on one line, as in {"command": ["make", "test"]}'
            raise FleetFileError([Mistake(at, "", found, allowed)]) from error


def _named(table: Table) -> Table:
    """A run needs no name: then it is called as its program is."""
    if "name" in table.entries:
        return table
    work = table.entries.get("command") or table.entries.get("agent")
    first = work.values[0] if isinstance(work, Items) and work.values else work
    name = default_name((first.text,) if isinstance(first, Scalar) else ())
    entries = {"name": Scalar(table.at, name, name), **table.entries}
    return Table(table.at, entries, {"name": table.at, **table.places})


def _command_line(line: str, at: Place) -> RunRequest:
    mistakes = Mistakes()
    shell = needs_shell(line)
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        words = tuple(line.split())
        if not (shell and any(sign in line for sign in _NESTING)):
            found = f"a line that no shell could split ({str(error).lower()})"
            mistakes.add(at, "", found=found, allowed="a command line, or a JSON object")
    command = ("sh", "-c", line) if shell else words
    if not line.isascii() and not _is_text(line):
        mistakes.add(at, "", found="bytes that are no UTF-8", allowed="text in UTF-8")
    elif any("\0" in word or len(word.encode()) > LONGEST_WORD for word in command):
        mistakes.add(at, "", found="an argument that no process can get", allowed="shorter ones")
    if not mistakes and not command[0].strip():
        mistakes.add(at, "", found="an empty program", allowed="a command line, or a JSON object")
    mistakes.raise_any(FleetFileError)
    return RunRequest(name=default_name(_program(words) if shell else words), command=command)


def _is_text(line: str) -> bool:
    """Where the locale is C, bytes that are no text come in as halves of characters."""
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True


def _program(words: tuple[str, ...]) -> tuple[str, ...]:
    """The first plain word of a line of shell, as in `CI=1 make > log` or `(cd x && make)`."""
    bare = (word.lstrip("({!~").rstrip(";)") for word in words if not word.startswith("-"))
    plain = (word for word in bare if not _ASSIGNMENT.match(word) and not _SYNTAX.search(word))
    return next(((word,) for word in plain if default_name((word,)) != "run"), ())
