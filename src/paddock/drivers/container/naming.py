"""What attempts are called: their containers and labels, their files, and their environment.

All of an attempt's files lie in `LIVE/RUN.NUMBER/`, made before its container and gone when it is
forgotten. `in/` of it is seen by the agent under the same path; the rest is not.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

from paddock.core.run import Attempt, Outcome
from paddock.drivers.attempts import Signs, attempt_of, environment_of, name_of, note_in, unsafe
from paddock.ports import Launch, Stop

MOST_NAME: Final = 128
INSTANCE_LABEL: Final = "dev.paddock.instance"
SHIM: Final = Path(__file__).with_name("shim.sh")


class Box:
    """The files of one attempt."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.inside = f"{home}/in"

    @property
    def attempt(self) -> Attempt | None:
        return attempt_of(self.home.name)

    @property
    def signs(self) -> Signs:
        names = ("soft-timeout", "checkpoint-request", "checkpoint-written")
        return Signs(*map(self.file, names))

    def make(self, *, held: bool, owner: tuple[int, int] | None = None) -> None:
        """Fresh: whatever an earlier try left is of no use. `owner`: who the agent runs as."""
        self.remove()
        os.makedirs(self.inside, 0o700)  # noqa: PTH103
        names = ("word", "bell", "out") if held else ()
        for name in names:
            os.mkfifo(f"{self.inside}/{name}", 0o600)
        shutil.copyfile(SHIM, f"{self.inside}/shim")
        if owner is not None and owner != (os.geteuid(), os.getegid()):
            os.chmod(f"{self.inside}/shim", 0o644)  # noqa: PTH101
            for name in (*names, "."):  # what is in it while it is still ours
                os.chown(f"{self.inside}/{name}", *owner)

    def remove(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    def file(self, name: str) -> str:
        return f"{self.inside}/{name}"

    def share_output(self, segment: str) -> None:
        """Where no FIFO reaches in, the agent writes to its segment file itself."""
        Path(segment).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        Path(segment).touch(mode=0o600)
        Path(self.file("out")).hardlink_to(segment)

    def shell_words(self) -> str:
        """What the shim's shell complained of."""
        text = self._said("shell", 2000)
        return " ".join(text.split())[:500] or "it says nothing"

    # -- what must be known after a death of the daemon -----------------------------------

    def note(self, name: str, facts: dict[str, Any]) -> None:
        """Whole or not at all."""
        fresh = self.home / f".{name}"
        fresh.write_text(json.dumps(facts), encoding="utf-8")
        fresh.replace(self.home / name)

    def noted(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads(note_in(self.home / name))
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def note_stop(self, why: Stop) -> None:
        self.note("stop", {"outcome": why.outcome, "because": why.because})

    def noted_stop(self) -> Stop | None:
        """None also for a word that a newer paddock wrote and we do not know."""
        facts = self.noted("stop")
        if facts is None or not facts.get("outcome"):
            return None
        with contextlib.suppress(ValueError):
            return Stop(Outcome(facts["outcome"]), str(facts.get("because", "")))
        return None

    def status(self) -> str:
        """The shim's last word: "", running, missing, "exit 7", "signal 9"."""
        text = self._said("status", 64)
        return text.strip() if text.endswith("\n") else ""

    def _said(self, name: str, most: int) -> str:
        """Nothing where it cannot be read."""
        try:
            return note_in(self.file(name), most).decode("utf-8", "replace")
        except OSError:
            return ""


class Names:
    def __init__(self, output: Path, live: Path, instance: str) -> None:
        self.output, self.live, self.instance = output, live, instance

    @property
    def label(self) -> str:
        return f"{INSTANCE_LABEL}={self.instance}"

    def mark(self, attempt: Attempt) -> str:
        return f"{self.instance}.{name_of(attempt)}"

    def container(self, attempt: Attempt) -> str:
        return f"paddock-{self.mark(attempt)}"

    def problem(self, attempt: Attempt) -> str | None:
        """Why no container can have this run's name."""
        problem = unsafe(attempt.run)
        if problem is not None:
            return problem
        if len(self.container(attempt)) > MOST_NAME:
            return f"the run's id {attempt.run[:20]!r}… is too long"
        return None

    def box(self, attempt: Attempt) -> Box:
        return Box(self.live / name_of(attempt))

    def boxes(self) -> dict[Attempt, Box]:
        found = {}
        for home in self.live.iterdir():
            box = Box(home)
            if home.is_dir() and not home.is_symlink() and box.attempt is not None:
                found[box.attempt] = box
        return found

    def segment(self, attempt: Attempt) -> str:
        """As `logs.output` reads it."""
        return f"{self.output}/{attempt.run}/{attempt.number}.log"

    def labels(self, attempt: Attempt, epoch: int) -> dict[str, str]:
        return {
            INSTANCE_LABEL: self.instance,
            "dev.paddock.run": attempt.run,
            "dev.paddock.attempt": str(attempt.number),
            "dev.paddock.epoch": str(epoch),
        }

    def environment(self, launch: Launch) -> dict[str, str]:
        box = self.box(launch.attempt)
        return environment_of(launch, self.mark(launch.attempt), box.signs)


def boot_id() -> str:
    """Processes are known by pid and start time, which mean something only within one boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "this-boot"


def used_file(state: Path) -> Path:
    """There once a container was started, with the kind of engine that made it."""
    return state / "containers" / "used"
