"""What the stand-in has asked for and seen done, a line each, on disk.

For the summary, and so that a refusal that was to come once comes once, over all attempts.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Ledger:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._lines = list(read(path))

    def note(self, what: str, step: int | None = None, **more: Any) -> None:
        line = {"at": time.time(), "what": what, "step": step, **more}
        # On a line of its own, even after one that a kill has torn.
        data = b"\n" + json.dumps(line).encode()
        with self._lock:
            # Opened each time, and whole lines at once: the attempt may be killed at any point.
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
            self._lines.append(line)

    def note_once(self, what: str, step: int, **more: Any) -> None:
        if not self.times(what, step):
            self.note(what, step, **more)

    def times(self, what: str, step: int) -> int:
        return sum(1 for line in self._lines if line["what"] == what and line["step"] == step)

    def first_until(self, step: int) -> float | None:
        """The time that the first refusal of a step stated."""
        found = (line.get("until") for line in self._lines if line["step"] == step)
        return next((until for until in found if until is not None), None)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """All whole lines; one that a kill has torn is left out."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    for line in data.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and {"what", "step"} <= found.keys():
            yield found
