"""Groups whose name nobody can read have a run's name beside them."""

from __future__ import annotations

import pytest

from paddock.cli.group_names import readable


@pytest.mark.parametrize(
    ("group", "last_run", "shown"),
    [
        ("sh-9a1844a0/shop", "nightly", "sh-9a1844a0/shop (nightly)"),
        ("sh-9a1844a0", "nightly", "sh-9a1844a0 (nightly)"),
        ("sh-9a1844a0/shop", None, "sh-9a1844a0/shop"),
        ("claude/shop/review", "nightly", "claude/shop/review"),
    ],
)
def test_only_a_checksum_needs_a_name(group: str, last_run: str | None, shown: str) -> None:
    assert readable(group, last_run) == shown


def test_names_of_others_are_made_safe() -> None:
    assert "\x1b" not in readable("sh-9a1844a0", "evil\x1b[2J")
