"""The environments of all that has not ended: each kept once, and gone with the last that uses it.

Runs submitted from one shell share one. How many use it is counted here and not in the database:
an index for it would cost every submission a page, and there is only one who writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import apsw

from . import codec, queries

MOST_READ: Final = 16  # that are kept as they were read


class Environments:
    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._digests: dict[int, bytes] = {}
        self._uses: Counter[int] = Counter()
        self._is_known = False
        self._last: tuple[Mapping[str, str], int] | None = None
        self._read: dict[int, Mapping[str, str]] = {}

    def forget(self) -> None:
        """What was counted may not be what is kept: a transaction was taken back."""
        self._is_known = False

    def know(self, db: apsw.Connection) -> None:
        if self._is_known:
            return
        self._last = None
        self._read.clear()
        self._digests = dict(db.execute(queries.ENVIRONMENTS))
        self._numbers = {digest: number for number, digest in self._digests.items()}
        self._uses = Counter(dict(db.execute(queries.USED_ENVIRONMENTS)))
        self._is_known = True

    def use(self, db: apsw.Connection, variables: Mapping[str, str] | None) -> int | None:
        """The number of the one that is kept, with one more that uses it."""
        if variables is None:
            return None
        if self._last is not None and variables == self._last[0]:  # a tenth of what a digest takes
            self._uses[self._last[1]] += 1
            return self._last[1]
        digest, packed = codec.environment_row(variables)
        number = self._numbers.get(digest)
        if number is None:
            number = int(db.execute(queries.PUT_ENVIRONMENT, (digest, packed)).get)
            self._numbers[digest], self._digests[number] = number, digest
        self._uses[number] += 1
        self._last = variables, number
        return number

    def last_if(self, variables: Mapping[str, str] | None) -> int | None:
        """The number of the last that was used, if these are its variables."""
        last = self._last
        return last[1] if last is not None and variables == last[0] else None

    def uses(self, number: int) -> int:
        return self._uses[number]

    def add(self, uses: Mapping[int, int]) -> None:
        """So many more, or fewer; never so few that one would have to go."""
        for number, more in uses.items():
            self._uses[number] += more

    def read(self, number: int | None, variables: bytes | None) -> Mapping[str, str] | None:
        """As a row has it. The same for all that share it: they are many, and it is long."""
        if number is None or variables is None:
            return None
        if number not in self._read:
            while len(self._read) >= MOST_READ:
                del self._read[next(iter(self._read))]
            self._read[number] = codec.environment_of(variables)
        return self._read[number]

    def use_again(self, number: int | None) -> None:
        if number is not None:
            self._uses[number] += 1

    def leave(self, db: apsw.Connection, number: int | None) -> None:
        if number is None:
            return
        self._uses[number] -= 1
        if self._uses[number] <= 0:
            db.execute(queries.DROP_ENVIRONMENT, (number,))
            del self._uses[number]
            self._last = None
            self._read.pop(number, None)
            self._numbers.pop(self._digests.pop(number, b""), None)
