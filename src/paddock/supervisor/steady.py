"""Work beside the loop that never ends the daemon: what fails is told once, and tried again."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import ParamSpec

from paddock.storage.errors import StoreError
from paddock.workspaces.errors import WorkspaceError

P = ParamSpec("P")


class Steady:
    """`what` says what does not happen. It is told again when it fails in another way, or anew."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._told: dict[str, type[Exception]] = {}

    @contextlib.contextmanager
    def turn(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a bug in here is no reason to end either
            self.failed(what, error)
        else:
            self._told.pop(what, None)

    def guarded(self, what: str, tell: Callable[P, object]) -> Callable[P, None]:
        """For what the loop calls: a failure would be the loop's."""

        def guard(*words: P.args, **named: P.kwargs) -> None:
            try:
                tell(*words, **named)
            except Exception as error:  # noqa: BLE001 - likewise
                self.failed(what, error)

        return guard

    def failed(self, what: str, error: Exception) -> None:
        kind = type(error)
        if self._told.get(what) is kind:
            return
        self._told[what] = kind
        is_known = isinstance(error, (OSError, StoreError, WorkspaceError))
        self._log.warning(
            "%s: %s", what, str(error) or kind.__name__, exc_info=None if is_known else error
        )
