"""Whether the store of a daemon that is gone knows anybody who has not ended. Leaves no trace."""

from __future__ import annotations

import os

# Runs that wait in the queue, and heartbeats: neither has a process that could be seen.
_ANYBODY = """
SELECT EXISTS (SELECT 1 FROM runs WHERE ended_at IS NULL) OR EXISTS (SELECT 1 FROM heartbeats)
"""


def anybody_waits(store: str) -> bool:
    """True also where it cannot be told: then a daemon is to look."""
    if not os.path.exists(store):  # noqa: PTH110 - as everywhere in this room
        return False
    if os.path.exists(f"{store}-wal"):  # noqa: PTH110 - it died, and not all is in the file itself
        return True
    import sqlite3
    from urllib.parse import quote

    try:
        # Immutable, or SQLite would lay files beside it.
        database = sqlite3.connect(f"file:{quote(store)}?mode=ro&immutable=1", uri=True)
        try:
            return bool(database.execute(_ANYBODY).fetchone()[0])
        finally:
            database.close()
    except sqlite3.Error:
        return True
