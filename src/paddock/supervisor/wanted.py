"""Which repository a run works in, and how: what its recipe says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from paddock.ports import Launch
from paddock.supervisor.keepsakes import AFTER_LABEL
from paddock.workspaces.secrets import is_address, parted
from paddock.workspaces.size_rules import ASK_MB, Answer, Bounds
from paddock.workspaces.sources import Manner
from paddock.workspaces.strategy import Strategy, choose

REPOSITORY_LABEL: Final = "repo"  # what is asked for, as JSON: see `Wanted`
# The whole address where it holds a password: environments go with the end and show nowhere.
ADDRESS: Final = "PADDOCK_REPOSITORY"
MARKER_LABEL: Final = "ready_marker"
READY: Final = "PADDOCK_READY"  # the file that would say so; a commit's message may as well
FLEETING_LABEL: Final = "fleeting"  # of a heartbeat's runs: their workspaces go with their end


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which repository, and how much of it. Lies in the recipe's labels."""

    repository: str  # a path, or an address
    branch: str | None = None
    shallow: bool = False
    sparse: tuple[str, ...] = ()
    submodules: bool = False
    any_size: bool = False
    ask_mb: int = ASK_MB  # above that the size is a question
    fleeting: bool = False
    after: str | None = None  # the run that this one goes on with

    @property
    def place(self) -> Path | str:
        return Path(self.repository) if self.repository.startswith("/") else self.repository

    @property
    def manner(self) -> Manner:
        answered = self.any_size or self.shallow or bool(self.sparse)
        bounds = Bounds(self.ask_mb, answered) if is_address(self.repository) else None
        return Manner(
            strategy=self._strategy,
            submodules=self.submodules,
            fleeting=self.fleeting,
            after=self.after,
            bounds=bounds,  # a path was measured before it was taken
        )

    @property
    def _strategy(self) -> Strategy | None:
        if not (self.shallow or self.sparse):
            return None
        local = self.repository.startswith("/")
        answer = Answer.SPARSE if self.sparse else Answer.SHALLOW
        secret = not local and bool(parted(self.repository).headers)
        return choose(local=local, answer=answer, sparse=self.sparse, password=secret)


def wanted_by(launch: Launch) -> Wanted:
    wanted = msgspec.json.decode(launch.labels[REPOSITORY_LABEL], type=Wanted)
    whole = launch.environment.get(ADDRESS, wanted.repository)
    fleeting = FLEETING_LABEL in launch.labels
    after = launch.labels.get(AFTER_LABEL)
    return msgspec.structs.replace(wanted, repository=whole, fleeting=fleeting, after=after)
