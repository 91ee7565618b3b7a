"""The machine that setup works on: its files below a root, and what only programs can do to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from paddock.cgroups.group import remove_tree
from paddock.cgroups.v2 import Group2

WITHIN_S: Final = 120.0  # swapoff reads all that was swapped out back into memory


class Failed(Exception):
    """A change could not be made; one line for people."""


class Doing(Protocol):
    """What is not done by writing a file. Raises Failed."""

    def run(self, *command: str) -> None: ...

    def hand_down(self, path: str, controllers: Sequence[str], *, take_back: bool) -> None: ...

    def remove_cgroup(self, path: str) -> bool:
        """It and all below; False while some process is in it."""


class Programs:
    """The real ones, on the real machine."""

    def run(self, *command: str) -> None:
        words = " ".join(command)
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=WITHIN_S,
                check=False,
                # Messages are read by people here, and looked up by others.
                env={**os.environ, "LC_ALL": "C", "PATH": _path()},
            )
        except FileNotFoundError:
            raise Failed(f"the program {command[0]} is not installed") from None
        except subprocess.TimeoutExpired:
            raise Failed(f"`{words}` took more than {WITHIN_S:.0f} s") from None
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip() or "without a word").splitlines()[-1]
            raise Failed(f"`{words}` failed: {said}")

    def hand_down(self, path: str, controllers: Sequence[str], *, take_back: bool) -> None:
        sign = "-" if take_back else "+"
        for name in controllers:  # one by one: one that is refused must not take the others along
            try:
                file = Path(path) / "cgroup.subtree_control"
                file.write_text(f"{sign}{name}", encoding="ascii")
            except OSError as error:
                raise Failed(f"{path}: {sign}{name}: {error.strerror}") from None
        left = set(controllers) - Group2(path).handed_down()
        if left and not take_back:
            raise Failed(f"{path}: {', '.join(sorted(left))} did not arrive")

    def remove_cgroup(self, path: str) -> bool:
        return remove_tree(path)


def _path() -> str:
    """sudo's and cron's PATH may lack where swapoff and mount are."""
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Ground:
    """`root` stands for `/`, so that tests can bring a machine of their own."""

    root: Path = Path("/")
    doing: Doing = field(default_factory=Programs)

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def text(self, path: str) -> str | None:
        try:
            return self.at(path).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        words = (self.text(path) or "").split()
        return int(words[0]) if words and words[0].isascii() and words[0].isdigit() else None

    def is_directory(self, path: str) -> bool:
        return self.at(path).is_dir()
