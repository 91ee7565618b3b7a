"""How much of a run's output is kept: LOG-1 and LOG-2 as numbers. Touches no file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LOGS_LABEL: Final = "logs"  # of a run: its settings, as `logs_label` writes them
MIB: Final = 1 << 20
VERBOSE_BYTES_A_S: Final = MIB / 60
VERBOSE_BUFFER_BYTES: Final = 50 * MIB
NO_CAP_BYTES: Final = 1 << 50


def logs_label(buffer_bytes: int, total_bytes: int, *, files: int, full: bool) -> str:
    return f"{buffer_bytes} {total_bytes} {files} {int(full)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    buffer_bytes: int = 10 * MIB
    total_bytes: int = 50 * MIB
    files: int = 3
    full: bool = False  # keep everything

    @classmethod
    def of(cls, labels: Mapping[str, str], usual: Keeping) -> Keeping:
        """What a run's labels say; the usual where they say nothing that can be understood."""
        try:
            buffer_bytes, total_bytes, files, full = map(int, labels[LOGS_LABEL].split())
        except (KeyError, ValueError):
            return usual
        if min(buffer_bytes, total_bytes, files) < 1:
            return usual
        return cls(buffer_bytes=buffer_bytes, total_bytes=total_bytes, files=files, full=bool(full))

    def limit_bytes(self, *, size_bytes: int, age_s: float) -> int:
        """How large the live file may become. Never more than half of the total: after a rotation
        there is always something older to go back to."""
        if self.full:
            return self.buffer_bytes
        half = max(1, self.total_bytes // 2)
        usual = min(self.buffer_bytes, half)
        if size_bytes < usual or size_bytes <= age_s * VERBOSE_BYTES_A_S:
            return usual
        return max(usual, min(VERBOSE_BUFFER_BYTES, half))

    @property
    def alone_bytes(self) -> int:
        """What may gather in one file while no daemon is there to rotate it."""
        return NO_CAP_BYTES if self.full else max(self.total_bytes, self.buffer_bytes)
