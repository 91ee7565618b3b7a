"""What a page of the documents shows in its console blocks: commands, and what they print."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ANYTHING = "…"
_NEXT = "-- next --"


@dataclass(frozen=True)
class Typed:
    command: str
    shown: list[str]

    def is_shown(self, printed: list[str]) -> bool:
        """A line of … stands for all that follows, … at the end of one for the rest of it."""
        until = self.shown.index(ANYTHING) if ANYTHING in self.shown else len(self.shown)
        if until == len(self.shown) and len(printed) != until:
            return False
        pairs = zip(printed[:until], self.shown[:until], strict=False)
        return len(printed) >= until and all(_is_line(*pair) for pair in pairs)


def _is_line(printed: str, shown: str) -> bool:
    if shown.endswith(ANYTHING):
        return printed.startswith(shown.removesuffix(ANYTHING))
    return printed == shown


def blocks_of(page: Path) -> list[list[Typed]]:
    text = page.read_text(encoding="utf-8")
    return [_typed(block) for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL)]


def _typed(block: str) -> list[Typed]:
    """A document that follows a command (`<<'END'`) belongs to it."""
    found = []
    for text in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *shown = text.rstrip("\n").split("\n")
        if heredoc := re.search(r"<<'(\w+)'", command):
            last = shown.index(heredoc[1])
            command = "\n".join([command, *shown[: last + 1]])
            shown = shown[last + 1 :]
        found.append(Typed(command, shown))
    return found


def type_in(blocks: list[list[Typed]], *, env: Mapping[str, str], at: Path) -> None:
    """Into one shell, as a reader would; whatever is printed must be what is shown.

    In what is printed the directory is called /work, as on the pages.
    """
    lines = [line for block in blocks for line in block]
    between = f"\ncode=$?; printf '%s\\n' '{_NEXT}'; (exit $code)\n"
    script = between.join(line.command for line in lines)
    done = subprocess.run(
        ["bash", "-c", script], cwd=at, env=env, capture_output=True, text=True, check=False
    )
    printed = done.stdout.replace(str(at), "/work").split(f"{_NEXT}\n")
    for line, text in zip(lines, printed, strict=True):
        found = text.rstrip("\n").split("\n") if text.strip() else []
        assert line.is_shown(found), (line, found, done.stderr)
