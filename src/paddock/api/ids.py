"""Ids of runs, made from the key of their submission: asked for twice, they are the same."""

from __future__ import annotations

import hashlib
import re
from typing import Final

# Without i, l, o, 0 and 1, which people mix up when they read them to each other.
LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"
LENGTH: Final = 8
LONGEST_KEY: Final = 200
# Two at a time is half the divisions.
_PAIRS: Final = tuple(first + second for second in LETTERS for first in LETTERS)
_KEY: Final = re.compile(r"[!-~]{8,200}")


def is_key(text: str) -> bool:
    """Long enough that two submitters do not meet by accident."""
    return _KEY.fullmatch(text) is not None


def id_of(key: str, index: int, *, turn: int = 0) -> str:
    """8 characters of 31: with 10,000 runs about, one new id in 85 million is taken already, and
    then the next turn gives another."""
    digest = hashlib.sha256(f"{key}\0{index}\0{turn}".encode()).digest()
    number = int.from_bytes(digest[:8], "big")
    found = ""
    for _ in range(LENGTH // 2):
        number, pair = divmod(number, len(_PAIRS))
        found += _PAIRS[pair]
    return found
