"""One attempt as the driver knows it, from the order to start it until it is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from paddock.core.events import Event
from paddock.core.run import Attempt
from paddock.drivers.kubernetes.listening import Listener
from paddock.ports import Stop

Tell = Callable[[Event], None]
Object = dict[str, Any]


@dataclass(slots=True, eq=False)
class Life:
    attempt: Attempt
    job: str
    mark: str
    tell: Tell
    limit_bytes: int = 0
    created: bool = False  # the API server has its Job
    pod: Object | None = None  # as last seen
    started: bool = False
    over: bool = False
    forgotten: bool = False
    stop: Stop | None = None  # we kill it
    termed: bool = False  # we told it to leave
    ending: bool = False  # somebody is at it
    given_up: tuple[str, bool] | None = None  # it will not run: why, and whether for good
    noticed: bool = False
    because: str = ""  # why it does not run yet, as last told
    told_at: float = 0.0
    born_at: float = 0.0
    asks: set[str] = field(default_factory=set)
    listener: Listener | None = None
    listening: asyncio.Task[None] | None = None
    skip: int = 0  # bytes of its output that another daemon kept
    settling: bool = False
    used_bytes: int = 0
    peak_bytes: int = 0
    cpu_s: float = 0.0
    gauged_at: float | None = None

    def is_killed(self) -> bool:
        return self.stop is not None

    @property
    def pod_name(self) -> str | None:
        return None if self.pod is None else str(self.pod["metadata"]["name"])
