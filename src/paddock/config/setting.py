"""What one setting is: its name, its kind, its default, whom it binds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from .kinds import Kind
from .located import written

T = TypeVar("T")

BUILT_IN: Final = "built in"


class Stricter(StrEnum):
    """In which direction a key of the whole host gets stricter; a project may only go there."""

    LOWER = "lower"
    HIGHER = "higher"
    GUARANTEED = "guaranteed"
    APART = "apart"  # from the host: who is told to live in a container stays there


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    key: str  # dotted, as in `performance.agent_timeout`
    kind: Kind[T]
    default: str  # as it would be written in a file
    about: str
    stricter: Stricter | None = None  # set: a key of the whole host

    @property
    def section(self) -> str:
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        return self.key.partition(".")[2]

    @property
    def host_wide(self) -> bool:
        return self.stricter is not None

    def built_in(self) -> T:
        return self.kind.read(written(self.default, file=BUILT_IN))
