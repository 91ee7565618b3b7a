"""Who has which workspace: a small file beside each, so that it survives the daemon.

TOP/KEY/RUN/            a workspace: a git worktree on the branch paddock/RUN
TOP/KEY/.RUN.json       what is known of it
TOP/KEY/.slots/ID/      one that is prepared and has no run yet, and .ID.json beside it
TOP/KEY/.gone/RUN.json  of one that was removed; its branch is still there
TOP/KEY/.clone/         paddock's own clone, where it keeps one
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from .errors import WorkspaceError
from .plain_files import put_plain, read_plain

FORMAT: Final = 1
BRANCHES: Final = "paddock/"
_RUN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.))*")
_LONGEST_RUN: Final = 100


class State(Enum):
    """MAKING: nobody was given it yet. GOING: judged, and being removed. GONE: only its branch is
    left."""

    MAKING = "making"
    SLOT = "slot"
    TAKEN = "taken"
    IDLE = "idle"
    GOING = "going"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class SavedWork:
    """The commit that holds what was not committed, while the index is as it was then."""

    commit: str
    branch: str
    index: str  # see `saving.index_mark`


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    name: str
    state: State
    repository: str  # as people wrote it, without passwords
    common: str  # the directory that holds its objects and branches
    git_dir: str  # what git keeps for this worktree
    branch: str  # empty for a slot
    base: str  # the branch it was made from, as asked; empty: what was checked out
    start: str  # the commit it began with
    made_at: float
    used_at: float
    saved: SavedWork | None = None
    fleeting: bool = False  # of a heartbeat: it goes at the end of its run, if nothing is lost
    holder: int = 0  # the attempt that was given it last; 0: nobody wrote that down
    alternates: str | None = None  # see `looking.alternates_mark`; None: nobody looked

    def to(self, state: State, *, at: float) -> Record:
        return replace(self, state=state, used_at=at)


_ALWAYS_SAID: Final = tuple(
    name
    for name in Record.__dataclass_fields__
    if name not in ("saved", "fleeting", "holder", "alternates")
)


_TEXTS: Final = ("name", "repository", "common", "git_dir", "branch", "base", "start")
_END_OF_TIME: Final = 1e11  # seconds since 1970
_UNREADABLE: Final = (
    *(OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError),
)


def check_run(run: str) -> None:
    """It becomes part of a path and of a branch's name."""
    wrong = len(run) > _LONGEST_RUN or not _RUN.fullmatch(run)
    if wrong or run.endswith((".lock", ".", ".json")):
        raise WorkspaceError(
            f"{run[:_LONGEST_RUN]!r} cannot name a workspace; letters, digits and . _ - can"
        )


def key_of(what: str, *, name: str) -> str:
    """A directory's name for one repository: readable, and different for different ones."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:40] or "repository"
    return f"{plain}-{hashlib.sha256(os.fsencode(what)).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Shelf:
    """A directory of workspaces with a record beside each."""

    directory: Path

    def path(self, name: str) -> Path:
        return self.directory / name

    def lock(self, name: str) -> Path:
        return self.directory / f".{name}.lock"

    def names(self) -> list[str]:
        """Of all that have a record: none is read."""
        with suppress(FileNotFoundError), os.scandir(self.directory) as entries:
            found = [entry.name for entry in entries]
            return sorted(name[1:-5] for name in found if name[0] == "." and name.endswith(".json"))
        return []

    def strangers(self) -> list[str]:
        """Directories without a record: nobody of us made them, so nobody of us removes them."""
        known = set(self.names())
        with suppress(FileNotFoundError), os.scandir(self.directory) as entries:
            return sorted(e.name for e in entries if e.name[0] != "." and e.name not in known)
        return []

    def read(self, name: str) -> Record | None:
        """None where there is none. WorkspaceError where there is one that cannot be read."""
        return _read(self._file(name))

    def write(self, record: Record) -> None:
        _write(self._file(record.name), record)

    def remove(self, name: str) -> None:
        for path in (self._file(name), self.lock(name)):
            path.unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self.directory / f".{name}.json"


@dataclass(frozen=True, slots=True)
class Home:
    """Everything of one repository."""

    directory: Path

    @property
    def runs(self) -> Shelf:
        return Shelf(self.directory)

    @property
    def slots(self) -> Shelf:
        return Shelf(self.directory / ".slots")

    @property
    def clone(self) -> Path:
        return self.directory / ".clone"

    @property
    def lock(self) -> Path:
        return self.directory / ".lock"

    def gone(self, run: str) -> Record | None:
        return _read(self.directory / ".gone" / f"{run}.json")

    def remember_gone(self, record: Record) -> None:
        _write(self.directory / ".gone" / f"{record.name}.json", record)

    def forget_gone(self, run: str) -> None:
        (self.directory / ".gone" / f"{run}.json").unlink(missing_ok=True)

    def make(self) -> None:
        for path in (self.directory, self.slots.directory, self.directory / ".gone"):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)


def homes(top: Path) -> Iterator[Home]:
    with suppress(FileNotFoundError), os.scandir(top) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield Home(Path(entry.path))


def _write(path: Path, record: Record) -> None:
    said = {"format": FORMAT, **asdict(record), "state": record.state.value}
    # Not while a run waits for it: on a busy disk a sync took 200 ms. What a power loss could take
    # is the record of a workspace that was handed out seconds ago, and then it is kept.
    durable = record.state in (State.IDLE, State.GOING, State.GONE)
    put_plain(path, json.dumps(said, indent=1).encode(), durable=durable)


def _check(record: Record) -> None:
    """Whatever is in it becomes part of paths and of commands."""
    kept = asdict(record.saved).values() if record.saved else ()
    texts = [*(getattr(record, name) for name in _TEXTS), *kept, record.alternates or ""]
    if any(not isinstance(text, str) or "\0" in text for text in texts):
        raise ValueError
    for text in texts:
        os.fsencode(text)
    if not all(_is_time(at) for at in (record.made_at, record.used_at)):
        raise ValueError


def _is_time(at: object) -> bool:
    return isinstance(at, int | float) and not isinstance(at, bool) and 0 <= at < _END_OF_TIME


def _read(path: Path) -> Record | None:
    try:
        said: dict[str, Any] = json.loads(read_plain(path))
        known = {field: said[field] for field in _ALWAYS_SAID}
        saved = SavedWork(**said["saved"]) if said.get("saved") else None
        if said["format"] != FORMAT:
            raise ValueError
        more: dict[str, Any] = {"saved": saved, "fleeting": bool(said.get("fleeting"))}
        more |= {"holder": int(said.get("holder", 0)), "alternates": said.get("alternates")}
        record = Record(**{**known, "state": State(said["state"]), **more})
        _check(record)
        return record
    except FileNotFoundError:
        return None
    except _UNREADABLE:
        raise WorkspaceError(f"{path} is damaged, or of a newer paddock: not touched") from None
