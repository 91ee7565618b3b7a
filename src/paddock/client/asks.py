"""What can be asked: a request as data, with the shape of its answer. Sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

from paddock.wire.log_record import LogRecord
from paddock.wire.refs import no_such_run
from paddock.wire.views import Happening

from .errors import BadRequest, NotFound, not_understood

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ANSWER_S: Final = 60.0
LONG_S: Final = 660.0  # git is asked about every workspace, one after the other
QUIET_S: Final = 2.0  # a daemon that is well answers most things in milliseconds
LARGEST_RECORD: Final = 1 << 20  # the daemon sends 4 KiB at most
LARGEST_EVENT: Final = 16 << 20
LOOKING_S: Final = 10.0  # before it takes a run, it may look at a large repository
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Ask(msgspec.Struct, Generic[T], frozen=True):
    method: str
    path: str
    gives: type[T]
    body: bytes | Iterable[bytes] = b""
    answer_s: float | None = ANSWER_S
    quiet_s: float | None = QUIET_S  # longer is worth a word to whoever waits; None: never

    @property
    def repeatable(self) -> bool:
        """Every request of this API may come twice (a submission has its key); an upload that was
        read from somewhere cannot be read again."""
        return isinstance(self.body, bytes)


class StreamAsk(msgspec.Struct, Generic[T], frozen=True):
    """A request whose answer goes on; `reader` makes what turns its bytes into items."""

    path: str
    reader: Callable[[], Callable[[bytes], Iterable[T]]]
    method: str = "GET"
    body: bytes = b""
    answer_s: float | None = None
    headers: Mapping[str, str] = {}


def packed(value: object) -> bytes:
    """A request's body; text that is no UTF-8 (a file name, a variable) cannot be sent."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise BadRequest(f"{_where(value)} is no UTF-8 text and cannot be sent", "utf8") from None


def _where(value: object) -> str:
    variables = getattr(value, "environment", {})
    for name, text in variables.items():
        if not _is_utf8(name) or not _is_utf8(text):
            shown = name.encode("utf-8", "backslashreplace").decode()
            return f"the variable {shown} of the environment"
    return "a word of the command, or a path,"


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def path_of(run: str, *more: str) -> str:
    """The path of a run that was named by anything at all."""
    if not run:
        raise NotFound("there is no run without a name", "not_found")
    if "/" in run:  # no name or id has one, and behind it another path would begin
        raise NotFound(no_such_run(run), "not_found")
    return "/".join(("/v1/runs", _quoted(run), *more))


def _quoted(text: str) -> str:
    signs = text.encode("utf-8", "replace")
    return "".join(chr(sign) if sign in _PLAIN else f"%{sign:02X}" for sign in signs)


def with_query(path: str, **values: Any) -> str:
    """None and False are left out."""
    pairs = [
        f"{name}={1 if value is True else _quoted(str(value))}"
        for name, value in values.items()
        if value is not None and value is not False
    ]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def as_bytes() -> Callable[[bytes], Iterable[bytes]]:
    return lambda piece: (piece,)


class Record(msgspec.Struct, frozen=True):
    """Some bytes of a log, and where in it they begin. Before them so many are not kept."""

    at: int
    data: bytes
    missing_bytes: int = 0
    missing_lines: int | None = 0  # None: not known

    @property
    def end(self) -> int:
        """Where the next one begins: what to ask from, after a break."""
        return self.at + len(self.data)


def as_records() -> Callable[[bytes], Iterable[Record]]:
    """Each a line of JSON and then its bytes, as they come in pieces."""
    held = bytearray()
    head = msgspec.json.Decoder(LogRecord)

    def feed(piece: bytes) -> Iterable[Record]:
        held.extend(piece)
        begin = 0
        while (line := held.find(b"\n", begin)) >= 0:
            said = _understood(head, bytes(held[begin:line]))
            if not 0 <= said.size <= LARGEST_RECORD:
                raise not_understood(f"a record of {said.size} bytes")
            end = line + 1 + said.size
            if len(held) < end:
                break
            data = bytes(memoryview(held)[line + 1 : end])
            begin = end
            yield Record(said.at, data, said.missing_bytes, said.missing_lines)
        del held[:begin]
        if len(held) > 2 * LARGEST_RECORD:
            raise not_understood("a record without an end")

    return feed


def as_happenings() -> Callable[[bytes], Iterable[Happening]]:
    """Server-sent events, as they come in pieces; comments only show that somebody is there."""
    held = bytearray()
    happening = msgspec.json.Decoder(Happening)

    def feed(piece: bytes) -> Iterable[Happening]:
        is_whole = b"\n\n" in held[-1:] + piece  # else looking for its end anew costs ever more
        held.extend(piece)
        *messages, rest = bytes(held).split(b"\n\n") if is_whole else [held]
        held[:] = rest
        for message in messages:
            for line in message.split(b"\n"):
                if line.startswith(b"data: "):
                    yield _understood(happening, bytes(line[6:]))
        if len(held) > LARGEST_EVENT:
            raise not_understood("an event without an end")

    return feed


def _understood(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise not_understood(error) from None
