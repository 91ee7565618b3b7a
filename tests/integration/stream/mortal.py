"""A relay that is killed at its nth touch of the outside: `python mortal.py ROOM NTH [STAGE.json]`.

Every read, write, sync, rename, start is a place to die before; with NTH below 0, after; with 0 it
lives. LONG_BYTES in the environment is from where on its journal is shortened.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

TOUCHES = (
    *("write", "fsync", "fdatasync", "rename", "unlink", "ftruncate", "posix_spawn", "splice"),
    *("waitpid", "readv", "open"),
)


def main(room: str, nth: int, words: list[str]) -> int:
    sys.path.append(room.rpartition("/")[0])
    from stream import relay, shortening  # type: ignore[import-not-found]

    shortening.LONG_BYTES = int(os.environ.get("LONG_BYTES", shortening.LONG_BYTES))
    left = [abs(nth)]

    def mortal(real: Callable[..., Any]) -> Callable[..., Any]:
        def touch(*args: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and nth > 0:
                os.kill(os.getpid(), 9)
            answer = real(*args, **more)
            if left[0] == 0:
                os.kill(os.getpid(), 9)
            return answer

        return touch

    if nth:
        for name in TOUCHES:
            setattr(os, name, mortal(getattr(os, name)))
    return int(relay.main(words))


if __name__ == "__main__":
    os._exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
