"""Which repository worktrees come from: the user's own, or a clone that paddock keeps."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from .clones import Wanted, address_of, ensure_clone
from .progress import Tell
from .records import Home, key_of
from .secrets import is_address, parted
from .size_rules import Bounds
from .sizes import Size
from .strategy import Strategy, choose
from .worktrees import Source, find_source


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a workspace is made, where it is not as usual."""

    strategy: Strategy | None = None  # None: by what is known of it
    submodules: bool = False
    fleeting: bool = False  # it goes at the end of its run
    after: str | None = None  # the run whose work is gone on with
    bounds: Bounds | None = None  # of a size that nobody knew before
    tell: Tell | None = None
    note: Callable[[str], object] | None = None  # told what is to be said of its size
    weighed: Callable[[Size], object] | None = None  # told its size, if `bounds` are asked for
    holder: int = 0  # the attempt that is given it


USUAL: Final = Manner()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run asked for; `repository` is a path, or an address that may hold a password."""

    repository: Path | str
    branch: str | None
    manner: Manner
    at: float
    source: Source | None = None  # on this machine: see `located`

    @property
    def is_afar(self) -> bool:
        return isinstance(self.repository, str) and is_address(self.repository)

    @property
    def strategy(self) -> Strategy:
        secret = self.is_afar and bool(parted(str(self.repository)).headers)
        return self.manner.strategy or choose(local=not self.is_afar, password=secret)


def located(asked: Asked) -> Asked:
    """git is asked once where it is: a slot is handed over in a few such questions."""
    if asked.is_afar or asked.strategy.own_clone:
        return asked
    return replace(asked, source=find_source(Path(asked.repository)))


def home_of(top: Path, asked: Asked) -> Home:
    """The repository's own directory among the workspaces. Nothing is fetched for it."""
    if asked.source is not None:
        common = asked.source.common
        return _home(top, str(common), _name_of(common))
    strategy, url = asked.strategy, parted(_address(asked)).url
    # One clone serves runs of the same kind: a shallow one cannot become whole for another.
    kind = f"#{strategy.depth}#{strategy.blobless}#{bool(strategy.sparse)}"
    name = url.rstrip("/").removesuffix("/.git").rpartition("/")[2].removesuffix(".git")
    return _home(top, url + kind, name)


def source_of(top: Path, home: Home, asked: Asked) -> Source:
    """Where its worktrees come from; a clone is made or brought up to date."""
    if asked.source is not None:
        return asked.source
    wanted = Wanted(
        address=_address(asked),
        strategy=asked.strategy,
        branch=asked.branch,
        tell=asked.manner.tell,
    )
    return ensure_clone(home, wanted, top=top, asked_at=asked.at)


def _address(asked: Asked) -> str:
    if asked.is_afar:
        return str(asked.repository)
    return address_of(find_source(Path(asked.repository)).common)


def _home(top: Path, what: str, name: str) -> Home:
    home = Home(top / key_of(what, name=name))
    home.make()
    return home


def _name_of(common: Path) -> str:
    path = common.parent if common.name == ".git" else common
    return os.fspath(path.name).removesuffix(".git")
