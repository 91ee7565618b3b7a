"""What attempts are called: their marks, their files, and the environment they are given."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from paddock.core.run import Attempt
from paddock.drivers.local.keeper.protocol import MARK, MAX_ID_LENGTH
from paddock.drivers.local.life import Life
from paddock.ports import Launch

SAFE_RUN: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]+")
INSTANCE: Final = re.compile(r"[0-9a-f]{16}")
OURS: Final = "PADDOCK_"
# What `paddock` inside an agent needs to find the daemon that its submitter spoke with.
HANDED_ON: Final = ("PADDOCK_STATE", "PADDOCK_PROFILE")
FIFO: Final = "fifo"
# From a run's labels and PATH: a directory to put in front of it, with shims for walled commands.
Tools = Callable[[Mapping[str, str], str], str | None]

log = logging.getLogger("paddock.local")


class Names:
    """Paths as text: they are made a dozen times for each attempt."""

    def __init__(
        self, output: Path, live: Path, instance: str, tools: Tools = lambda _, __: None
    ) -> None:
        self._tools = tools
        self._output = output
        self._live = live
        self.instance = instance

    def mark(self, attempt: Attempt) -> str:
        """Differs between all paddocks of a user: the mark decides who is killed."""
        return f"{self.instance}.{attempt.run}.{attempt.number}"

    def is_ours(self, mark: str) -> bool:
        return mark.startswith(f"{self.instance}.")

    def problem(self, attempt: Attempt) -> str | None:
        """Why no directory can have this run's name."""
        if not SAFE_RUN.fullmatch(attempt.run):
            return f"the run's id {attempt.run!r} may hold only letters, digits and . _ -"
        if len(self.mark(attempt)) > MAX_ID_LENGTH:
            return f"the run's id {attempt.run[:20]!r}… is too long"
        return None

    def fifo(self, attempt: Attempt) -> str:
        return self._file(attempt, FIFO)

    def segment(self, attempt: Attempt) -> str:
        """As `logs.output` reads it. Its directory comes with the first byte."""
        return f"{self._output}/{attempt.run}/{attempt.number}.log"

    def soft_timeout(self, attempt: Attempt) -> str:
        return self._file(attempt, "soft-timeout")

    def facts(self, attempt: Attempt) -> str:
        return self._file(attempt, "facts")

    def killed(self, attempt: Attempt) -> str:
        """Where a rescue says that it killed it, and why."""
        return self._file(attempt, "killed")

    def keep_facts(self, lives: Iterable[Life]) -> None:
        """For rescues, at the first look: whoever ends before that needs none."""
        for life in lives:
            if life.facts is not None:
                self._keep_facts(life, life.facts)

    def _keep_facts(self, life: Life, facts: Callable[[], str]) -> None:
        text, life.facts, life.has_facts = facts(), None, True
        try:
            self._live.mkdir(mode=0o700, exist_ok=True)  # somebody may have removed it
            keep(self.facts(life.attempt), text)
        except OSError as error:
            log.warning("a rescue will not know the name of %s: %s", life.attempt.run, error)

    def checkpoint_request(self, attempt: Attempt) -> str:
        return self._file(attempt, "checkpoint-request")

    def checkpoint_written(self, attempt: Attempt) -> str:
        return self._file(attempt, "checkpoint-written")

    def signs(self, attempt: Attempt) -> tuple[str, ...]:
        """The files by which agent and driver speak beside signals, which may come too early for a
        program that is just starting, or be more than it can take (Node)."""
        asked, written = self.checkpoint_request(attempt), self.checkpoint_written(attempt)
        return (self.soft_timeout(attempt), asked, written)

    def _file(self, attempt: Attempt, kind: str) -> str:
        """There only until it is forgotten: in one directory, where what is left is soon found."""
        return f"{self._live}/{attempt.run}.{attempt.number}.{kind}"

    def left_fifos(self) -> dict[Attempt, Path]:
        """Every FIFO there is. It is made before its agent and goes when the attempt is forgotten:
        one that nobody knows any more is of an attempt that was begun, and whose keeper died."""
        paths = {attempt_in(f"{OURS}.{path.stem}"): path for path in self._live.glob(f"*.{FIFO}")}
        return {attempt: path for attempt, path in paths.items() if attempt is not None}

    def environment(self, launch: Launch) -> dict[str, str]:
        """The submitter's, without what another paddock around it may have said."""
        said = launch.environment.items()
        given = {k: v for k, v in said if not k.startswith(OURS) or k in HANDED_ON}
        attempt = launch.attempt
        given |= {
            MARK: self.mark(attempt),
            "PADDOCK_RUN": attempt.run,
            "PADDOCK_RUN_NAME": launch.name,
            "PADDOCK_ATTEMPT_NUMBER": str(attempt.number),
            "PADDOCK_SOFT_TIMEOUT": self.soft_timeout(attempt),
            "PADDOCK_CHECKPOINT_REQUEST": self.checkpoint_request(attempt),
            "PADDOCK_CHECKPOINT_WRITTEN": self.checkpoint_written(attempt),
        }
        given |= {"PADDOCK_RESUME": "1"} if launch.resume else {}
        shims = self._tools(launch.labels, given.get("PATH", os.defpath))
        if shims is not None:
            given["PATH"] = f"{shims}{os.pathsep}{given.get('PATH', os.defpath)}"
        return given


def make_sign(path: str) -> None:
    """An empty file: that it is there is what it says."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        os.close(os.open(path, flags, 0o600))
    except OSError as error:
        log.warning("an agent is told by signal only: %s", error)


def keep(path: str, text: str) -> None:
    """A small file of ours, new."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    file = os.open(path, flags, 0o600)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def attempt_in(mark: str) -> Attempt | None:
    """Of any paddock's mark: who it is about."""
    _, _, rest = mark.partition(".")
    run, _, number = rest.rpartition(".")
    if not SAFE_RUN.fullmatch(run) or not (number.isascii() and number.isdigit()):
        return None
    return Attempt(run, int(number))


def instance_of(directory: Path) -> str:
    """This paddock's own random name, the same for ever: made once, by whoever comes first."""
    path = directory / "instance"
    for _ in range(2):
        try:
            found = path.read_text(encoding="ascii").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            found = ""
        if INSTANCE.fullmatch(found):
            return found
        fresh = directory / f".instance.{os.getpid()}"
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(8) + "\n")
        if found:
            fresh.replace(path)  # what is there is no name
            continue
        try:
            path.hardlink_to(fresh)  # unlike a rename, never takes the place of another's
        except FileExistsError:
            pass
        finally:
            fresh.unlink(missing_ok=True)
    return path.read_text(encoding="ascii").strip()
