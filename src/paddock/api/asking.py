"""A request as handlers see it: what its path, its query and its body say. Checked, or declined."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec

from .bodies import MIB, Bodies, Body
from .problems import Declined, bad_request, too_large

T = TypeVar("T")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
SMALL: Final = MIB
LARGEST_NUMBER: Final = 1 << 62
FLAGS: Final = {"1": True, "true": True, "": True, "0": False, "false": False}
LATEST_AT: Final = 1e11  # seconds since 1970; whoever says more means something else
# As JSON writes it: Python would also take 1_000, blanks, and digits of other scripts.
_NUMBER: Final = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,2})?")
_DECODERS: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}


class Gone(Exception):
    """Whoever asked has left: nobody reads an answer."""


class Asked:
    __slots__ = ("bodies", "path", "query", "receive", "scope")

    def __init__(
        self, scope: Message, receive: Receive, known: frozenset[str], bodies: Bodies
    ) -> None:
        self.scope = scope
        self.receive = receive
        self.bodies = bodies
        self.path: dict[str, str] = scope.get("path_params", {})
        raw: bytes = scope["query_string"]
        self.query = _query(raw, known) if raw else {}

    def text(self, name: str) -> str | None:
        return self.query.get(name)

    def flag(self, name: str) -> bool:
        value = self.query.get(name, "0")
        if value not in FLAGS:
            raise bad_request(f"{name}: found {value[:20]!r}; allowed: 1 or 0")
        return FLAGS[value]

    def whole(self, name: str, *, most: int = LARGEST_NUMBER) -> int | None:
        value = self.query.get(name)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit() and len(value) < 20 and int(value) <= most):
            raise bad_request(f"{name}: found {value[:20]!r}; allowed: 0 to {most:,}")
        return int(value)

    def moment(self, name: str) -> float | None:
        value = self.query.get(name)
        if value is None:
            return None
        if not _NUMBER.fullmatch(value) or float(value) > LATEST_AT:
            raise bad_request(f"{name}: found {value[:20]!r}; allowed: seconds since 1970")
        return float(value)

    def header(self, name: bytes) -> str | None:
        found = (value for key, value in self.scope["headers"] if key == name)
        value = next(found, None)
        return None if value is None else value.decode("latin-1")

    async def chunks(self, *, most: int, size: int = 0) -> AsyncIterator[bytes]:
        """The body as it comes, after as much as was read; Gone when its sender leaves."""
        more = True
        while more:
            piece, more = await self._piece()
            size += len(piece)
            if size > most:
                raise _too_large(most)
            yield piece

    async def body(self, kind: type[T], *, most: int = SMALL) -> T:
        announced = self.header(b"content-length") or "0"
        if announced.isdigit() and (len(announced) > 18 or int(announced) > most):
            raise _too_large(most)
        piece, more = await self._piece()
        if more:
            return await self._large(piece, kind, most)
        if len(piece) > most:
            raise _too_large(most)
        return decode(piece, kind)

    async def _large(self, first: bytes, kind: type[T], most: int) -> T:
        """One that does not come all at once."""
        with Body(self.bodies) as body:
            body.add(first)
            async for piece in self.chunks(most=most, size=len(first)):
                body.add(piece)
            with body.view() as pages, pages[: body.size] as whole:
                return decode(whole, kind)

    async def _piece(self) -> tuple[bytes, bool]:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise Gone
        return message.get("body", b""), message.get("more_body", False)


def _too_large(most: int) -> Declined:
    return too_large(f"the request is larger than the {most // MIB:,} MiB allowed")


def decode(body: bytes | memoryview, kind: type[T]) -> T:
    """The shape, or one line that names the place and never the value."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    try:
        found: T = decoder.decode(body)
    except msgspec.ValidationError as error:
        raise bad_request(f"this is no {kind.__name__}: {_without_values(str(error))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise bad_request("the request is no JSON in UTF-8") from None
    except RecursionError:
        raise bad_request("the request is nested too deeply") from None
    return found


def _without_values(text: str) -> str:
    """msgspec quotes the word that is none of those allowed; it may be somebody's secret."""
    if not text.startswith("Invalid enum value"):
        return text
    return f"a word that is not allowed - at {text.rpartition(' - at ')[2]}"


def _query(raw: bytes, known: frozenset[str]) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, max_num_fields=20, errors="strict"
        )
    except ValueError:
        raise bad_request("the query of the address cannot be read") from None
    for name, _ in pairs:
        if name not in known:
            allowed = ", ".join(sorted(known)) or "none"
            raise bad_request(f"{name[:40]!r} is no word of this query; allowed: {allowed}")
    return dict(pairs)
