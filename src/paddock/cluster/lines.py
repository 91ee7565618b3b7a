"""What an API server goes on telling, line by line; a line that is dead is noticed.

Between us and a server there may be something that forgets a connection and tells nobody: then
nothing more comes, and no error either. So a watch is asked for a while only. When the server has
not ended it by then, nobody is there any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx2

CONNECT_S: Final = 5.0
OPEN_S: Final = 20.0  # until the server begins to answer
WATCH_S: Final = 60
LATE_S: Final = 15.0  # a server's minute may be a little longer than ours
QUIET_LOG_S: Final = 900.0  # an agent may think for so long; then its log is asked for anew


async def changes(
    client: httpx2.AsyncClient,
    path: str,
    asked: Mapping[str, str],
    *,
    watch_s: int = WATCH_S,
    late_s: float = LATE_S,
) -> AsyncGenerator[str, None]:
    """Events as JSON, also those that only say how far it has come (bookmarks)."""
    import httpx2

    known = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(watch_s)}
    timeout = httpx2.Timeout(watch_s + late_s, connect=CONNECT_S)
    request = client.build_request("GET", path, params={**known, **asked}, timeout=timeout)
    async with asyncio.timeout(OPEN_S):
        answer = await client.send(request, stream=True)
    try:
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            yield line
    finally:
        await answer.aclose()
