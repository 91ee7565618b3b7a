"""A baseline of an agent program, with a small one in its place. The real ones: tests/agents."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from .yard import Yard, figure

PRETEND = Path(__file__).parents[2] / "kit/agents/pretend_claude.py"


@pytest.fixture
def programs(yard: Yard) -> Path:
    found = yard.root / "programs"
    found.mkdir()
    yard.env["PATH"] = f"{found}:/usr/bin:/bin"
    return found


def pretend(programs: Path, before: str = "") -> None:
    words = shlex.join([sys.executable, str(PRETEND)])
    (programs / "claude").write_text(f'#!/bin/sh\n{before}exec {words} "$@"\n', encoding="utf-8")
    (programs / "claude").chmod(0o755)


WORDS = ("baseline", "--agent", "claude", "--rehearse", "--rounds", "1", "--every", "100ms")


def test_an_agent_does_the_work_of_the_matrix(yard: Yard, programs: Path) -> None:
    pretend(programs)
    found = yard.report(*WORDS)
    bare, walls = found.cells
    assert (bare.row, bare.verdict) == ("claude, small", "ended well")
    assert walls.verdict.startswith("ended well; ")
    assert figure(walls, "peak") > 8
    assert found.verdicts[0].startswith("claude, small fix, one file: peak ")
    assert "(expected: 512 MiB to 1 GiB)" in found.verdicts[0]


def test_one_that_leaves_its_work_has_shown_nothing(yard: Yard, programs: Path) -> None:
    pretend(programs, before="EARLY=1 ")
    bare, walls = yard.report(*WORDS).cells
    for cell in (bare, walls):
        assert cell.verdict.startswith("did not play its script to its end: 0 of 6 tool calls done")


@pytest.mark.usefixtures("programs")
def test_a_program_that_is_not_there_is_refused_in_one_line(yard: Yard) -> None:
    done = yard.bench(*WORDS)
    assert done.returncode == 127
    assert done.stderr.startswith("paddock: claude is not installed here; to get it: ")
    assert len(done.stderr.splitlines()) == 1
