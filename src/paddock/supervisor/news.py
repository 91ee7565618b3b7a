"""Who wants to know what happened: every subscriber hears every committed change, or of a gap.

A subscriber that does not read costs a bounded number of items, then misses the oldest.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from paddock.core.fleet import Change

KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class NewsItem:
    n: int  # counts up by one; a gap means that some were missed
    at: float
    change: Change


class Subscription:
    """An async iterator of items; ends when it is closed, or the news are."""

    def __init__(self, news: News) -> None:
        self._news = news
        self._items: deque[NewsItem] = deque(maxlen=KEPT)
        self._wake = asyncio.Event()
        self._open = True

    def __aiter__(self) -> AsyncIterator[NewsItem]:
        return self

    async def __anext__(self) -> NewsItem:
        while not self._items:
            if not self._open:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        return self._items.popleft()

    def put(self, items: Sequence[NewsItem]) -> None:
        self._news.missed += max(0, len(self._items) + len(items) - KEPT)
        self._items.extend(items)
        self._wake.set()

    def close(self) -> None:
        self._open = False
        self._wake.set()
        self._news.unsubscribe(self)


class News:
    def __init__(self) -> None:
        self._subscribers: dict[Subscription, None] = {}
        self._recent: deque[NewsItem] = deque(maxlen=KEPT)
        self._n = 0
        self.missed = 0  # items, by subscribers that did not read

    @property
    def last(self) -> int:
        return self._n

    def since(self, n: int) -> list[NewsItem]:
        """What is still kept of what came after n."""
        return [item for item in self._recent if item.n > n]

    def subscribe(self, after: int | None = None) -> Subscription:
        subscription = Subscription(self)
        if after is not None:
            subscription.put(self.since(after))
        self._subscribers[subscription] = None
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscribers.pop(subscription, None)

    def publish(self, changes: Iterable[Change], *, at: float) -> None:
        items = []
        for change in changes:
            self._n += 1
            items.append(NewsItem(self._n, at, change))
        self._recent.extend(items)
        for subscriber in self._subscribers:
            subscriber.put(items)

    def close(self) -> None:
        for subscriber in list(self._subscribers):
            subscriber.close()
