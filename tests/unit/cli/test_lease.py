"""`paddock lease` and its options; turns between processes are in tests/integration/tool."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Paddock


@pytest.mark.parametrize("name", ["a/b", "..", "a b"])
def test_a_name_that_is_none_is_refused(paddock: Paddock, name: str) -> None:
    called = paddock("lease", name, "--", "true")
    assert called.code == 2
    assert "is no name" in called.err


@pytest.mark.parametrize("options", [("--slots", "0"), ("--wait", "soon"), ("--slots", "x")])
def test_an_option_that_makes_no_sense_is_refused(
    paddock: Paddock, options: tuple[str, str]
) -> None:
    assert paddock("lease", "build", *options, "--", "true").code == 2


def test_a_lease_that_nobody_holds_is_free(paddock: Paddock) -> None:
    assert paddock("lease", "nobody-ever-held-this").out == "nobody-ever-held-this: free\n"
    assert paddock("lease", "nobody-ever-held-this", "--json").json == {"nobody-ever-held-this": []}


def test_json_is_for_looking(paddock: Paddock) -> None:
    called = paddock("lease", "build", "--json", "--", "true")
    assert (called.code, "--json is for looking" in called.err) == (2, True)
