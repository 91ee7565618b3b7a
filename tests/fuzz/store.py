"""What the store and a cluster hold: rows, rollups, quantities."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal
from typing import Any

from paddock.api.history import _group, _point
from paddock.cluster.quantities import LARGEST, NoQuantity, bytes_of, number_of, size_text
from paddock.cluster.quota import lines_of, never_fits, plain, short_of
from paddock.core.breaker import Closed, HalfOpen, Open
from paddock.core.heartbeat import Heartbeat
from paddock.core.run import Ended, Queued, Running, RunSpec, Starting, Stopping
from paddock.core.sizing import SizeFacts
from paddock.storage import codec
from paddock.storage.rollup import UNREADABLE, added, fleet_span, group_span, packed

from .target import is_clear, target, told

KINDS: tuple[Any, ...] = (
    *(RunSpec, Queued, Starting, Running, Stopping, Ended),
    *(Heartbeat, SizeFacts, Closed, Open, HalfOpen),
    tuple[float, ...],
    dict[str, float],
)


@target(
    b'{"$float": "inf"}', b'{"$float": [1]}', b'{"$float": "x"}', b"null", b"[" * 900, b"\\ud800",
    b"1e999", b"-1", b'{"id": "a", "name": "a", "group": "g", "limit_bytes": 1}',
    b'{"since_at": 1.0}', b'{"at": ',
)  # fmt: skip
def store_rows(data: bytes) -> None:
    """A row that rotted, or of another version: the facts, or Broken."""
    text = data.decode("utf-8", "replace")
    for kind in KINDS:
        try:
            found = codec.unpack(text, kind)
        except codec.Broken as error:
            told(str(error))
            continue
        once = codec.pack(found)
        assert codec.pack(codec.unpack(once, kind)) == once
    for read in (codec.run_of, codec.group_of):
        for word in ("running", "ended", "closed", text[:20]):
            facts = (text, text, text) if read is codec.group_of else (text, text)
            try:
                read((text, word, *facts))
            except codec.Broken:
                continue
    with suppress(codec.Broken):
        codec.recipe_of((data, data, None, text), codec.environment_of(data))


@target(
    b"\xdc\x00\x10", b"\xcb\x7f\xf8\0\0\0\0\0\0", b"\x80", b"\xcf" + b"\xff" * 8, b"\x91" * 900,
    b"\xc0", b"\x81\x01\x02",
)  # fmt: skip
def rollups(data: bytes) -> None:
    """A packed span that rotted is a gap; one that is read can be added to and shown."""
    for of_group, read in ((False, fleet_span), (True, group_span)):
        try:
            span: Any = read(data)
            again = added(data, data, of_group=of_group)
        except UNREADABLE:
            continue
        assert read(packed(span)) == span and again
        shown: Any = _point(1, span) if not of_group else _group("g", span, [1], last_run=None)
        assert shown is not None


@target(b"1e", b"Ki", b"E", b"m", b"1.5Gi", b".", b"+", b"999999999", b"e-9", b"i", b"\xd9\xa3")
def quantities(data: bytes) -> None:
    """A quantity between what Kubernetes can hold, soon; or NoQuantity in one line."""
    text = data.decode("utf-8", "replace")
    try:
        number = number_of(text)
    except NoQuantity as error:
        told(str(error))
        return
    assert -LARGEST <= number <= LARGEST and math.isfinite(number)
    assert len(plain(number)) < 200
    size = bytes_of(text)
    if size > 0:
        assert bytes_of(size_text(size)) == size
    said = {"memory": text}
    quota = {"metadata": {"name": "q"}, "spec": {"hard": said}, "status": {"used": said}}
    lines, asked = lines_of([quota]), {"memory": Decimal(1)}
    for why in (short_of(asked, lines), never_fits(asked, lines)):
        assert why is None or is_clear(why)
