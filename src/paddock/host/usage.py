"""How busy the machine's cores were, and how large directories are."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

STAT: Final = Path("/proc/stat")
WEIGHING_S: Final = 600.0
_AT_WORK: Final = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal; guests are in user


class Cores:
    """Seconds of cores in use since the last look, by anybody. Only where the kernel tells it."""

    def __init__(self, stat: Path = STAT) -> None:
        self.count = os.cpu_count() or 1
        self._stat = stat
        self._busy_s: float | None = None

    def busy_s(self) -> float | None:
        """None at the first look: there is nothing to compare with."""
        try:
            with self._stat.open(encoding="ascii") as file:
                words = file.readline().split()
            ticks = float(sum(int(words[1 + column]) for column in _AT_WORK))
        except (OSError, ValueError, IndexError, OverflowError):
            return None
        before, self._busy_s = self._busy_s, ticks / os.sysconf("SC_CLK_TCK")
        return None if before is None else max(0.0, self._busy_s - before)


async def sizes_of(directories: Sequence[Path]) -> Mapping[Path, int]:
    """Bytes on disk below each, as far as they can be read: `du`, behind everybody else."""
    if not directories:
        return {}
    words = ("nice", "-n", "19", "du", "-sk", "--", *map(os.fspath, directories))
    quiet = asyncio.subprocess.DEVNULL
    try:
        asked = await asyncio.create_subprocess_exec(
            *words, stdin=quiet, stdout=asyncio.subprocess.PIPE, stderr=quiet
        )
    except OSError:
        return {}
    try:
        said, _ = await asyncio.wait_for(asked.communicate(), WEIGHING_S)
    except TimeoutError:
        return {}
    finally:
        if asked.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                asked.kill()
            await asked.wait()
    return _read(said, directories)


def _read(said: bytes, directories: Sequence[Path]) -> dict[Path, int]:
    known = {os.fsencode(path): path for path in directories}
    found = {}
    for line in said.splitlines():
        size, _, name = line.partition(b"\t")
        if name in known and size.isdigit():
            found[known[name]] = int(size) * 1024
    return found
