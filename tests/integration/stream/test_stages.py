"""Stages as a whole: data, ends, signals, checkpoints, and what a damaged spool comes to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.stream.stages import (
    SLOW,
    MakeHouse,
    a_step,
    collected,
    collects_by_chunk,
    reads,
    told,
)
from tests.kit.leaks import marked, resident_bytes
from tests.kit.waiting import until

# -- data ---------------------------------------------------------------------------------------


def test_every_byte_comes_through_three_steps_and_the_spool_is_empty(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    stage = house(
        reads(tmp_path / "in"), a_step("pass", "cat"), collects_by_chunk(tmp_path / "out")
    )
    assert stage.run() == (0, "", "")
    assert collected(tmp_path / "out") == data
    assert [maybe for _, maybe in told(tmp_path / "out")] == [False] * 24
    assert [path.name for path in stage.spool.iterdir()] == ["journal"]


def test_what_the_last_step_writes_and_all_errors_are_the_attempts(house: MakeHouse) -> None:
    stage = house(
        a_step("say", "sh", "-c", "echo one; echo aside >&2"),
        a_step("count", "sh", "-c", "wc -c; echo there >&2"),
    )
    code, out, err = stage.run()
    assert (code, out.strip(), sorted(err.split())) == (0, "4", ["aside", "there"])


def test_a_step_in_the_middle_may_be_run_by_chunks_too(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    double = a_step("double", "sh", "-c", "tee /dev/fd/3 3>&1 | cat", each="chunk")
    stage = house(reads(tmp_path / "in"), double, a_step("count", "wc", "-c"))
    assert stage.run()[1].strip() == str(2 * len(data))


def test_an_empty_stream_is_an_empty_input(house: MakeHouse) -> None:
    assert house(a_step("a", "true"), a_step("b", "wc", "-c")).run()[1].strip() == "0"


def test_no_chunk_is_run_for_an_empty_stream(house: MakeHouse, tmp_path: Path) -> None:
    assert house(a_step("a", "true"), collects_by_chunk(tmp_path / "out")).run()[0] == 0
    assert told(tmp_path / "out") == []


def test_lines_are_not_cut_but_for_one_that_fills_a_chunk_alone(
    house: MakeHouse, tmp_path: Path
) -> None:
    lines = [b"x" * size + b"\n" for size in (300, 600, 400, 2500, 10, 999, 1)]
    (tmp_path / "in").write_bytes(b"".join(lines) + b"an end without one")
    stage = house(
        reads(tmp_path / "in"), collects_by_chunk(tmp_path / "out", cut="lines"), linger_s=60
    )
    assert stage.run() == (0, "", "")
    assert collected(tmp_path / "out") == (tmp_path / "in").read_bytes()
    sizes = [path.stat().st_size for path in (tmp_path / "out").glob("[0-9]*")]
    assert sorted(sizes) == sorted([902, 401, 1000, 1000, 512, 1000, 20])


def test_a_reader_that_has_nothing_to_read_gets_what_there_is(
    house: MakeHouse, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    stage = house(a_step("slow", "sh", "-c", SLOW, str(go)), a_step("out", "cat"))
    process = stage.start()
    assert process.stdout and os.read(process.stdout.fileno(), 5) == b"first"
    go.touch()
    assert process.communicate(timeout=30) == (b"second", b"")


def test_a_full_queue_makes_the_producer_wait(house: MakeHouse, tmp_path: Path) -> None:
    go = tmp_path / "go"
    wait = 'while [ ! -e "$0" ]; do sleep 0.02; done; cat >/dev/null'
    stage = house(
        a_step("much", "head", "-c", "20000000", "/dev/zero"),
        a_step("wait", "sh", "-c", wait, str(go), each="chunk"),
        chunk_bytes=1_000_000,
    )
    process = stage.start()
    until(lambda: len(stage.chunks()) == 3)
    before = until(lambda: _in_pipe(process.pid))
    until(lambda: _in_pipe(process.pid) == before)
    assert len(stage.chunks()) == 3
    assert not list(stage.spool.glob("*.open"))
    assert resident_bytes(process.pid) < 20 << 20
    go.touch()
    assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == 0


def _in_pipe(relay: int) -> int:
    """How far the first of its children has come with its output."""
    children = Path(f"/proc/{relay}/task/{relay}/children").read_text().split()
    return int(Path(f"/proc/{children[0]}/io").read_text().split()[3]) if children else 0


# -- ends ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "code", "line"),
    [
        ("exit 3", 3, "paddock: step bad ended with 3\n"),
        ("kill -9 $$", 137, "paddock: step bad was ended by signal 9\n"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_step_that_fails_ends_the_others_and_gives_its_code(
    house: MakeHouse, script: str, code: int, line: str, place: int
) -> None:
    steps = [a_step(name, "sh", "-c", "sleep 60; cat") for name in "abc"]
    steps[place] = a_step("bad", "sh", "-c", script)
    assert house(*steps).run() == (code, "", line)


def test_one_that_does_not_hear_is_killed_after_its_grace(house: MakeHouse) -> None:
    deaf = a_step("deaf", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    assert house(deaf, a_step("bad", "sh", "-c", "exit 4"), grace_s=0.2).run()[0] == 4


def test_a_reader_that_has_enough_ends_who_writes_and_that_is_no_failure(house: MakeHouse) -> None:
    stage = house(a_step("ever", "yes"), a_step("pass", "cat"), a_step("two", "head", "-n", "2"))
    assert stage.run() == (0, "y\ny\n", "")
    assert stage.run() == (0, "", "paddock: the stage is resumed: ever is done, pass is done, "
                           "two is done\n")  # fmt: skip


def test_a_reader_does_not_see_an_end_whose_writer_failed(house: MakeHouse, tmp_path: Path) -> None:
    count = a_step("count", "sh", "-c", f"cat >/dev/null; touch {tmp_path}/whole")
    assert house(a_step("half", "sh", "-c", "echo half; exit 5"), count).run()[0] == 5
    assert not (tmp_path / "whole").exists()


def test_sigterm_is_passed_on_and_what_had_come_is_kept(house: MakeHouse, tmp_path: Path) -> None:
    slow = a_step("slow", "sh", "-c", SLOW, str(tmp_path / "go"))
    last = a_step("last", "sh", "-c", f"trap 'touch {tmp_path}/told; exit 0' TERM; "
                  f"touch {tmp_path}/ready; while :; do sleep 0.05; done")  # fmt: skip
    stage = house(slow, last, linger_s=60)
    process = stage.start()
    until(lambda: [path for path in stage.spool.glob("*.open") if path.stat().st_size == 5])
    until((tmp_path / "ready").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert (tmp_path / "told").exists()
    assert stage.chunks() == ["0-0.chunk"]


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("no-such-program", 127, "paddock: step b: no-such-program is not found\n"),
        ("/etc/passwd", 126, "paddock: step b: /etc/passwd is not executable\n"),
    ],
)
def test_a_program_that_is_not_there_is_said(
    house: MakeHouse, program: str, code: int, said: str
) -> None:
    assert house(a_step("a", "sleep", "60"), a_step("b", program)).run() == (code, "", said)


def test_steps_die_with_their_relay(house: MakeHouse) -> None:
    stage = house(a_step("a", "sleep", "300"), a_step("b", "sleep", "300"))
    process = stage.start()
    until(lambda: len(marked(stage.mark)) == 3)
    process.kill()
    process.communicate(timeout=30)
    until(lambda: not marked(stage.mark))


# -- checkpoints --------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["signal", "file"])
def test_a_checkpoint_seals_what_has_come_and_the_stage_goes_on(
    house: MakeHouse, tmp_path: Path, by: str
) -> None:
    go = tmp_path / "go"
    stage = house(a_step("slow", "sh", "-c", SLOW, str(go)), a_step("out", "cat"), linger_s=60)
    asked, written = tmp_path / "asked", tmp_path / "written"
    stage.env["PADDOCK_CHECKPOINT_REQUEST"] = str(asked)
    stage.env["PADDOCK_CHECKPOINT_WRITTEN"] = str(written)
    process = stage.start()
    until(lambda: [path for path in stage.spool.glob("*.open") if path.stat().st_size == 5])
    if by == "file":
        asked.touch()
        process.send_signal(signal.SIGCHLD)  # it looks whenever anything happens
    else:
        process.send_signal(signal.SIGUSR2)
    until(written.exists)
    assert process.stdout and os.read(process.stdout.fileno(), 5) == b"first"
    go.touch()
    assert process.communicate(timeout=30) == (b"second", b"")


# -- acknowledgements ---------------------------------------------------------------------------


def test_it_runs_as_a_module_too_and_from_a_file(house: MakeHouse, tmp_path: Path) -> None:
    stage = house(a_step("a", "echo", "hello"), a_step("b", "cat"))
    file = tmp_path / "stage.json"
    file.write_text(json.dumps(stage.stage))
    del stage.env["PADDOCK_STAGE"]
    words = [sys.executable, "-I", "-m", "paddock.stream", str(file)]
    done = subprocess.run(words, env=stage.env, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"hello\n", b"")
