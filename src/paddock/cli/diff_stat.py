"""A patch, counted: which files, how many lines. Knows git's form of a patch and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPE: Final = re.compile(rb"\\([0-7]{3}|.)")
_SHORT: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f"}


class Changed(msgspec.Struct, kw_only=True):
    name: str
    added: int = 0
    removed: int = 0
    binary: bool = False


def kinds_of_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is one of a file: `--- x` may be a head, or a removed line.

    Only a newline ends one: an agent's file may hold any other sign.
    """
    before = after = 0
    for line in text.removesuffix("\n").split("\n") if text else ():
        if before > 0 or after > 0:
            sign = line[:1]
            before -= sign in ("-", " ", "")
            after -= sign in ("+", " ", "")
            yield line, True
            continue
        hunk = _HUNK.match(line)
        if hunk is not None:
            before, after = (1 if count is None else int(count) for count in hunk.groups())
        yield line, False


def stat_of(text: str) -> list[Changed]:
    """In the order of the patch."""
    found: list[Changed] = []
    for line, is_content in kinds_of_lines(text):
        if not is_content and line.startswith("diff --git "):
            found.append(Changed(name=_name(line.removeprefix("diff --git "))))
        elif found and is_content:
            found[-1].added += line.startswith("+")
            found[-1].removed += line.startswith("-")
        elif found:
            _read_head(line, found[-1])
    return found


def _read_head(line: str, one: Changed) -> None:
    if line.startswith(("Binary files ", "GIT binary patch")):
        one.binary = True
    elif line.startswith("rename to "):
        one.name = _plain(line.removeprefix("rename to "))
    elif line.startswith("+++ ") and line != "+++ /dev/null":
        one.name = _plain(line.removeprefix("+++ ")).removeprefix("b/").rstrip("\t")


def _name(pair: str) -> str:
    """`a/x b/x`, where both are the same unless it was renamed; then a later line says so."""
    quoted = _QUOTED.findall(pair)
    if quoted:
        return _plain(quoted[-1]).removeprefix("b/")
    return pair[len(pair) // 2 + 1 :].removeprefix("b/")


def _plain(name: str) -> str:
    """As the file is called: git puts odd names into quotes, and some signs as octal numbers."""
    if not name.startswith('"'):
        return name
    return _ESCAPE.sub(_sign, name.strip().strip('"').encode()).decode("utf-8", "replace")


def _sign(match: re.Match[bytes]) -> bytes:
    said = match[1]
    return bytes([int(said, 8) & 0xFF]) if len(said) == 3 else _SHORT.get(said, said)
