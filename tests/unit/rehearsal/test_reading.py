"""Scripts: what may stand in them, and what is said of what may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.config.mistakes import ConfigError
from paddock.rehearsal.reading import STEPS, read_scripts
from paddock.rehearsal.script import (
    LAST_WORD,
    USUAL,
    Fail,
    Memory,
    RateLimit,
    Run,
    Say,
    Script,
    Stall,
    Wait,
    Write,
    from_json,
    to_json,
)

ALL = """\
steps:
  - say: I begin.
  - run: make test
  - run: {command: "true"}
  - write: {path: notes/a.txt, text: ""}
  - wait: 90s
  - memory: 300M
  - memory: {size: 1G, for: 1m}
  - rate_limit: 20s
  - error: 500
  - error: {status: 529, times: 3}
  - stall: {for: 5m, times: 2}
end: That was it.
runs:
  review:
    steps: [{run: echo review}]
"""


def read(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_scripts(path)
    return [line.removeprefix(f"{path}:") for line in caught.value.lines()]


def test_every_kind_of_step(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(ALL, encoding="utf-8")
    scripts = read_scripts(path)
    assert scripts.of("implement") == Script(
        (
            Say("I begin."),
            Run("make test"),
            Run("true"),
            Write("notes/a.txt", ""),
            Wait(90.0),
            Memory(300 << 20, 5.0),
            Memory(1 << 30, 60.0),
            RateLimit(20.0),
            Fail(500, 1),
            Fail(529, 3),
            Stall(300.0, 2),
        ),
        "That was it.",
    )
    assert scripts.of("review") == Script((Run("echo review"),), LAST_WORD)
    for script in (scripts.usual, USUAL):
        assert from_json(to_json(script)) == script
    assert (scripts.usual.asked, USUAL.asked) == (6, 3)


def test_the_scripts_of_the_documents_are_scripts(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    assert read_scripts(root / "examples/rehearsal.yaml").usual.asked == 3
    page = (root / "docs/reference/rehearsal.md").read_text(encoding="utf-8")
    texts = [part.partition("```")[0] for part in page.split("```yaml\n")[1:]]
    for text in texts:
        (tmp_path / "script.yaml").write_text(text, encoding="utf-8")
        read_scripts(tmp_path / "script.yaml")
    assert len(texts) == 2


def test_every_kind_of_step_is_in_the_reference() -> None:
    page = Path(__file__).parents[3] / "docs/reference/rehearsal.md"
    for word in STEPS:
        assert f"| `{word}: " in page.read_text(encoding="utf-8")


def test_all_mistakes_at_once_each_with_its_line(tmp_path: Path) -> None:
    text = """\
steps:
  - rnu: make
  - wait: 2h
  - write: a.txt
  - write: {path: ../a, txt: b}
  - run: {}
  - {run: a, wait: 1s}
  - error: 200
  - memory: {size: 4, for: ever}
  - run: [make, test]
ends: x
runs: [a]
"""
    lines = read(tmp_path / "script.yaml", text)
    assert [line.split(":")[0] for line in lines] == [
        *("2", "3", "4", "5", "5", "5", "6", "7", "8", "9", "9", "10", "11", "12")
    ]
    assert "steps[0].rnu: found an unknown key" in lines[0] and "mean run?" in lines[0]
    assert "a time from 0 s to 540 s" in lines[1]
    assert "a table with path and text" in lines[2]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "steps: found nothing"),
        ("steps: 3", "steps: found 3; allowed: a list"),
        ("steps: [make]", "steps[0]: found 'make'"),
        ("runs: {a: 1}", "runs.a: found 1; allowed: a table with steps"),
        ("runs: {a: {step: []}}", "runs.a.step: found an unknown key"),
        ("steps: [{say: ''}]", "steps[0].say: found ''"),
        ("- a", "found a list of 1"),
    ],
)
def test_what_is_no_script_is_refused(tmp_path: Path, text: str, says: str) -> None:
    assert says in "\n".join(read(tmp_path / "script.yaml", text))
