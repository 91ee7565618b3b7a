"""What benchmarks do when nothing is said: as was promised (DIAG-1 to DIAG-4)."""

from __future__ import annotations

import pytest
from click import Group

from paddock.cli.bench import command


@pytest.mark.parametrize(
    ("name", "option", "usual"),
    [
        ("baseline", "every", "5s"),
        ("stress", "agents", "1,2,4,6,8"),
        ("stress", "memory", "2G,4G,6G,8G"),
        ("cpu", "cores", "0.5,1,2,unlimited"),
        ("cpu", "agents", 4),
        ("soak", "hours", 8.0),
        ("soak", "agents", 2),
    ],
)
def test_the_usual_grid_is_the_promised_one(name: str, option: str, usual: object) -> None:
    [found] = [one for one in command.commands[name].params if one.name == option]
    assert found.default == usual


def test_every_subcommand_takes_json() -> None:
    assert isinstance(command, Group)
    without = [
        name
        for name, each in command.commands.items()
        if not any("--json" in option.opts for option in each.params)
    ]
    assert without == []
