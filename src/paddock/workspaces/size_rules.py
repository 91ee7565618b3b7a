"""What follows from a repository's size: silence, a line, a question, a refusal; and more time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final

from paddock.core.units import GIB, MIB, MINUTE_S, format_size

from .errors import TooLarge
from .sizes import Size

SILENT_BYTES: Final = 500 * MIB
WARN_BYTES: Final = 1 * GIB
ASK_MB: Final = 5000  # `performance.max_repo_size_mb`
TOTAL_BYTES: Final = 10 * GIB

FLAGS: Final = "--yes, --shallow or --sparse DIR; in a file any_size, shallow or sparse"

CLONE_S: Final = 15 * MINUTE_S
CLONE_S_PER_100_MB: Final = 1 * MINUTE_S
# A larger tree makes every search, test and build in it longer (RUN-2).
_FACTORS: Final = ((SILENT_BYTES, 1.0), (WARN_BYTES, 1.25), (5 * GIB, 1.5))
_LARGEST_FACTOR: Final = 2.0


class Level(Enum):
    """In rising order of what it asks of people."""

    SILENT = "silent"
    NOTE = "note"
    WARN = "warn"
    ASK = "ask"
    REFUSE = "refuse"


class Answer(Enum):
    """What may be said to the question; a refusal is none of them."""

    CONTINUE = "continue"
    SHALLOW = "shallow"
    SPARSE = "sparse"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class SizeVerdict:
    """`because` is a sentence for people, and empty where there is nothing to say."""

    level: Level
    because: str = ""
    answers: tuple[Answer, ...] = ()


def total_limit_bytes(ask_mb: int = ASK_MB) -> int:
    """10 GB; where larger trees are explicitly let in, they and as much history."""
    return max(TOTAL_BYTES, 2 * ask_mb * MIB)


def judge(size: Size, *, ask_mb: int = ASK_MB) -> SizeVerdict:
    tree, total, limit = size.tree_bytes, size.total_bytes, total_limit_bytes(ask_mb)
    lfs = _about_lfs(size)
    if total > limit:
        return SizeVerdict(
            Level.REFUSE,
            f"the repository has {format_size(total)} with .git and LFS, and {format_size(limit)} "
            f"is the limit; raise performance.max_repo_size_mb (now {ask_mb}), or give a smaller "
            "clone of it",
        )
    if tree > ask_mb * MIB:
        because = (
            f"the working tree has {format_size(tree)}, more than performance.max_repo_size_mb "
            f"({ask_mb}); every workspace takes as much: continue, shallow, sparse or cancel?{lfs}"
        )
        return SizeVerdict(Level.ASK, because, tuple(Answer))
    if tree >= WARN_BYTES:
        because = f"the working tree has {format_size(tree)}; every workspace takes as much{lfs}"
        return SizeVerdict(Level.WARN, because)
    if size.lfs_files:
        return SizeVerdict(Level.WARN, lfs.removeprefix("; "))
    if tree > SILENT_BYTES:
        because = f"the working tree has {format_size(tree)}, above the {format_size(SILENT_BYTES)}"
        return SizeVerdict(Level.NOTE, f"{because} that paddock likes best")
    return SizeVerdict(Level.SILENT)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a run may have; `answered`: the question was, before it was asked."""

    ask_mb: int = ASK_MB
    answered: bool = False


def admitted(size: Size, bounds: Bounds) -> str:
    """What is said of it, if that is something; TooLarge."""
    found = judge(size, ask_mb=bounds.ask_mb)
    if found.level is Level.REFUSE:
        raise TooLarge(found.because)
    if found.level is not Level.ASK:
        return found.because
    if not bounds.answered:
        raise TooLarge(f"{found.because} ({FLAGS})")
    return ""


def _about_lfs(size: Size) -> str:
    if not size.lfs_files:
        return ""
    one = size.lfs_files == 1
    files = "1 file" if one else f"{size.lfs_files} files"
    verb = "is" if one else "are"
    return (
        f"; {files} of {format_size(size.lfs_bytes)} in all {verb} in Git LFS, and counted apart: "
        "each workspace may fetch them anew"
    )


def timeout_factor(size: Size) -> float:
    """By how much a run's timeout is longer in a repository of this size."""
    for most, factor in _FACTORS:
        if size.tree_bytes <= most:
            return factor
    return _LARGEST_FACTOR


def clone_timeout_s(size_bytes: int | None) -> float:
    """15 min and one for every 100 MB begun; of unknown size as for the largest silent one."""
    known = SILENT_BYTES if size_bytes is None else size_bytes
    return CLONE_S + CLONE_S_PER_100_MB * math.ceil(known / (100 * MIB))
