"""Bytes for a target: what its corpus holds, changed here and there; hypothesis can shrink it."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from .target import Target, files_of

LARGEST_SEED: Final = 4096  # longer ones are replayed, and not changed
MOST_CHANGES: Final = 4
# What parsers trip over, whatever they parse.
SIGNS: Final = (
    *(b"\0", b"\n", b"\r", b"\x0b", b"\x0c", b"\x1b", b"\x1e", b"\x7f", b"\x85", b"\xff", b" "),
    *(b"-1", b"0", b"4294967296", b"9223372036854775808", b"1e309", b"NaN", b"9" * 25, b"null"),
    *(b"\t", b'"', b"{", b"}", b"[", b"]", b"[]", b"\xed\xa0\x80"),
    *("\u2028".encode(), "\u0663".encode(), "\u202e".encode()),
)


@st.composite
def changed(draw: st.DrawFn, target: Target) -> bytes:
    found = (file.read_bytes() for file in files_of(target.name))
    seeds = [data for data in found if len(data) <= LARGEST_SEED]
    words = st.sampled_from((*target.words, *SIGNS)) | st.binary(max_size=8)
    data = draw(st.sampled_from(seeds) if seeds else st.binary(max_size=200))
    for _ in range(draw(st.integers(0, MOST_CHANGES))):
        begin = draw(st.integers(0, len(data)))
        end = draw(st.integers(begin, min(len(data), begin + 64)))
        into = draw(st.just(b"") | words | st.just(data[begin:end] * 2))
        data = data[:begin] + into + data[end:]
    return data


def pieced(target: Target) -> st.SearchStrategy[bytes]:
    """Words that the target knows, in any order."""
    return st.lists(st.sampled_from((*target.words, *SIGNS)), max_size=30).map(b"".join)


def anything(target: Target) -> st.SearchStrategy[bytes]:
    return changed(target) | pieced(target) | st.binary(max_size=300)
