"""`paddock bench --agent`: what is measured is what a shell would run."""

from __future__ import annotations

import pytest

from paddock.cli.exits import CommandError
from paddock.cli.measuring import words_of


@pytest.mark.parametrize(
    ("said", "runs"),
    [
        ("make test", ("make", "test")),
        ("claude -p 'Mend; the tests'", ("claude", "-p", "Mend; the tests")),
        ("cd web && npm test", ("sh", "-c", "cd web && npm test")),
        ("echo $HOME | wc -c", ("sh", "-c", "echo $HOME | wc -c")),
        ("CI=1 make test", ("sh", "-c", "CI=1 make test")),
    ],
)
def test_shell_syntax_is_for_a_shell(said: str, runs: tuple[str, ...]) -> None:
    assert words_of(said) == runs


@pytest.mark.parametrize("said", ["", "  ", "'open"])
def test_what_is_no_command_is_refused(said: str) -> None:
    with pytest.raises(CommandError, match="--agent"):
        words_of(said)
