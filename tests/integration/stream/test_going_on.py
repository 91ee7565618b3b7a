"""Stages that were broken off or harmed: what a spool comes to, full disks, acknowledgements."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from paddock.stream import ends
from tests.integration.stream.stages import (
    SLOW,
    House,
    MakeHouse,
    a_step,
    collected,
    collects_by_chunk,
    collects_by_stream,
    reads,
)
from tests.kit.disks import a_small_disk
from tests.kit.waiting import until


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
