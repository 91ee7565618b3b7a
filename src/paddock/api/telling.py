"""Events as they are sent: each is written once, however many read it."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from paddock.supervisor.clock import Clock
from paddock.supervisor.news import KEPT, NewsItem

from .views_of import happening


class Told:
    """Keeps as many as the news keep; one that is older is written again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def of(self, clock: Clock, item: NewsItem) -> bytes:
        known = self._kept.get(item.n)
        if known is None:
            data = msgspec.json.encode(happening(clock, item))
            known = self._kept[item.n] = b"id: %d\ndata: %b\n\n" % (item.n, data)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return known
