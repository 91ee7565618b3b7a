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


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("echo $HOME && echo two | cat", "echo"),
        ('echo "$HOME"', "echo"),
        ("make test > log", "make"),
        ("ls *.py", "ls"),
        ("CI=1 npm test", "npm"),
        ("(cd web && npm test)", "cd"),
        ("~/bin/agent -q", "agent"),
        ("make # don't", "make"),
        ("""echo "$(echo "it's")\"""", "echo"),
        ("exit 3", "exit"),
        ("NAME=value", "run"),
    ],
)
def test_a_line_with_shell_syntax_is_run_by_a_shell(line: str, name: str) -> None:
    assert parse(line) == (RunRequest(name=name, command=("sh", "-c", line)),)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("find . -name '*.py'", ("find", ".", "-name", "*.py")),
        ('echo "a; b" c\\;', ("echo", "a; b", "c;")),
        (r"echo \$HOME", ("echo", "$HOME")),
        ("env CI=1 make", ("env", "CI=1", "make")),
        ("dd if=/dev/zero", ("dd", "if=/dev/zero")),
    ],
)
def test_a_plain_line_needs_no_shell(line: str, command: tuple[str, ...]) -> None:
    assert parse(line)[0].command == command


def test_an_object_needs_no_name() -> None:
    found = parse('{"command": ["/bin/make", "x"]}\n{"agent": "claude", "prompt": "p"}\n')
    assert [run.name for run in found] == ["make", "claude"]


def test_json_is_read_as_json() -> None:
    (run,) = parse('{"agent": "claude", "prompt": "\\ud83d\\ude00 \u2028", "retries": 2}')
    assert (run.prompt, run.retries) == ("\U0001f600 \u2028", 2)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"command": ["x"]', "no JSON (expecting ',' delimiter in column 18)"),
        ('{"command": [}', "no JSON (expecting value in column 14)"),
        ('{"memory": "1G", "memory": "2G"}', "memory: found the same key twice"),
        ('{"env": {"A": "\\ud800"}}', "half of a character"),
        ('{"a": ' + "[" * 100_000, "more than 64 levels"),
        ('{"command": ["x"], "pids": ' + "9" * 5000 + "}", "run.pids: found '9999"),
        ('{"command": ["x"], "timeout": "400d"}', "a time from 1s to 366d"),
        ("{}", "nothing to run"),
    ],
)
def test_a_mistake_in_json_is_said_in_terms_of_json_with_its_line(line: str, said: str) -> None:
    # What some call a line, a form feed or U+2028, is none in an editor.
    (found,) = complaints(f'true \x0c x\n{{"command": ["a\u2028b"]}}\n{line}\n')
    assert found.startswith("-:3: ")
    assert said in found
    assert "YAML" not in found


@pytest.mark.parametrize("text", ["", "x" * 5_000_000, "true\n" * 10_001, "a\0b\n"])
def test_what_is_too_much_or_nothing_is_refused(text: str) -> None:
    assert len(complaints(text)) == 1
