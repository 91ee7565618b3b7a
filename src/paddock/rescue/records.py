"""What the daemon leaves for those who must do without it: files below `STATE/keeper`.

`home` says where its cgroups are, `attempts/RUN.N.facts` who lives there. Whatever cannot be read
or understood counts as not there: a torn file must not keep anybody from rescuing the machine.
"""

# ruff: noqa: PTH208 - os.listdir, as everywhere here
from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from paddock.cgroups.files import number
from paddock.cgroups.group import Group
from paddock.cgroups.home import FLEET, SUPERVISOR
from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2

FACTS, KILLED = ".facts", ".killed"
CRITICAL, NORMAL, LOW = 0, 2, 3
LARGEST_NUMBER = 1 << 60
LARGEST_FILE = 64 * 1024


class Records(NamedTuple):
    """Where they are, from the state directory alone."""

    state: str

    @property
    def home(self) -> str:
        return f"{self.state}/keeper/home"

    @property
    def ladder(self) -> str:
        return f"{self.state}/keeper/ladder"

    @property
    def attempts(self) -> str:
        return f"{self.state}/keeper/attempts"

    def instance(self) -> str:
        """The beginning of this paddock's marks; empty if it never ran."""
        text = _bytes_in(f"{self.state}/instance").decode("ascii", "replace").strip()
        return text if len(text) == 16 and text.isalnum() else ""


class NotOurs(Exception):
    """Says whose it is, and what to do."""


def own_records(state: str) -> Records:
    """NotOurs where somebody else could have written them: they say which cgroups and processes are
    killed, and would be believed with our rights. Root has to become that user."""
    try:
        owner = os.stat(state).st_uid  # noqa: PTH116 - as everywhere here
    except OSError:
        return Records(state)  # nothing can be read from there either
    if owner != os.geteuid():
        raise NotOurs(
            f"{state} belongs to another user, and who is to be killed is not believed from there; "
            f"do it as that user: sudo -u '#{owner}' PADDOCK_STATE={state} paddock ..."
        )
    return Records(state)


class HomeDirectory(NamedTuple):
    group: Group
    version: int

    @property
    def fleet(self) -> Group:
        return self.group.child(FLEET)

    @property
    def supervisor(self) -> Group:
        return self.group.child(SUPERVISOR)


class Facts(NamedTuple):
    """What rescue must know of an attempt in order to rank it."""

    run: str
    attempt: int
    name: str
    priority: int = NORMAL
    expected_bytes: int | None = None
    begun_at: float = 0.0


def read_home(records: Records) -> HomeDirectory | None:
    """None: there are no walls, or no daemon has moved in yet, or the machine was restarted."""
    said = object_in(records.home)
    version, directories = said.get("version"), said.get("directories")
    if not isinstance(directories, dict) or not all(map(_is_directory, directories.values())):
        return None
    group: Group
    if version == 1 and "memory" in directories:
        group = Group1(directories)
    elif version == 2 and "unified" in directories:
        group = Group2(directories["unified"])
    else:
        return None
    return HomeDirectory(group, version) if group.exists() else None


def _is_directory(path: Any) -> bool:
    return isinstance(path, str) and path.startswith("/") and ".." not in path.split("/")


def read_facts(records: Records) -> dict[str, Facts]:
    """By `RUN.N`, as the cgroups are named."""
    try:
        names = os.listdir(records.attempts)
    except OSError:
        return {}
    found = {}
    for name in names:
        if name.endswith(FACTS):
            key = name.removesuffix(FACTS)
            facts = facts_in(object_in(f"{records.attempts}/{name}"), key)
            if facts is not None:
                found[key] = facts
    return found


def facts_in(said: dict[str, Any], key: str) -> Facts | None:
    """The file's name counts: what is inside may be torn, and then only ranks worse."""
    run, _, attempt = key.rpartition(".")
    count = number(attempt)  # a process may wear any mark, and put anything into it
    if not run or count is None:
        return None
    name, priority = said.get("name"), _number(said.get("priority"))
    return Facts(
        run,
        count,
        name if isinstance(name, str) and name else run,
        int(priority) if priority is not None and CRITICAL <= priority <= LOW else NORMAL,
        _size(said.get("expected_bytes")),
        _number(said.get("begun_at")) or 0.0,
    )


def note_killed(records: Records, key: str, said: dict[str, Any]) -> None:
    """For the daemon, which only sees the death of a process, and for `paddock why`. Best effort: a
    full disk must not stop a rescue."""
    if not os.path.exists(f"{records.attempts}/{key}{FACTS}"):  # noqa: PTH110
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(f"{records.attempts}/{key}{KILLED}", flags, 0o600)
    except OSError:
        return
    try:
        os.write(descriptor, json.dumps(said).encode() + b"\n")
    except OSError:
        return
    finally:
        os.close(descriptor)


def object_in(path: str) -> dict[str, Any]:
    """One JSON object; empty where there is none. Names in it may be in any script."""
    try:
        said = json.loads(_bytes_in(path) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _bytes_in(path: str) -> bytes:
    """Empty where there is none, and of a pipe, in which nobody waits."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(descriptor, LARGEST_FILE)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and -1 < value < LARGEST_NUMBER else None


def _size(value: Any) -> int | None:
    size = _number(value)
    return None if size is None else int(size)
