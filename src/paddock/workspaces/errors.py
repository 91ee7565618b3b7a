"""What can go wrong with a workspace: each says in a line what was wrong and what to do."""

from __future__ import annotations

import errno
import os
from typing import Final


class WorkspaceError(Exception):
    """Its text is for people, and never holds a password."""


class GitFailed(WorkspaceError):
    """git said no; `told` is all it said, without passwords."""

    def __init__(self, sentence: str, *, told: str = "") -> None:
        super().__init__(sentence)
        self.told = told


class GitTimedOut(GitFailed):
    """It was killed with everything it had started."""


class GitLocked(GitFailed):
    """A lock file of git's own stood in the way."""

    def __init__(self, sentence: str, *, told: str, lock: str | None) -> None:
        super().__init__(sentence, told=told)
        self.lock = lock


class BrokenOff(WorkspaceError):
    """Nobody wants it any more, or the daemon stops. What was half done is put right, or found."""


class Busy(WorkspaceError):
    """Another paddock, or another thread of this one, works on the same thing."""


class TakenAgain(Busy):
    """A later attempt has it by now: its files and its branch are not an earlier one's any more."""


class NoRoom(WorkspaceError):
    """Every workspace is taken, and none that is idle may go."""


class NotThere(WorkspaceError):
    """The other side answered, and has not what was asked for."""


class TooLarge(WorkspaceError):
    """More than was allowed, found out after it had been fetched."""


class UnsafePlace(WorkspaceError):
    """A path leads out of the directory that is ours, or is not what it was."""


# Of the machine and not of the run: what may be better a moment later.
_SHORT_OF: Final = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_SHORT_SAID: Final = tuple(os.strerror(number) for number in (*_SHORT_OF, errno.EAGAIN))


def is_passing(error: Exception) -> bool:
    """Whether the same may go well later; anything else would fail again in the same way."""
    if isinstance(error, GitLocked | GitTimedOut):
        return True
    if isinstance(error, GitFailed):
        return any(said in text for said in _SHORT_SAID for text in (error.told, str(error)))
    return isinstance(error, OSError) and error.errno in _SHORT_OF
