"""What is read where a newer version of a program breaks its preset: no real program is needed."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.house import a_house

from .theatre import HERE, Theatre, paused

PRETEND = HERE.parent / "kit/agents/pretend_claude.py"
# As programs do it with an option that they do not know, or no longer.
PROGRAM = """\
#!/bin/sh
for word; do
  case $word in --an-old-option) echo "error: unknown option '$word'" >&2; exit 1;; esac
done
exec {pretend} "$@"
"""
BROKEN = """\
agents:
  claude:
    start: [claude, --an-old-option, --session-id, "{session}", "{model}", "{arguments}",
            --, "{prompt}"]
"""
SCRIPT = "steps: [{run: echo one >> log}]"


@pytest.fixture
def theatre(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Theatre]:
    program = tmp_path / "programs/claude"
    program.parent.mkdir()
    pretend = shlex.join([sys.executable, str(PRETEND)])
    program.write_text(PROGRAM.format(pretend=pretend), encoding="utf-8")
    program.chmod(0o755)
    with a_house(tmp_path, config=getattr(request, "param", "")) as house:
        house.env["PATH"] = f"{program.parent}:{house.env['PATH']}"
        house.start()
        yield Theatre(house)


def test_the_preset_as_it_is_does(theatre: Theatre) -> None:
    told = theatre.rehearse("claude", SCRIPT)
    told.check_ended_well(attempts=1)
    assert theatre.read("log") == "one\n"


@pytest.mark.parametrize("theatre", [BROKEN], indirect=True)
def test_one_that_is_broken_is_told_with_program_and_version(theatre: Theatre) -> None:
    told = theatre.rehearse("claude", SCRIPT)
    with pytest.raises(AssertionError) as caught:
        told.check_ended_well(attempts=1)
    pins = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    version = pins["@anthropic-ai/claude-code"]
    message = str(caught.value)
    assert message.startswith(f"claude {version} (tests/agents/package.json) ended with code 1:")
    assert "unknown option '--an-old-option'" in message, "and in the program's own words"


def test_a_pause_is_read_from_a_story() -> None:
    assert paused("queued\nasked to be tried again in 30 s (exit code 1)") == "30 s"
    assert paused("asked to be tried again in 1 min (exit code 44)") == "1 min"
    assert paused("ended with exit code 1") is None
