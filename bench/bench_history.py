"""90 days of 300 agents, each a group of its own, in a real store: its size, and what it costs.

Targets: below 50 MB; nothing of it is loaded at the start (10 MB in all, REPO-5). Told beside them:
one batch of the daemon with all 300 groups in it, and what the store's opening takes with and
without this past. Seconds are this machine's; sizes are every machine's.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from random import Random

import msgspec
from ground import keep

from paddock.storage.rollup import DAY_S
from paddock.storage.sqlite import open_store
from tests.kit.long_past import DAYS, a_minute, fill

AGENTS = 300
MOST_BYTES = 50_000_000
UNTIL_AT = 1_790_000_000 // DAY_S * DAY_S


def opening_s(path: Path) -> float:
    begun = time.perf_counter()
    store = open_store(path)
    taken = time.perf_counter() - begun
    store.close()
    return taken


def main() -> int:
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as directory:
        path, empty = Path(directory) / "state/paddock.db", Path(directory) / "empty/paddock.db"
        store = open_store(path)
        rows = fill(store, agents=AGENTS, until_at=UNTIL_AT)
        batch = a_minute(UNTIL_AT - 60, AGENTS, Random(1))
        begun = time.perf_counter()
        store.record(batch, now_at=UNTIL_AT)
        batch_s = time.perf_counter() - begun
        loaded = len(msgspec.json.encode(msgspec.to_builtins(store.load())))
        store.close()
        size = path.stat().st_size
        open_store(empty).close()
        found = {
            "agents": AGENTS,
            "days": DAYS,
            "rows": rows,
            "bytes": size,
            "loaded_bytes": loaded,
            "batch_of_all_groups_s": round(batch_s, 4),
            "opening_s": round(min(opening_s(path) for _ in range(3)), 4),
            "opening_empty_s": round(min(opening_s(empty) for _ in range(3)), 4),
        }
    print(f"{DAYS} days of {AGENTS} agents: {size / 1e6:.1f} MB in {rows:,} rows")
    print(f"loaded at the start: {loaded:,} bytes; all 300 groups once: {batch_s * 1e3:.0f} ms")
    print(f"opening: {found['opening_s']} s, an empty one {found['opening_empty_s']} s")
    keep("history", found)
    return 0 if size < MOST_BYTES and loaded < 10_000_000 else 1


if __name__ == "__main__":
    sys.exit(main())
