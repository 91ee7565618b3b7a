"""How a repository gets here, by its size and by what was asked. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from paddock.core.units import GIB, MIB, format_size

from .size_rules import Answer
from .sizes import Size

SHALLOW_BYTES: Final = 100 * MIB
# History that outweighs the tree this much is old blobs that no agent will look at.
LARGE_HISTORY_BYTES: Final = 1 * GIB
LARGE_HISTORY_TIMES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """With `own_clone` paddock keeps a clone; otherwise worktrees come from the repository."""

    own_clone: bool
    because: str
    depth: int | None = None
    blobless: bool = False
    sparse: tuple[str, ...] = ()


def choose(
    *,
    local: bool,
    size: Size | None = None,
    answer: Answer = Answer.CONTINUE,
    sparse: tuple[str, ...] = (),
    password: bool = False,
) -> Strategy:
    """Directories in `sparse` are all that is checked out. `size`: None where nobody knows it.

    `password`: its address holds one. It is not written down, so nothing can be fetched later.
    """
    if answer is Answer.SPARSE and not sparse:
        raise ValueError("a sparse checkout needs the directories that are to be in it")
    if sparse:
        because = (
            f"only {', '.join(sparse)}: a sparse checkout, from a clone with settings of its own"
        )
        blobless = not (local or password)
        return Strategy(own_clone=True, because=because, blobless=blobless, sparse=sparse)
    if answer is Answer.SHALLOW:
        return Strategy(own_clone=True, because="a shallow clone was asked for", depth=1)
    if local:
        return Strategy(own_clone=False, because="on this machine: worktrees share its objects")
    return _from_afar(size, password=password)


def _from_afar(size: Size | None, *, password: bool) -> Strategy:
    if size is None and password:
        because = "nobody knows its size, and its password is not kept: the newest commit"
        return Strategy(own_clone=True, because=because, depth=1)
    if size is None:
        because = "nobody knows its size: all commits, and files when they are needed"
        return Strategy(own_clone=True, because=because, blobless=True)
    told = format_size(size.total_bytes)
    least = max(LARGE_HISTORY_BYTES, LARGE_HISTORY_TIMES * size.tree_bytes)
    if size.git_bytes >= least and not password:
        because = f"{format_size(size.git_bytes)} of history: all commits, and files when needed"
        return Strategy(own_clone=True, because=because, blobless=True)
    if size.total_bytes > SHALLOW_BYTES:
        because = f"{told} is above {format_size(SHALLOW_BYTES)}: the newest commit of one branch"
        return Strategy(own_clone=True, because=because, depth=1)
    return Strategy(own_clone=True, because=f"{told}: all of it")
