"""What can go wrong before a command runs. Each says why in one line."""

from __future__ import annotations


class NoWall(Exception):
    """There can be none. `expected`: nobody promised one here, so nobody needs to be told."""

    def __init__(self, why: str, *, expected: bool) -> None:
        super().__init__(why)
        self.expected = expected


class CannotRun(Exception):
    """The command could not be started; `code` is what a shell would end with."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


class LeaseRefused(Exception):
    """It was not had: the wait was over, or the place is not safe."""
