"""How a repository gets here, by its size and by what was asked."""

import pytest

from paddock.core.units import GIB, MIB
from paddock.workspaces.size_rules import Answer
from paddock.workspaces.sizes import Size
from paddock.workspaces.strategy import Strategy, choose


def shape(strategy: Strategy) -> tuple[bool, int | None, bool]:
    return strategy.own_clone, strategy.depth, strategy.blobless


def test_worktrees_of_a_repository_on_this_machine_share_its_objects() -> None:
    assert shape(choose(local=True, size=Size(8 * GIB, 8 * GIB))) == (False, None, False)


def test_a_small_one_from_afar_comes_whole() -> None:
    assert shape(choose(local=False, size=Size(50 * MIB, 50 * MIB))) == (True, None, False)


def test_above_100_mb_only_the_newest_commit_of_one_branch_comes() -> None:
    assert shape(choose(local=False, size=Size(60 * MIB, 41 * MIB))) == (True, 1, False)


def test_a_large_history_comes_without_its_files() -> None:
    assert shape(choose(local=False, size=Size(100 * MIB, 2 * GIB))) == (True, None, True)


def test_of_unknown_size_all_commits_come_and_files_when_needed() -> None:
    assert shape(choose(local=False)) == (True, None, True)


def test_where_the_password_is_not_kept_nothing_is_left_for_later() -> None:
    assert shape(choose(local=False, password=True)) == (True, 1, False)
    assert not choose(local=False, size=Size(1, 9 * GIB), password=True).blobless
    assert not choose(local=False, sparse=("a",), password=True).blobless


def test_sparse_is_a_clone_of_our_own_because_it_writes_settings() -> None:
    assert choose(local=True, sparse=("projects/a",)).own_clone
    assert choose(local=True, answer=Answer.SPARSE, sparse=("a", "b")).sparse == ("a", "b")


def test_sparse_needs_to_know_what() -> None:
    with pytest.raises(ValueError, match="directories"):
        choose(local=True, answer=Answer.SPARSE)


def test_shallow_on_request_also_of_one_on_this_machine() -> None:
    assert shape(choose(local=True, answer=Answer.SHALLOW)) == (True, 1, False)
