"""Names of files: all that must be known is in them, and nothing that a shell would trip over."""

from __future__ import annotations

import pytest

from paddock.logs import names
from paddock.logs.names import Kind, Part, in_order, parsed


@pytest.mark.parametrize("agent", ["review", "a/b", "../..", "x\ny z", "日本", "", "_", "a" * 300])
def test_whatever_a_run_is_called_its_file_can_be_found_again(agent: str) -> None:
    part = names.rotated(agent, 3, start=10, end=30, at=1_800_000_000.0)
    assert "/" not in part.name and len(part.name) < 120
    assert part.name.isprintable() and part.name.isascii()
    assert parsed(part.name) == part
    packed = names.packed(part, 7)
    assert parsed(packed.name) == packed
    assert packed.name.startswith("agent_") and packed.name.endswith(".log.gz")
    cut = names.cut_to(part, 20)
    assert parsed(cut.name) == cut
    assert (cut.start, cut.end) == (10, 20)


def test_the_name_begins_with_agent_and_time() -> None:
    part = names.rotated("review", 1, start=0, end=10, at=0.0)
    assert part.name == "agent_review_19700101T000000Z.1.0-10.log"
    assert names.packed(part, 2).name == "agent_review_19700101T000000Z.1.0-10.2.log.gz"
    assert names.gap(1, 0, 10, 2).name == "1.0-10.2.gap"


@pytest.mark.parametrize(
    "name", ["x.log", "1.log.gz", "1.txt", "agent_x.log", "1.5-5.0.gap", "1.9-5.0.gap", ".1.times"]
)
def test_what_is_none_of_ours_is_passed_over(name: str) -> None:
    assert parsed(name) is None


def test_of_those_that_hold_the_same_bytes_one_counts() -> None:
    waiting = names.rotated("a", 1, start=0, end=10, at=0.0)
    packed = names.packed(waiting, 1)
    joined, inner = names.gap(2, 0, 20, 2), names.gap(2, 10, 20, 1)
    live = Part(1, 0, 0, Kind.LIVE, "1.log")
    assert in_order([live, inner, joined, waiting, packed]) == [packed, joined]
