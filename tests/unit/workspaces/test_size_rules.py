"""What follows from a repository's size."""

import pytest

from paddock.core.units import GIB, MIB
from paddock.workspaces.errors import TooLarge
from paddock.workspaces.size_rules import (
    FLAGS,
    Answer,
    Bounds,
    Level,
    admitted,
    clone_timeout_s,
    judge,
    timeout_factor,
    total_limit_bytes,
)
from paddock.workspaces.sizes import Size


@pytest.mark.parametrize(
    ("tree", "git", "level"),
    [
        (500 * MIB, 0, Level.SILENT),
        (500 * MIB + 1, 0, Level.NOTE),
        (1 * GIB - 1, 0, Level.NOTE),
        (1 * GIB, 0, Level.WARN),
        (5000 * MIB, 0, Level.WARN),
        (5000 * MIB + 1, 0, Level.ASK),
        (1 * MIB, 10 * GIB - MIB, Level.SILENT),
        (1 * MIB, 10 * GIB, Level.REFUSE),
    ],
)
def test_each_size_has_its_level(tree: int, git: int, level: Level) -> None:
    assert judge(Size(tree, git)).level is level


def test_silence_says_nothing_and_every_other_level_says_why() -> None:
    assert judge(Size(1)).because == ""
    for tree in (600 * MIB, 2 * GIB, 6 * GIB, 11 * GIB):
        assert "GiB" in judge(Size(tree)).because or "MiB" in judge(Size(tree)).because


def test_only_a_question_has_answers() -> None:
    assert judge(Size(6 * GIB)).answers == tuple(Answer)
    assert judge(Size(2 * GIB)).answers == ()


def test_the_asking_line_is_the_configured_one_even_below_the_warning() -> None:
    assert judge(Size(101 * MIB), ask_mb=100).level is Level.ASK
    assert judge(Size(40 * GIB), ask_mb=50000).level is Level.WARN


def test_who_lets_larger_trees_in_also_raises_the_limit() -> None:
    assert total_limit_bytes() == 10 * GIB
    assert total_limit_bytes(50000) == 100000 * MIB
    assert judge(Size(60 * GIB), ask_mb=50000).level is Level.ASK


def test_large_files_of_lfs_are_counted_apart_with_a_warning() -> None:
    found = judge(Size(1 * MIB, 0, 10, 3, 2 * GIB))
    assert found.level is Level.WARN
    assert "3 files of 2 GiB" in found.because
    assert "1 file of 2 GiB in all is in" in judge(Size(1, 0, 1, 1, 2 * GIB)).because


def test_a_larger_tree_gets_more_time() -> None:
    trees = (1, 500 * MIB, 600 * MIB, 1 * GIB, 2 * GIB, 5 * GIB, 6 * GIB)
    assert [timeout_factor(Size(tree)) for tree in trees] == [1, 1, 1.25, 1.25, 1.5, 1.5, 2]


def test_a_clone_gets_a_quarter_of_an_hour_and_a_minute_for_each_100_mb() -> None:
    assert clone_timeout_s(0) == 900
    assert clone_timeout_s(1) == 960
    assert clone_timeout_s(100 * MIB) == 960
    assert clone_timeout_s(1000 * MIB) == 1500
    assert clone_timeout_s(None) == clone_timeout_s(500 * MIB)


def test_what_turns_out_larger_than_was_allowed_says_how_to_allow_it() -> None:
    with pytest.raises(TooLarge) as found:
        admitted(Size(tree_bytes=101 * MIB), Bounds(100))
    assert "101 MiB" in str(found.value) and FLAGS in str(found.value)
    assert admitted(Size(tree_bytes=101 * MIB), Bounds(100, answered=True)) == ""


def test_beyond_all_limits_no_answer_helps() -> None:
    with pytest.raises(TooLarge, match="is the limit"):
        admitted(Size(git_bytes=11 * GIB), Bounds(answered=True))


def test_what_is_only_to_be_said_is_returned() -> None:
    assert admitted(Size(tree_bytes=1), Bounds()) == ""
    assert "600 MiB" in admitted(Size(tree_bytes=600 * MIB), Bounds())
