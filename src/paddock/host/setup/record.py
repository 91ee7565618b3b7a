"""What setup has changed on this host, written down before each change is made."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from paddock.host.prepared import STATE
from paddock.host.setup.changes import (
    Change,
    EditLines,
    HandDown,
    Own,
    SetParameter,
    WriteFile,
    as_json,
    from_json,
    key_of,
)
from paddock.host.setup.doing import put
from paddock.host.setup.ground import Failed, Ground

FILE: Final = f"{STATE}/setup.json"
FORMAT: Final = 1


class Record:
    """In the order in which the changes were made; the same thing is never in it twice."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._changes = {key_of(change): change for change in _read(ground)}

    @property
    def changes(self) -> list[Change]:
        return list(self._changes.values())

    def __contains__(self, change: Change) -> bool:
        return key_of(change) in self._changes

    def add(self, change: Change) -> None:
        """What was there before the first of two changes is what there was before setup."""
        key = key_of(change)
        self._changes[key] = _joined(self._changes.get(key), change)
        self._write()

    def remove(self, change: Change) -> None:
        del self._changes[key_of(change)]
        self._write()

    def _write(self) -> None:
        said = {"format": FORMAT, "changes": [as_json(each) for each in self.changes]}
        try:
            if self._changes:
                put(self._ground.at(FILE), json.dumps(said, indent=1) + "\n")
            else:
                self._ground.at(FILE).unlink(missing_ok=True)
        except OSError as error:
            raise Failed(f"{FILE} cannot be written: {error.strerror}") from error


def _joined(first: Change | None, then: Change) -> Change:
    if first is None:
        return then
    if isinstance(first, EditLines) and isinstance(then, EditLines):
        off = dict.fromkeys((*first.off, *then.off))
        add = dict.fromkeys((*first.add, *then.add))
        return replace(then, off=tuple(off), add=tuple(add))
    if isinstance(first, HandDown) and isinstance(then, HandDown):
        return replace(then, controllers=tuple(sorted({*first.controllers, *then.controllers})))
    if isinstance(first, WriteFile) and isinstance(then, WriteFile):
        return replace(then, old=first.old)
    if isinstance(first, SetParameter) and isinstance(then, SetParameter):
        return replace(then, old=first.old)
    if isinstance(first, Own) and isinstance(then, Own):
        return replace(then, old=first.old)
    return then


def _read(ground: Ground) -> list[Change]:
    text = ground.text(FILE)
    if text is None:
        return []
    try:
        said = json.loads(text)
        if said["format"] != FORMAT:
            raise ValueError(f"its format is {said['format']}")
        return [from_json(each) for each in said["changes"]]
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(
            f"{FILE} cannot be understood ({error}); it says what setup changed, so nothing is "
            "changed before somebody has looked at it"
        ) from error


@contextlib.contextmanager
def alone(ground: Ground) -> Iterator[None]:
    """Two at once would take each other's changes for what was there before."""
    directory = ground.at("/run")
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(
        directory / "paddock-setup.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600
    )
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Failed("another `paddock host setup` is at work; wait for it to end") from None
    try:
        yield
    finally:
        os.close(descriptor)
