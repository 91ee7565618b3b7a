"""`submit --from`: a run a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.core.units import GIB
from paddock.wire.fleet_file import FleetFileError
from paddock.wire.run_lines import parse_lines
from paddock.wire.run_request import RunRequest


def parse(text: str) -> tuple[RunRequest, ...]:
    return parse_lines(text, file="-", directory=Path("/w"))


def complaints(text: str) -> list[str]:
    with pytest.raises(FleetFileError) as caught:
        parse(text)
    return list(caught.value.lines())


def test_lines_are_command_lines_or_objects() -> None:
    found = parse('# two\n\n/bin/echo "a b" 5\n{"name": "x", "command": ["y"], "memory": "1G"}\n')
    assert found == (
        RunRequest(name="echo", command=("/bin/echo", "a b", "5")),
        RunRequest(name="x", command=("y",), memory_bytes=GIB),
    )


def test_every_mistake_has_its_line() -> None:
    lines = complaints('true\necho "a\n{"name": "x", "comand": ["y"]}\n{"a": [}\n\'\'\n')
    assert [line.split(": ")[0] for line in lines] == ["-:2", "-:3", "-:4", "-:5"]
    assert "did you mean command?" in lines[1]


@pytest.mark.parametrize("text", ["", "x" * 5_000_000, "true\n" * 10_001, "a\0b\n"])
def test_what_is_too_much_or_nothing_is_refused(text: str) -> None:
    assert len(complaints(text)) == 1
