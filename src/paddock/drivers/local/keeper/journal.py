"""The journal: that attempts began and how they ended, until the daemon has it.

It outlives the keeper. One JSON object a line; the first names the keeper and the boot. A torn
line is skipped by readers.
"""

# pathlib would cost 1.4 MB and contextlib 0.6 MB of memory.
# ruff: noqa: PTH104, PTH108, PTH123, SIM105
from __future__ import annotations

import errno
import os
import stat

from .protocol import BadMessage, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .protocol import Message

# Below this a rewrite costs more than the lines it saves.
REWRITE_ABOVE_BYTES = 64 << 10


class Journal:
    """Appends beginnings and endings. `sync` is apart from `add`: one fsync for all of a turn.

    With a daemon connected nobody calls `sync`: the daemon commits the ending itself, and an fsync
    of 2 s here would hold up a kill. What is written outlives the keeper without it; only a power
    loss would take it, and then every agent is gone too.
    """

    __slots__ = ("_descriptor", "_header", "_path", "_size", "_whole", "unsynced")

    def __init__(self, path: str, header: Message) -> None:
        self._path = path
        self._header = header
        self._descriptor = -1
        self._size = 0
        self._whole = False  # False: the file lacks something, and the next chance rewrites it all
        self.unsynced = False

    def begin(self) -> None:
        """From the keeper's first moment: a dead one has always left a journal behind."""
        self._rewrite([])

    def add(self, record: Message, unforgotten: Callable[[], list[Message]]) -> None:
        """Never raises: with a full disk the endings are still in memory, for `list`."""
        if self._whole:
            self._append(record)
        else:
            self._rewrite(unforgotten())

    def forgot(self, left: int, unforgotten: Callable[[], list[Message]]) -> None:
        """Keeps the file small: rewritten when it is mostly of what is forgotten."""
        if not self._whole or self._size > REWRITE_ABOVE_BYTES + 1024 * left:
            self._rewrite(unforgotten())

    def again(self, unforgotten: Callable[[], list[Message]]) -> None:
        """Somebody removed the file: what is written to it now, nobody will read."""
        if not os.access(self._path, os.F_OK):
            self._rewrite(unforgotten())

    def sync(self) -> None:
        if self._descriptor < 0 or not self.unsynced:
            return
        try:
            os.fdatasync(self._descriptor)
            self.unsynced = False
        except OSError:
            self._whole = False

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _append(self, record: Message) -> None:
        line = encode(record)
        try:
            self._whole = os.write(self._descriptor, line) == len(line)
            self._size += len(line)
            self.unsynced = True
        except OSError:
            self._whole = False

    def _rewrite(self, records: list[Message]) -> None:
        self.close()
        fresh = self._path + ".new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        text = b"".join(encode(record) for record in [self._header, *records])
        try:
            _remove(fresh)  # of one that was killed; or an agent's pipe, in which we would wait
            self._descriptor = os.open(fresh, flags, 0o600)
            self._whole = os.write(self._descriptor, text) == len(text)
            if not self._whole and os.access(self._path, os.F_OK):
                self.close()  # on a disk that is full the old one knows more
                os.unlink(fresh)
                return
            os.rename(fresh, self._path)
            self._size = len(text)
            self.unsynced = True
        except OSError:
            self._whole = False


def read_journal(path: str) -> list[Message]:
    """All whole lines, the header first; nothing if there is no journal."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return []
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return []
    with open(descriptor, "rb") as file:
        lines = file.read().split(b"\n")
    records = []
    for line in lines:
        try:
            records.append(decode(line))
        except BadMessage:
            continue
    return records


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
