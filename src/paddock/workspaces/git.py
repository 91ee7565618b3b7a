"""Every git command of paddock's own goes through here: argv, environment, deadline, what it says.

A repository can name programs for git to run. Agents share its settings file, and an agent may be
in a container where paddock is not. `docs/explain/workspaces.md` says what is prevented, and how.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from .errands import current
from .errors import GitFailed, GitLocked, GitTimedOut, WorkspaceError
from .inhabitants import holders_of
from .processes import Ended, How, Order, run
from .secrets import without_secrets

GIT_TIMEOUT_S: Final = 300.0
MOST_BYTES: Final = 256 << 20
# A look at a million files takes a third of it. (A tree of a thousand million is a few KB on disk.)
LOOK_HEAP_BYTES: Final = 1 << 30
LOCKED_WAIT_S: Final = 10.0
Word = str | bytes | Path

# For every command, whatever the repository's own settings say.
_ALWAYS: Final = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    # Settings that would let a changed file look unchanged.
    "core.trustctime": "true",
    "core.checkStat": "default",
    "core.ignoreStat": "false",
    "core.quotePath": "false",
    "core.splitIndex": "false",  # a copy of an index stands for itself
    # Larger ones are streamed, and no diff is made of them: nobody holds one in memory.
    "core.bigFileThreshold": "32m",
    # Files that settings name, and that could be a pipe in which nobody ever writes.
    "log.mailmap": "false",
    "diff.orderFile": "/dev/null",
    "core.logAllRefUpdates": "true",
    "protocol.ext.allow": "never",
    "gc.auto": "0",  # a gc of ours in a user's repository would be a surprise
    "maintenance.auto": "false",
    "advice.addEmbeddedRepo": "false",
    "commit.gpgSign": "false",
    "i18n.logOutputEncoding": "UTF-8",
}
_PASSED_ON: Final = (
    *("PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "SSH_AUTH_SOCK"),
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
# Unable to create '/x/index.lock': File exists. / cannot lock ref / could not lock config file
_LOCK_FILE: Final = re.compile(r"[Uu]nable to create '([^'\n]+\.lock)': File exists")
_LOCKED: Final = re.compile(r"could not lock (?:config )?file|cannot lock ref .*: File exists")
_TOO_NEW: Final = re.compile(r"unknown repository extensions? found:\s+(\S+)")
_DUBIOUS: Final = re.compile(r"detected dubious ownership in repository at '([^'\n]+)'")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """git at one place. With `git_dir` nothing in the directory says where the repository is."""

    directory: Path
    git_dir: Path | None = None
    work_tree: Path | None = None
    index: Path | None = None
    # Through the environment, because other users can read a command line.
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = GIT_TIMEOUT_S
    goes_out: bool = (
        False  # without: no transport at all, so nothing of it can be somebody's program
    )
    heap_bytes: int | None = None

    def with_index(self, index: Path) -> Git:
        return replace(self, index=index)

    def with_settings(self, settings: Mapping[str, str]) -> Git:
        return replace(self, settings={**self.settings, **settings})

    def lasting(self, timeout_s: float) -> Git:
        return replace(self, timeout_s=timeout_s)

    def going_out(self) -> Git:
        """To a remote; also for objects that a partial clone left there."""
        return replace(self, goes_out=True)

    def bounded(self) -> Git:
        """It lives outside all walls: whatever a repository makes of it, it gets no larger."""
        return replace(self, heap_bytes=LOOK_HEAP_BYTES)

    def ask(
        self,
        *words: Word,
        given: bytes = b"",
        most_bytes: int = MOST_BYTES,
        more: Mapping[str, str] | None = None,
        hear: Callable[[bytes], object] | None = None,
    ) -> Ended:
        """However it ends, except at the deadline."""
        order = Order(
            words=[_program(), *_flags(), *(_word(word) for word in words)],
            directory=self.directory,
            environment={**self._environment(), **(more or {})},
            timeout_s=self.timeout_s,
            most_bytes=most_bytes,
            given=given,
            hear=hear,
            heap_bytes=self.heap_bytes,
        )
        try:
            ended = run(order)
        except (FileNotFoundError, NotADirectoryError):
            raise GitFailed(f"{self.directory} is not there any more") from None
        except OSError as error:
            raise GitFailed(f"git could not be started: {error.strerror}") from None
        if ended.how is How.TIMED_OUT:
            what = _named(words)
            raise GitTimedOut(f"{what} took longer than {self.timeout_s:g} s, and was stopped")
        return ended

    def out(self, *words: Word, given: bytes = b"", most_bytes: int = MOST_BYTES) -> bytes:
        """What it printed. GitFailed unless it ended well."""
        ended = self.ask(*words, given=given, most_bytes=most_bytes)
        if ended.how is How.CUT:
            raise GitFailed(f"{_named(words)} printed more than {most_bytes} bytes")
        if ended.code != 0:
            raise failure(words, ended)
        return ended.out

    def line(self, *words: Word, given: bytes = b"") -> str:
        return os.fsdecode(self.out(*words, given=given).removesuffix(b"\n"))

    def says_yes(self, *words: Word) -> bool:
        """0 is yes, 1 is no, and anything else is a failure."""
        ended = self.ask(*words)
        if ended.code not in (0, 1):
            raise failure(words, ended)
        return ended.code == 0

    def _environment(self) -> dict[str, str]:
        """No GIT_* of whoever started us, no prompt, no other language."""
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        env |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
        env["GIT_OPTIONAL_LOCKS"] = "0"
        # What is above belongs to others: `/tmp` could hold a repository of anybody's.
        env["GIT_CEILING_DIRECTORIES"] = os.fspath(self.directory.parent)
        if not self.goes_out:
            env |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
        places = (("DIR", self.git_dir), ("WORK_TREE", self.work_tree), ("INDEX_FILE", self.index))
        env |= {f"GIT_{name}": os.fspath(path) for name, path in places if path is not None}
        env["GIT_CONFIG_COUNT"] = str(len(self.settings))
        for number, (key, value) in enumerate(self.settings.items()):
            env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return env


def failure(words: tuple[Word, ...], ended: Ended) -> GitFailed:
    """What git said, in one line that says what to do where we know it."""
    told = without_secrets(ended.err.decode("utf-8", "replace")).strip()
    if match := _DUBIOUS.search(told):
        path = match[1]
        return GitFailed(
            f"{path} belongs to another user, and git refuses to work in it; if you trust it: "
            f"git config --global --add safe.directory {path}",
            told=told,
        )
    if match := _TOO_NEW.search(told):
        what = "reftable" if match[1] == "refstorage" else match[1]
        return GitFailed(
            f"the repository uses {what}, which the git here does not know; install a newer git",
            told=told,
        )
    lock = _LOCK_FILE.search(told)
    if lock or _LOCKED.search(told):
        return GitLocked(_main_line(told), told=told, lock=lock[1] if lock else None)
    if ended.code < 0:
        return GitFailed(f"{_named(words)} was killed by signal {-ended.code}", told=told)
    return GitFailed(
        f"{_named(words)}: {_main_line(told) or f'ended with {ended.code}'}", told=told
    )


def patiently(work: Callable[[], T], *, within_s: float | None = None) -> T:
    """Again while a lock file of git's is in the way: some git of the user's is at work."""
    wait_s = LOCKED_WAIT_S if within_s is None else within_s
    deadline, pause_s = time.monotonic() + wait_s, 0.01
    while True:
        try:
            return work()
        except GitLocked as error:
            if time.monotonic() + pause_s > deadline:
                raise GitLocked(_who_locks(error), told=error.told, lock=error.lock) from None
        current().check()
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.5)


def _who_locks(error: GitLocked) -> str:
    if error.lock is None:
        return f"another git works on this repository: {error}"
    holders = holders_of(Path(error.lock))
    if holders:
        return f"{error.lock} is held by {', '.join(map(str, holders))}; wait until it has ended"
    return (
        f"{error.lock} was left by a git that was killed, or is held by another user; "
        "if no git is at work there, remove it"
    )


def _flags() -> list[str]:
    flags = [f"{key}={value}" for key, value in _ALWAYS.items()]
    return ["--no-pager", *(part for flag in flags for part in ("-c", flag))]


def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise WorkspaceError("git is not installed, and workspaces need it (2.31 or newer)")
    return found


def _word(word: Word) -> str | bytes:
    return word if isinstance(word, str | bytes) else os.fspath(word)


def _named(words: tuple[Word, ...]) -> str:
    """`git worktree add`: without arguments, which may hold anything."""
    plain = [word for word in words if isinstance(word, str)]
    names = [word for word in plain[:2] if re.fullmatch(r"[a-z][a-z-]*", word)]
    return " ".join(["git", *names])


def _main_line(told: str) -> str:
    lines = [line for line in told.splitlines() if line.strip()]
    # The first complaint is what went wrong, and those after it only follow from it.
    wanted = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines[-1:]
    return wanted[0].strip()[:500] if wanted else ""
