"""The typed Python client: sync and async from one source. Knows the wire, not the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .asks import Record
from .errors import BadRequest, ClientError, Failed, NoDaemon, NotFound, Refused, Trouble
from .synchronous import Client

if TYPE_CHECKING:
    from .asynchronous import AsyncClient

__all__ = [
    "AsyncClient",
    "BadRequest",
    "Client",
    "ClientError",
    "Failed",
    "NoDaemon",
    "NotFound",
    "Record",
    "Refused",
    "Trouble",
]


def __getattr__(name: str) -> Any:
    """asyncio takes as long to import as all the rest: only who asks for it pays."""
    if name == "AsyncClient":
        from .asynchronous import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
