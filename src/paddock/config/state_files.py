"""What lies under each name of the state directory: something else there is told before it is met.

Met by the keeper, or deep in the store, it would be "connection reset by peer" or "disk I/O error".
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

FILE, DIRECTORY, SOCKET = "a file", "a directory", "a socket"
# Only what no daemon or no run can be without: the rest costs what it is for, and says so then.
# A link to another disk is fine for what is kept for long. A lock that leads elsewhere may be the
# lock of another paddock, and a socket is made anew, over whatever is there.
LONG_KEPT: Final = {
    "paddock.db": FILE,
    "paddock.db-wal": FILE,
    "keeper": DIRECTORY,
    "keeper/attempts": DIRECTORY,
    "output": DIRECTORY,
    "checkpoints": DIRECTORY,
    "scratch": DIRECTORY,
}
NO_LINKS: Final = {
    "paddock.db.lock": FILE,
    "keeper/keeper.lock": FILE,
    "keeper/mover.lock": FILE,
    "keeper/keeper.sock": SOCKET,
}
MADE_ANEW: Final = ("instance",)  # whatever is there gives way, if it is no directory
_WORDS: Final = {
    stat.S_IFREG: FILE,
    stat.S_IFDIR: DIRECTORY,
    stat.S_IFSOCK: SOCKET,
    stat.S_IFIFO: "a pipe",
    stat.S_IFLNK: "a link",
}


def what_is_wrong(state: Path) -> str | None:
    """One line for the first that is not what it should be; what is not there yet is fine."""
    for name, wanted in (LONG_KEPT | NO_LINKS).items():
        path = state / name
        if (problem := wrong_with(path, wanted, through_links=name in LONG_KEPT)) is not None:
            return problem
    directories = (state / name for name in MADE_ANEW if (state / name).is_dir())
    return next((_told(path, DIRECTORY, FILE) for path in directories), None)


def wrong_with(path: Path, wanted: str, *, through_links: bool) -> str | None:
    found = _found(path, through_links=through_links)
    if found is None or found == wanted:
        return None
    return _told(path, found, wanted)


def _told(path: Path, found: str, wanted: str) -> str:
    return f"{path} is {found}, where paddock keeps {wanted}: move it away, and start again"


def _found(path: Path, *, through_links: bool) -> str | None:
    """None: nothing, or nothing that can be looked at, and whoever needs it will say so."""
    try:
        kind = stat.S_IFMT(path.stat(follow_symlinks=through_links).st_mode)
    except FileNotFoundError:
        return "a link that leads nowhere" if path.is_symlink() else None
    except OSError:
        return None
    return _WORDS.get(kind, "a device")
