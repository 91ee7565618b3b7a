"""System calls that change something: a test may end the world before each."""

from __future__ import annotations

from collections.abc import Callable

Step = Callable[[str], None]


def no_step(name: str) -> None: ...
