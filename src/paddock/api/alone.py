"""One submission of a key at a time."""

from __future__ import annotations

import asyncio

from .desk import Desk
from .ids import is_key
from .problems import bad_request


class alone:  # noqa: N801 - it reads as a word
    """A repeated request waits for the first: its answer may be the one that was lost."""

    def __init__(self, desk: Desk, key: str) -> None:
        if not is_key(key):
            message = "key: found what is no key; allowed: 8 to 200 visible ASCII characters"
            raise bad_request(message)
        self._under_way, self._key = desk.under_way, key

    async def __aenter__(self) -> None:
        while (waiting := self._under_way.get(self._key)) is not None:
            others = asyncio.get_running_loop().create_future()
            waiting.append(others)
            await others
        self.begin()

    async def __aexit__(self, *_: object) -> None:
        self.end()

    def begin(self) -> None:
        self._under_way[self._key] = []

    def end(self) -> None:
        for waiting in self._under_way.pop(self._key):
            if not waiting.done():
                waiting.set_result(None)
