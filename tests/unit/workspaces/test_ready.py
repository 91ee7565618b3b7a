"""When to look for a ready marker, and which markers are none."""

import pytest

from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.ready import check_marker, next_look_s


@pytest.mark.parametrize(
    ("watched_s", "wait_s"),
    [(0, 2), (29.9, 2), (30, 5), (149.9, 5), (150, 10), (86400, 10)],
)
def test_looks_get_rarer(watched_s: float, wait_s: float) -> None:
    assert next_look_s(watched_s) == wait_s


@pytest.mark.parametrize("text", ["", "  ", "two\nlines", "a\0b", "x" * 501])
def test_a_marker_is_one_line(text: str) -> None:
    with pytest.raises(WorkspaceError, match="one line"):
        check_marker(text)
