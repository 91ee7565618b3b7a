"""What daemon and keeper say to each other: one JSON object a line, checked before it is used.

Bytes that are no UTF-8 (paths, environments) travel as surrogate escapes, as `os.fsdecode` makes
them. A request has `id` and `do`; its reply has the same `id` and `ok`; an event has `event`.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # importing typing would cost 1.8 MB
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

VERSION = 1
SOCKET_NAME = "keeper.sock"
JOURNAL_SUFFIX = ".journal"
# Held by whoever may move output. The kernel lets go of it when its holder dies, so two never
# write at the same end of a file, even if a daemon lives on after its connection was lost.
LOCK_NAME = "keeper.lock"
MOVER_LOCK_NAME = "mover.lock"
MARK = "PADDOCK_ATTEMPT"

# The kernel refuses more than 6 MiB of arguments and environment, and 2 MiB on a usual stack.
MAX_MESSAGE_BYTES = 4 << 20
MAX_ID_LENGTH = 200
MAX_REASON_LENGTH = 1000
MAX_IDENTITIES = 1000
MAX_PID = (1 << 31) - 1  # more is no pid, and no call of the kernel takes it
# A user without rights may have 64 MiB of pipes; above that all their new pipes, also those of
# their shells, are small. 300 agents at 128 KiB stay well below; the daemon may ask for others.
DEFAULT_PIPE_BYTES = 128 << 10


class BadMessage(ValueError):
    """The other side said something that is no message, or not a whole one."""


class Refused(Exception):
    """A request that is understood and not done; `code` is for programs, the text for people."""

    def __init__(self, code: str, text: str, **facts: int) -> None:
        super().__init__(text)
        self.code = code
        self.facts = facts


def journal_name(facts: Message) -> str:
    """One a keeper: what a killed one left must not be overwritten by the next."""
    return f"{facts['pid']}-{facts['start']}{JOURNAL_SUFFIX}"


_text_of = json.JSONEncoder(separators=(",", ":")).encode  # `dumps` would make one every time


def encode(message: Message) -> bytes:
    return _text_of(message).encode() + b"\n"


def decode(line: bytes) -> Message:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise BadMessage("a message is one JSON object a line")
    return message


class Lines:
    """Cuts a stream into lines; holds at most one message that is not yet whole."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        if b"\n" not in data:
            self._hold(data)
            return []
        first, *more = data.split(b"\n")
        rest = more.pop()
        lines = [bytes(self._held) + first, *more]
        self._held = bytearray()
        self._hold(rest)
        return [line for line in lines if line.strip()]

    def _hold(self, data: bytes) -> None:
        if len(self._held) + len(data) > MAX_MESSAGE_BYTES:
            raise BadMessage(f"a message of more than {MAX_MESSAGE_BYTES} bytes")
        self._held += data


class Order:
    """One spawn, checked: what the shim and the kernel are asked for."""

    __slots__ = (
        *("attempt", "argv", "env", "cwd", "fifo", "segment", "cap_bytes", "pipe_bytes"),
        *("cgroups", "oom_score_adj", "stdin", "umask", "nofile", "limit_bytes"),
    )

    def __init__(self, asked: Message) -> None:
        self.attempt = attempt_of(asked)
        self.argv = _texts(asked, "argv")
        if not self.argv or not self.argv[0] or self.argv[0].startswith("-"):
            raise Refused("bad_request", "argv: a command is wanted, not beginning with '-'")
        self.env = _environment(asked)
        self.env.setdefault(MARK, self.attempt)
        self.cwd = path_of(asked, "cwd")
        self.fifo = path_of(asked, "fifo")
        self.segment = path_of(asked, "segment")
        self.cap_bytes = number(asked, "cap_bytes", low=0)
        self.pipe_bytes = number(asked, "pipe_bytes", low=0, default=DEFAULT_PIPE_BYTES)
        self.cgroups = _texts(asked, "cgroups")
        self.oom_score_adj = _optional(asked, "oom_score_adj", low=-1000, high=1000)
        self.stdin = path_of(asked, "stdin", default="/dev/null")
        self.umask = number(asked, "umask", low=0, high=0o777, default=0o022)
        self.nofile = _optional(asked, "nofile", low=3, high=1 << 30)
        # Kept for the daemon that comes after the one that knows it.
        self.limit_bytes = number(asked, "limit_bytes", low=0, default=0)

    def slim(self) -> None:
        """Drop what is not needed once the process is there: prompts and secrets."""
        self.argv = self.argv[:1]
        self.env = {}


def attempt_of(asked: Message) -> str:
    attempt = _text(asked, "attempt")
    if not 0 < len(attempt) <= MAX_ID_LENGTH or not attempt.isprintable():
        raise Refused("bad_request", f"attempt: 1 to {MAX_ID_LENGTH} printable characters")
    return attempt


def stop_of(asked: Message) -> Message | None:
    """Why a daemon kills, to be told to the next one; None: it did not say."""
    why = asked.get("why")
    if why is None:
        return None
    if not isinstance(why, dict):
        raise Refused("bad_request", "why: an object is wanted")
    return {name: _text(why, name)[:MAX_REASON_LENGTH] for name in ("outcome", "because")}


def number(
    asked: Message, name: str, *, low: int, high: int = 1 << 62, default: int | None = None
) -> int:
    value = asked.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise Refused("bad_request", f"{name}: a whole number from {low} to {high} is wanted")
    return value


def identities(asked: Message, name: str) -> list[tuple[int, int]]:
    """Processes, each as [pid, start]."""
    values = asked.get(name, [])
    if not isinstance(values, list):
        raise Refused("bad_request", f"{name}: a list of [pid, start] is wanted")
    found = []
    for value in values[:MAX_IDENTITIES]:
        if not isinstance(value, list) or [type(one) for one in value] != [int, int]:
            raise Refused("bad_request", f"{name}: a list of [pid, start] is wanted")
        if 1 < value[0] <= MAX_PID:
            found.append((value[0], value[1]))
    return found


def _optional(asked: Message, name: str, *, low: int, high: int) -> int | None:
    return None if asked.get(name) is None else number(asked, name, low=low, high=high)


def _text(asked: Message, name: str, default: str | None = None) -> str:
    value = asked.get(name, default)
    if not isinstance(value, str):
        raise Refused("bad_request", f"{name}: text is wanted")
    return _passable(name, value)


def _passable(name: str, value: str) -> str:
    """The kernel takes no NUL, and no surrogate that stands for no byte."""
    sound = "\0" not in value
    if not value.isascii():
        try:
            os.fsencode(value)
        except UnicodeEncodeError:
            sound = False
    if not sound:
        raise Refused("bad_request", f"{name}: holds what no path or argument can hold")
    return value


def path_of(asked: Message, name: str, default: str | None = None) -> str:
    value = _text(asked, name, default)
    if not value.startswith("/"):
        raise Refused("bad_request", f"{name}: an absolute path is wanted")
    return value


def _texts(asked: Message, name: str) -> list[str]:
    values = asked.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise Refused("bad_request", f"{name}: a list of texts is wanted")
    return [_passable(name, value) for value in values]


def _environment(asked: Message) -> dict[str, str]:
    """Names are not repeated in errors with their values: those may be secrets."""
    values = asked.get("env")
    if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
        raise Refused("bad_request", "env: an object of texts is wanted")
    for name, value in values.items():
        if not name or "=" in name:
            raise Refused("bad_request", "env: a name is empty or holds '='")
        _passable("env", name)
        _passable("env", value)
    return values
