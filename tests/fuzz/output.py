"""What agents write, on its way to a reader: bytes for a terminal, files on disk, a pod's log."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from paddock.core.run import Attempt
from paddock.drivers.kubernetes.listening import Marks, Times
from paddock.logs.names import parsed
from paddock.logs.output import OutputStore
from paddock.logs.packing import MEMBER_BYTES, Unpacker
from paddock.logs.times import since
from paddock.wire.one_line import safe
from paddock.wire.plain_text import LONGEST_ESCAPE, Cleaner

from .target import a_place, target

RUN = "20261117-run"
SECRET = b"what lies outside, 7d1f09"
_ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LINE_END = re.compile(r"\r+\n")
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_GIVES_UP = 20_000


@target(
    b"\x1b[31m", b"\x1b]52;c;", b"\x07", b"\r", b"\r\n", b"\xc2\x9b", b"\x1bP", b"\x1b\\",
    b"\xe2\x80\xae", b"\x1b[2J",
)  # fmt: skip
def display(data: bytes) -> None:
    """Nothing that acts on a terminal but colours, where they are wanted; however it is cut."""
    for colours in (True, False):
        whole = Cleaner(colours=colours).text(data)
        pieces = Cleaner(colours=colours)
        cut = "".join(pieces.text(data[at : at + 3]) for at in range(0, len(data), 3))
        for text in (whole, cut):
            left = _COLOUR.sub("", text) if colours else text
            assert not _ACTS.search(_LINE_END.sub("", left)), left
        if len(data) < LONGEST_ESCAPE:
            assert whole == cut
    line = safe(data.decode("utf-8", "replace"))
    assert "\n" not in line and not _ACTS.search(line)


@target(
    b"1.log\0", b"agent_x_20261117T000000Z.1.0-5.log\0", b"1.0-5.1.gap\0", b"1.times\0", b"\0\0",
    b"link\0", b"agent_x_20261117T000000Z.1.0-5.1.log.gz\0", b"0-999999999999999999", b".half\0",
    b"2.log\0", b"\n",
)  # fmt: skip
def log_files(data: bytes) -> None:
    """An agent may write where its output lies: names and bytes, each ended by two zero bytes."""
    with a_place() as place:
        bait, directory = place / "bait", place / "output" / RUN
        bait.write_bytes(SECRET)
        directory.mkdir(parents=True)
        for entry in data.split(b"\0\0")[:20]:
            _make(directory, *entry.partition(b"\0")[::2], bait=bait)
        store = OutputStore(directory.parent, packers=0)
        try:
            _read(store)
            store.take_up()
            _read(store)
        finally:
            store.close()
        assert bait.read_bytes() == SECRET


def _make(directory: Path, name: bytes, content: bytes, *, bait: Path) -> None:
    text = name.decode("utf-8", "surrogateescape")
    parsed(text)
    if "/" in text or text in ("", ".", ".."):
        return
    with suppress(OSError, ValueError):
        if content.startswith(b"link"):
            (directory / text).symlink_to(bait)
        elif content.startswith(b"directory"):
            (directory / text).mkdir()
        else:
            with (directory / text).open("xb") as file:  # never through a link made before
                file.write(content)


def _read(store: OutputStore) -> None:
    at, found = 0, b""
    for _ in range(_GIVES_UP):
        piece = store.piece(RUN, at, 4096)
        if not piece.data:
            break
        assert piece.at >= at
        at, found = piece.at + len(piece.data), found + piece.data
    else:
        raise AssertionError("it has no end")
    assert SECRET not in found
    size, missing = store.size(RUN), store.missing(RUN)
    assert 0 <= missing.bytes <= size
    for lines in (0, 1, 3, 1 << 40):
        assert 0 <= store.tail(RUN, lines) <= size
    assert 0 <= store.since(RUN, 1.0) <= size
    store.digest(Attempt(RUN, 1))
    store.head(Attempt(RUN, 1), 100)
    store.last(Attempt(RUN, 1), 100)


@target(b"\x1f\x8b\x08\x04", b"PK\x04\0", b"\0\0\0\0", b"\xff\xff\xff\xff")
def packed_log(data: bytes) -> None:
    with a_place() as place:
        file = place / "x.gz"
        file.write_bytes(data)
        with file.open("rb") as opened:
            unpacker = Unpacker()
            for at in (0, 1, MEMBER_BYTES, 10 * MEMBER_BYTES, 1 << 61):
                assert len(unpacker.read(opened.fileno(), at, 100)) <= 100
            assert unpacker.extent(opened.fileno()) <= (len(data) + 1) * MEMBER_BYTES


@target(
    b"\x1emark:", b"\x1e", b"mark:started\x1e", b"2026-11-17T02:00:01.000000001Z ", b"\n",
    b"+01:00 ",
)  # fmt: skip
def pod_log(data: bytes) -> None:
    """Cut in any way the same bytes are the agent's, and the same words its entry's."""
    told = []
    for cut in (len(data) or 1, 3):
        marks, kept = Marks("mark"), b""
        words: list[str] = []
        for at in range(0, len(data), cut):
            some, said = marks.split(data[at : at + cut])
            kept, words = kept + some, words + said
        told.append((kept + marks.rest(), words))
    assert told[0] == told[1]
    assert len(told[0][0]) <= len(data)
    stripped = []
    for cut in (len(data) or 1, 50):
        times = Times()
        parts = (times.strip(data[at : at + cut]) for at in range(0, len(data), cut))
        stripped.append(b"".join(part for each in parts for part in each))
    assert len(stripped[0]) <= len(data) and since([], 0.0, written_at=0.0, size=1) == 0
