"""Rehearsals in a test: a script, the real command line, and a message that names the program."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kit.house import PADDOCK, House
from tests.kit.waiting import until

AGENTS = os.environ.get("PADDOCK_AGENTS", "")
HERE = Path(__file__).parent
# A loaded machine takes minutes for what takes seconds on an idle one.
WITHIN_S = 400.0
_PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
}


@dataclass(frozen=True)
class Performance:
    """What a rehearsal came to."""

    agent: str
    code: int
    runs: list[dict[str, Any]]
    output: str

    @property
    def run(self) -> dict[str, Any]:
        (found,) = self.runs
        return found

    def check(self, good: object, what: str) -> None:
        """A change of a program's version is known by its name in the message."""
        assert good, f"{pinned(self.agent)} {what}:\n{json.dumps(self.runs)}\n{self.output[-4000:]}"

    def check_ended_well(self, *, attempts: int) -> None:
        self.check(self.code == 0 and self.runs, f"ended with code {self.code}")
        for run in self.runs:
            self.check(run["outcome"] == "succeeded", "did not succeed")
            self.check(run["attempt"] == attempts, f"took {run['attempt']} attempts")
            if "rehearsal" in run:
                self.check(run["rehearsal"]["whole"], "did not play the script to its end")


class Theatre:
    def __init__(self, house: House) -> None:
        self.house = house
        self.directory = house.home

    def script(self, text: str) -> Path:
        path = self.directory / "script.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def rehearse(
        self, agent: str, script: str, *options: object, within_s: float = WITHIN_S
    ) -> Performance:
        with self.rehearsing(agent, script, *options) as performing:
            return self.ended(performing, agent, within_s=within_s)

    @contextmanager
    def rehearsing(
        self, agent: str, script: str, *options: object
    ) -> Iterator[subprocess.Popen[str]]:
        """One agent in the background; the mark is how the house knows what is left of it."""
        mark = f"TEST_MARK={self.house.mark}"
        words = ["--agent", agent, "--env", mark, "--memory", "1500M", *options]
        with self.command("rehearse", *words, "--script", self.script(script)) as performing:
            yield performing

    @contextmanager
    def command(self, *words: object) -> Iterator[subprocess.Popen[str]]:
        # Its words go to a file: a pipe that nobody reads yet would hold it.
        with (
            (self.directory / "said").open("w", encoding="utf-8") as said,
            subprocess.Popen(
                [*PADDOCK, *map(str, words), "--json"],
                cwd=self.directory,
                env=self.house.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            ) as performing,
        ):
            try:
                yield performing
            finally:
                performing.kill()

    def ended(
        self, performing: subprocess.Popen[str], agent: str, *, within_s: float = WITHIN_S
    ) -> Performance:
        out, _ = performing.communicate(timeout=within_s)
        runs = json.loads(out) if out.strip() else []
        return Performance(agent, performing.returncode, runs, self.said())

    def said(self) -> str:
        return (self.directory / "said").read_text(encoding="utf-8", errors="replace")

    def wait_for_file(self, name: str, performing: subprocess.Popen[str], agent: str) -> None:
        path = self.directory / name

        def there() -> bool:
            over = performing.poll() is not None
            assert path.exists() or not over, f"{pinned(agent)} ended early:\n{self.said()[-4000:]}"
            return path.exists()

        until(there, within_s=WITHIN_S)

    def read(self, name: str) -> str:
        path = self.directory / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def left(self) -> list[Path]:
        return list((self.house.places.state / "rehearsals").iterdir())

    def story(self, run: str) -> str:
        return "\n".join(move["because"] for move in self.house.told("story", run))


def paused(story: str) -> str | None:
    """For how long it asked to be left alone, as its story says: `30 s`, `1 min`."""
    found = re.search(r"asked to be tried again in ([0-9][^(]*) \(", story)
    return found[1] if found else None


def pinned(agent: str) -> str:
    """The program and its version, as it is pinned here."""
    if agent in _PACKAGES:
        found = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
        return f"{agent} {found['dependencies'][_PACKAGES[agent]]} (tests/agents/package.json)"
    if agent == "aider":
        text = (HERE / "requirements.txt").read_text(encoding="utf-8")
        return f"aider {text.split('aider-chat==')[1].strip()} (tests/agents/requirements.txt)"
    return agent
