"""Marks, files and environments of attempts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.drivers.attempts import MARK, instance_of
from paddock.drivers.local.keeper import protocol
from paddock.drivers.local.naming import Names, attempt_in
from paddock.drivers.local.orders import umask_of


@pytest.fixture
def names(tmp_path: Path) -> Names:
    return Names(tmp_path / "output", tmp_path / "live", "0123456789abcdef")


@pytest.mark.parametrize("run", ["a", "a.b", "2024.1", "...a", "-x", "a_b-c"])
def test_a_mark_leads_back_to_its_attempt(names: Names, run: str) -> None:
    attempt = Attempt(run, 12)
    assert names.problem(attempt) is None
    assert attempt_in(names.mark(attempt)) == attempt


@pytest.mark.parametrize("mark", ["", "x", "x.", "x.y", "x..1", "x.a/b.1", "x.a.-1", "x.a.²"])
def test_what_is_no_mark_leads_nowhere(mark: str) -> None:
    assert attempt_in(mark) is None


@pytest.mark.parametrize("run", ["", ".", "..", "a/b", "a b", "é", "a\n", "x" * 300])
def test_a_run_that_cannot_name_a_file_is_refused(names: Names, run: str) -> None:
    assert names.problem(Attempt(run, 1))


def test_what_is_left_is_found_again(names: Names, tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    for attempt in (Attempt("a", 1), Attempt("a.b", 2)):
        os.mkfifo(names.fifo(attempt))
    (tmp_path / "live" / "odd.fifo").touch()
    assert set(names.left_fifos()) == {Attempt("a", 1), Attempt("a.b", 2)}


def test_an_instance_is_made_once_and_only_for_its_owner(tmp_path: Path) -> None:
    first = instance_of(tmp_path)
    assert instance_of(tmp_path) == first
    assert (tmp_path / "instance").stat().st_mode & 0o777 == 0o600
    (tmp_path / "instance").write_text("torn", encoding="ascii")
    second = instance_of(tmp_path)
    assert second not in ("torn", first)
    assert instance_of(tmp_path) == second
    assert [path.name for path in tmp_path.iterdir()] == ["instance"]


@pytest.mark.parametrize(
    ("labels", "umask"),
    [({}, None), ({"umask": "022"}, 0o022), ({"umask": "9"}, None), ({"umask": "1777"}, None)],
)
def test_a_umask_is_octal_or_not_said(labels: dict[str, str], umask: int | None) -> None:
    assert umask_of(labels) == umask


def test_the_keeper_means_the_same_mark() -> None:
    assert protocol.MARK == MARK
