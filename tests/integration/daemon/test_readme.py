"""What the README shows is what a user sees, typed in its order into a shell."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.kit.house import a_house

README = Path(__file__).parents[3] / "README.md"
BLOCKS = re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
ANYTHING = "…"


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


def typed(block: str) -> list[Typed]:
    found = []
    for text in block.split("$ ")[1:]:
        command, *shown = text.rstrip("\n").split("\n")
        found.append(Typed(command, shown))
    return found


def test_the_readme_shows_what_is_printed(tmp_path: Path) -> None:
    assert len(BLOCKS) >= 3
    work = tmp_path / "work"
    work.mkdir()
    with a_house(tmp_path) as house:
        bin_directory = Path(sys.executable).parent
        env = {**house.env, "PATH": f"{bin_directory}:{house.env['PATH']}"}
        for who in ("AUTHOR", "COMMITTER"):  # as anybody who uses git has it set
            env |= {f"GIT_{who}_NAME": "You", f"GIT_{who}_EMAIL": "you@localhost"}
        for block in BLOCKS:
            lines = typed(block)
            mark = "-- next --"
            between = f"; code=$?; printf '%s\\n' '{mark}'; (exit $code); "
            script = between.join(each.command for each in lines)
            done = subprocess.run(
                ["bash", "-c", script],
                cwd=work,
                env=env,
                capture_output=True,
                text=True,
                check=False,
            )
            printed = done.stdout.replace(str(work), "/work").split(f"{mark}\n")
            for each, text in zip(lines, printed, strict=True):
                shown = text.rstrip("\n").split("\n") if text.strip() else []
                assert each.is_shown(shown), (each, shown, done.stderr)
