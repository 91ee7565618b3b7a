"""Stages as a whole: data, ends, signals, checkpoints, and what a damaged spool comes to."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from paddock.stream import ends
from tests.integration.stream.stages import (
    House,
    a_step,
    collected,
    collects_by_chunk,
    collects_by_stream,
    reads,
    told,
)
from tests.kit.disks import a_small_disk
from tests.kit.leaks import marked, resident_bytes
from tests.kit.waiting import until

MakeHouse = Callable[..., House]
# Says a few bytes at once, and the rest when it is told to go on.
SLOW = 'printf first; while [ ! -e "$0" ]; do sleep 0.02; done; printf second'


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    made = random.Random(6).randbytes(23_456)
    (tmp_path / "in").write_bytes(made)
    return made


@pytest.fixture
def house(tmp_path: Path) -> Iterator[MakeHouse]:
    made: list[House] = []

    def make(*steps: dict[str, Any], **more: Any) -> House:
        made.append(House(tmp_path, steps, **{"chunk_bytes": 1000, "queued": 3, **more}))
        return made[-1]

    yield make
    for one in made:
        left = marked(one.mark)
        one.clear()
        assert left == {}, "processes are left"


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


# -- what does not fit --------------------------------------------------------------------------


def killed(stage: House, after: str = '"n":2') -> None:
    """With a full queue of 3 chunks, and none of them done."""
    process = stage.start()
    until((stage.spool / "journal").exists)
    until(lambda: after in (stage.spool / "journal").read_text(), within_s=20)
    stage.kill(process)


def a_stuck_stage(house: MakeHouse, tmp_path: Path, first: dict[str, Any], **more: Any) -> House:
    """Its reader waits for a file before it takes the first chunk."""
    out = tmp_path / "out"
    out.mkdir()
    script = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; cat >$0/$PADDOCK_CHUNK_FIRST_BYTE"
    return house(first, a_step("collect", "sh", "-c", script, str(out), each="chunk"), **more)


def test_a_step_that_says_something_else_than_before_is_refused(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    stage = a_stuck_stage(house, tmp_path, reads(tmp_path / "in"))
    killed(stage)
    (tmp_path / "in").write_bytes(data[:1500] + b"!" + data[1501:])
    code, _, err = stage.run()
    assert code == ends.SAYS_OTHERWISE
    assert "step read says something else than before it was killed, in bytes 1000 to 1999" in err
    (tmp_path / "in").write_bytes(data[:2500])
    code, _, err = stage.run()
    assert code == ends.SAYS_OTHERWISE
    assert "step read ended after 2500 bytes, and had written 3000 before it was killed" in err


def test_a_step_that_seeks_goes_on_where_it_was(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    seek = f"tail -c +$((PADDOCK_STREAM_OFFSET + 1)) {tmp_path}/in; echo $PADDOCK_STREAM_OFFSET >&2"
    stage = a_stuck_stage(house, tmp_path, a_step("seek", "sh", "-c", seek, resume="seek"))
    killed(stage)
    (tmp_path / "go").touch()
    code, _, err = stage.run()
    assert (code, err.splitlines()[-1]) == (0, "3000")
    assert collected(tmp_path / "out") == data


def test_a_producer_that_had_ended_is_not_started_again(house: MakeHouse, tmp_path: Path) -> None:
    once = a_step("once", "sh", "-c", f"echo x >>{tmp_path}/starts; head -c 2500 /dev/zero")
    stage = a_stuck_stage(house, tmp_path, once)
    killed(stage, after='"done":0')
    (tmp_path / "go").touch()
    code, _, err = stage.run()
    assert (code, err) == (
        0,
        "paddock: the stage is resumed: once is done, collect goes on at byte 0\n",
    )
    assert (tmp_path / "starts").read_text() == "x\n"
    assert collected(tmp_path / "out") == bytes(2500)


@pytest.mark.parametrize("harm", ["missing", "truncated"])
def test_a_chunk_that_is_gone_is_made_again(
    house: MakeHouse, tmp_path: Path, data: bytes, harm: str
) -> None:
    stage = a_stuck_stage(house, tmp_path, reads(tmp_path / "in"))
    killed(stage)
    chunk = stage.spool / "0-1.chunk"
    chunk.unlink() if harm == "missing" else os.truncate(chunk, 10)
    (tmp_path / "go").touch()
    assert stage.run()[0] == 0
    assert collected(tmp_path / "out") == data


def test_a_chunk_that_nobody_can_say_again_is_said_to_be_gone(
    house: MakeHouse, tmp_path: Path
) -> None:
    (tmp_path / "in").write_bytes(bytes(9000))
    seek = f"tail -c +$((PADDOCK_STREAM_OFFSET + 1)) {tmp_path}/in"
    stage = a_stuck_stage(house, tmp_path, a_step("seek", "sh", "-c", seek, resume="seek"))
    killed(stage)
    (stage.spool / "0-1.chunk").unlink()
    code, _, err = stage.run()
    assert code == ends.DAMAGED
    assert "chunk 1 of step seek is missing or cut short" in err


def test_a_torn_line_is_cut_off_and_one_in_the_middle_is_said(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    stage = a_stuck_stage(house, tmp_path, reads(tmp_path / "in"))
    killed(stage)
    journal = stage.spool / "journal"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-20])  # of the last seal: that chunk is as if it had never been
    (tmp_path / "go").touch()
    assert stage.run()[0] == 0
    assert collected(tmp_path / "out") == data
    journal.write_bytes(whole.replace(b'"n":1', b'"n":!'))
    code, _, err = stage.run()
    assert (code, "line 3 of " in err) == (ends.DAMAGED, True)


def test_a_spool_of_another_version_or_of_other_steps_is_refused(house: MakeHouse) -> None:
    stage = house(a_step("a", "true"), a_step("b", "true"))
    assert stage.run()[0] == 0
    journal = stage.spool / "journal"
    text = journal.read_text()
    journal.write_text(text.replace('"spool":1', '"spool":3'))
    code, _, err = stage.run()
    said = "is of version 3, and this paddock reads up to 2"
    assert (code, said in err) == (ends.OTHER_VERSION, True)
    journal.write_text(text)
    other = house(a_step("a", "true"), a_step("c", "true"))
    code, _, err = other.run()
    assert (code, "is of other steps: a (stream), b (stream)" in err) == (ends.OTHER_VERSION, True)


def test_two_relays_do_not_share_a_spool(house: MakeHouse, tmp_path: Path) -> None:
    go = tmp_path / "go"
    stage = house(a_step("slow", "sh", "-c", SLOW, str(go)), a_step("out", "cat"))
    process = stage.start()
    assert process.stdout and os.read(process.stdout.fileno(), 5) == b"first"
    second = stage.start()
    assert b"another relay still works in" in second.communicate(timeout=30)[1]
    assert second.returncode == ends.BUSY
    go.touch()
    assert process.communicate(timeout=30)[0] == b"second"


def test_a_full_disk_makes_the_producer_wait_as_long_as_its_reader_makes_room(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "in").write_bytes(data * 20)
    with a_small_disk(tmp_path, size="320k") as disk:
        read = reads(tmp_path / "in")
        stage = a_stuck_stage(house, tmp_path, read, chunk_bytes=60_000, queued=10)
        stage.env["PADDOCK_CHECKPOINT_DIR"] = str(disk.root)
        process = stage.start()
        until(lambda: has_no_room(disk.root / "stream"), within_s=20)
        (tmp_path / "go").touch()
        assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 0
        assert collected(tmp_path / "out") == data * 20


def test_on_a_full_disk_one_that_never_acknowledges_gets_it_all_too(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "in").write_bytes(data * 20)
    with a_small_disk(tmp_path, size="320k") as disk:
        stage = house(
            reads(tmp_path / "in"), a_step("count", "wc", "-c"), chunk_bytes=60_000, queued=10
        )
        stage.env["PADDOCK_CHECKPOINT_DIR"] = str(disk.root)
        code, out, err = stage.run()
        assert (code, out.strip(), err) == (0, str(20 * len(data)), "")


def has_no_room(spool: Path) -> bool:
    """It has given up what it keeps for its journal."""
    return (spool / "0-0.chunk").exists() and not (spool / "reserve").exists()


def test_a_disk_that_is_full_of_others_is_said_and_the_stage_goes_on_later(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    with a_small_disk(tmp_path, size="320k") as disk:
        stage = house(
            reads(tmp_path / "in"), collects_by_chunk(tmp_path / "out"), chunk_bytes=20_000
        )
        stage.env["PADDOCK_CHECKPOINT_DIR"] = str(disk.root)
        disk.fill(leave_bytes=8192)
        code, _, err = stage.run()
        assert code == ends.NO_DISK
        assert "the stage's spool cannot be written or read: No space left on device" in err
        assert "it goes on where it was once that is mended" in err
        disk.make_room()
        assert stage.run()[0] == 0
        assert collected(tmp_path / "out") == data


# -- acknowledgements ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "line"),
    [
        ("900", "acknowledges 900 bytes, and was given only 5"),
        ("x", "acknowledges b'x': one number of bytes a line"),
    ],
)
def test_nonsense_is_not_taken_for_an_acknowledgement(
    house: MakeHouse, says: str, line: str
) -> None:
    last = a_step("last", "sh", "-c", f"head -c 5 >/dev/null; echo {says} >&3; sleep 60")
    code, _, err = house(a_step("a", "sh", "-c", "printf 12345; sleep 60"), last).run()
    assert (code, line in err) == (ends.SAYS_OTHERWISE, True)


def test_who_acknowledges_reads_on_from_there(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    stage = house(reads(tmp_path / "in"), collects_by_stream(tmp_path / "out", step=700))
    assert stage.run() == (0, "", "")
    assert (tmp_path / "out").read_bytes() == data


def test_one_that_never_acknowledges_gets_it_all_and_begins_at_zero_after_a_kill(
    house: MakeHouse, tmp_path: Path, data: bytes
) -> None:
    hold = (
        f"head -c 10000 >{tmp_path}/some; touch {tmp_path}/far; "
        f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; cat {tmp_path}/some - >{tmp_path}/out"
    )
    stage = house(reads(tmp_path / "in"), a_step("plain", "sh", "-c", hold))
    process = stage.start()
    until((tmp_path / "far").exists)
    stage.kill(process)
    (tmp_path / "go").touch()
    code, _, err = stage.run()
    assert (code, "read is compared up to byte 0, plain goes on at byte 0" in err) == (0, True)
    assert (tmp_path / "out").read_bytes() == data


@pytest.mark.parametrize("reader", ["cat", "head -c 1; echo 1 >&3; cat"])
def test_what_trickles_in_fills_no_queue_by_its_number(house: MakeHouse, reader: str) -> None:
    trickle = "for n in 1 2 3 4 5 6 7 8 9 10; do echo $n; sleep 0.05; done"
    stage = house(
        *(a_step("trickle", "sh", "-c", trickle), a_step("read", "sh", "-c", reader)),
        linger_s=0,
        queued=1,
    )
    assert stage.run() == (0, "".join(f"{n}\n" for n in range(1, 11)), "")


def test_it_runs_as_a_module_too_and_from_a_file(house: MakeHouse, tmp_path: Path) -> None:
    stage = house(a_step("a", "echo", "hello"), a_step("b", "cat"))
    file = tmp_path / "stage.json"
    file.write_text(json.dumps(stage.stage))
    del stage.env["PADDOCK_STAGE"]
    words = [sys.executable, "-I", "-m", "paddock.stream", str(file)]
    done = subprocess.run(words, env=stage.env, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"hello\n", b"")
