"""What a stage may say, and how one that makes no sense is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paddock.stream import STAGE, ends
from paddock.stream.ends import Trouble
from paddock.stream.spec import parse, read_stage, spool_of

A = {"name": "a", "command": ["cat", "x"]}
B = {"name": "b", "command": ["wc"]}


def test_what_is_not_said_is_as_design_b_has_it() -> None:
    stage = parse({"steps": [A, B]})
    assert (stage.chunk_bytes, stage.queued) == (50 << 20, 10)
    assert [(step.each, step.resume, step.cut) for step in stage.steps] == [
        ("stream", "replay", "bytes")
    ] * 2


def test_it_comes_from_a_file_or_from_the_environment(tmp_path: Path) -> None:
    text = json.dumps({"steps": [A], "chunk_bytes": 7})
    (tmp_path / "stage").write_text(text)
    assert read_stage([str(tmp_path / "stage")], {}).chunk_bytes == 7
    assert read_stage([], {STAGE: text}).chunk_bytes == 7


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "one JSON object"),
        ({"steps": []}, "at least one step"),
        ({"steps": [A], "speed": 1}, "unknown: speed"),
        ({"steps": [A], "queued": 0}, "`queued` is 0; it must be a whole number of at least 1"),
        ({"steps": [A], "chunk_bytes": 1.5}, "`chunk_bytes` is 1.5"),
        ({"steps": [A], "grace_s": True}, "`grace_s` is True"),
        ({"steps": ["a"]}, "step 1 must be an object"),
        ({"steps": [{"command": ["a"]}]}, "step 1 has no `name`"),
        ({"steps": [{"name": "a", "command": "ls"}]}, "`command` must be a list of words"),
        ({"steps": [A, {**B, "each": "line"}]}, "`each` is 'line'; it can be stream or chunk"),
        ({"steps": [A, {**B, "speed": 1}]}, "step b: unknown: speed"),
        ({"steps": [A, A]}, "two steps have the same name"),
        ({"steps": [{**A, "each": "chunk"}, B]}, "no input that could come by chunks"),
        ({"steps": [A, {**B, "resume": "seek"}]}, "only the first step can `seek`"),
        ({"steps": [A, {**B, "cut": "lines"}]}, "`cut: lines` is for steps with `each: chunk`"),
    ],
)
def test_a_mistake_is_said_in_one_line(found: Any, said: str) -> None:
    with pytest.raises(Trouble) as trouble:
        parse(found)
    assert said in str(trouble.value)
    assert "\n" not in str(trouble.value)
    assert trouble.value.code == ends.BAD_STAGE


@pytest.mark.parametrize(
    ("words", "environment"),
    [([], {}), (["/no/such/file"], {}), ([], {STAGE: "{"}), (["a", "b"], {})],
)
def test_one_that_cannot_be_read_is_said(words: list[str], environment: dict[str, str]) -> None:
    with pytest.raises(Trouble, match="this stage cannot be run: "):
        read_stage(words, environment)


def test_the_spool_needs_a_place_that_outlives_the_attempt() -> None:
    assert spool_of({"PADDOCK_CHECKPOINT_DIR": "/x"}) == "/x/stream"
    with pytest.raises(Trouble, match="PADDOCK_CHECKPOINT_DIR"):
        spool_of({})
