"""Every input that once broke something, and those made by hand: fed again, each time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from .every import TARGETS
from .target import CORPUS, files_of, run

CASES = [(name, path) for name in TARGETS for path in files_of(name)]
# Python's own, at the peak: what a target reads may be held a few times over, and no more.
MOST_BYTES = 48 << 20


IDS = [f"{name}/{path.name}" for name, path in CASES]


@pytest.mark.parametrize(("name", "path"), CASES, ids=IDS)
def test_what_once_broke_it_does_not_any_more(name: str, path: Path) -> None:
    data = path.read_bytes()
    tracemalloc.start()
    try:
        run(TARGETS[name], data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES + 64 * len(data)


def test_every_target_has_a_corpus_and_every_corpus_a_target() -> None:
    served = {"raw_request"}  # see test_over_the_socket
    assert {path.name for path in CORPUS.iterdir() if path.is_dir()} == set(TARGETS) | served
    assert all(len(files_of(name)) >= 3 for name in TARGETS), "a seed, and what is nasty"
