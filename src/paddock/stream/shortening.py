"""A journal that has grown long is written anew, with what a later life needs and nothing else.

Acknowledgements are the most of it, and only the last one counts. Of chunks it needs those that are
kept, and those that a replay is compared with: always the last ones of a stream.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .ledger import Ledger, Link, Record

LONG_BYTES = 1 << 20


def shortened(lines: Iterable[bytes], ledger: Ledger) -> Iterator[Record]:
    """The records, after the header, that lead to the same ledger as `lines` do. Those are read
    once and not held: `past` is in them, and in no memory, while a stage runs."""
    for step in sorted(ledger.done):
        yield {"done": step}
    begun: set[int] = set()
    chunks = _last_chunks(lines, ledger)
    for said in chunks:
        link = said["link"]
        if link not in begun:
            begun.add(link)
            yield {"from": {"link": link, "n": said["n"], "at": said["at"]}}
        yield {"seal": said}
    for each in ledger.links:
        if each.index not in begun:
            yield {"from": {"link": each.index, "n": each.number, "at": each.sealed}}
        yield {"upto": _standing(each)}


def _standing(link: Link) -> Record:
    return {
        "link": link.index,
        "kept": _first_kept(link),
        "acked": link.acked,
        "base": link.base,
        "reached": link.reached,
    }


def _first_kept(link: Link) -> int:
    return link.kept[0].number if link.kept else link.number


def _last_chunks(lines: Iterable[bytes], ledger: Ledger) -> Iterator[Record]:
    """Those that count, in order. A stream that began at zero again has each number twice, and the
    earlier ones come before that was said."""
    zeros = [link.zeros for link in ledger.links]
    for line in lines:
        record = json.loads(line)
        if "seal" in record:
            said = record["seal"]
            link = ledger.links[said["link"]]
            needed = said["n"] >= _first_kept(link) or said["at"] >= link.base
            if needed and zeros[link.index] == 0:
                yield said
        if "zero" in record:
            zeros[record["zero"]] -= 1
