"""The relay: runs a stage of steps that stream to each other, inside one attempt.

It lives within its agent's wall, so what it imports is counted: standard library only, nothing of
paddock but itself, no threads, no event loop but `poll`. It runs from this directory alone
(`python -I -S <here>`), or as `python -I -m paddock.stream`. What it promises is in
docs/explain/streams.md.
"""

from __future__ import annotations

import sys

STAGE = "PADDOCK_STAGE"


def command() -> list[str]:
    """What starts a relay on this machine, from wherever this package is installed.

    By path: it needs no `site`, so it is the same from a virtual environment, a wheel, a checkout.
    The stage is in the variable `STAGE`, or in a file that is named after these words.
    """
    return [sys.executable, "-I", "-S", "-X", "utf8", __file__.rpartition("/")[0]]
