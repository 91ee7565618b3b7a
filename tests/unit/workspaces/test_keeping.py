"""The verdict over facts: whatever exists nowhere else, or is not known, stays."""

from dataclasses import fields

import pytest

from paddock.workspaces.keeping import Facts, Keep, Removable, verdict

REASONS = {
    "unknown": "git failed",
    "operation": "a rebase",
    "locked": "mine",
    "processes": ("pid 7 (vim)",),
    "uncommitted": ("a.py",),
    "untracked": ("b.py",),
    "hidden": ("c.py",),
    "submodules": ("lib",),
    "worktrees": (".claude/worktrees/sub",),
    "nowhere_else": 2,
    "stashes": ("WIP on paddock/x: 123 first",),
}


def test_every_fact_but_what_can_be_pinned_keeps_a_workspace() -> None:
    assert {field.name for field in fields(Facts)} == {*REASONS, "left_behind"}


@pytest.mark.parametrize("name", REASONS)
def test_one_reason_is_enough_to_keep(name: str) -> None:
    found = verdict(Facts(**{name: REASONS[name]}))  # type: ignore[arg-type]
    assert isinstance(found, Keep)
    value = REASONS[name]
    assert str(value[0] if isinstance(value, tuple) else value) in found.because


def test_without_a_reason_it_may_go() -> None:
    assert verdict(Facts()) == Removable("all of its work is committed, on branches that stay")


def test_commits_that_only_a_log_knows_are_pinned_before() -> None:
    found = verdict(Facts(left_behind=("abc", "def")))
    assert isinstance(found, Removable)
    assert found.pins == ("abc", "def")
    assert "2 commits" in found.because


def test_all_reasons_are_said_and_long_lists_are_cut() -> None:
    found = verdict(Facts(uncommitted=tuple("abcdef"), locked="mine"))
    assert found == Keep("it is locked: mine; not committed: a, b, c and 3 more")
