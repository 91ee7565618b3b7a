"""Patterns that users write, searched in time that grows only with the text.

Python's own engine can be made to work for hours by a pattern of ten characters, and holds the
interpreter meanwhile: a daemon that stands still is killed by its keeper. RE2 cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from .mistakes import printable

LONGEST: Final = 500
_MEMORY: Final = 1 << 20  # of one pattern, compiled


class BadPattern(ValueError):
    """What is wrong with it, for people."""


class Pattern:
    def __init__(self, text: str) -> None:
        import re2  # 4 MB: only whoever looks for something

        if len(text) > LONGEST:
            raise BadPattern(f"{len(text):,} characters; {LONGEST} at most")
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MEMORY
        try:
            self._compiled: Any = re2.compile(text, options=options)
        except re2.error as error:
            reason = error.args[0] if error.args else error
            said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
            raise BadPattern(printable(said)) from None
        except UnicodeEncodeError:
            raise BadPattern("half of a character (a lone surrogate)") from None

    @property
    def groups(self) -> frozenset[str]:
        return frozenset(self._compiled.groupindex)

    def search(self, line: str) -> Mapping[str, str] | None:
        """The named groups that were found; None where nothing was."""
        found = self._compiled.search(line)
        if found is None:
            return None
        return {name: text for name, text in found.groupdict().items() if text is not None}


@lru_cache(256)
def compiled(text: str) -> Pattern:
    """Raises BadPattern."""
    return Pattern(text)
