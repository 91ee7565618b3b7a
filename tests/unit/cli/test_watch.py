"""`paddock watch`: what it shows, as a line, as JSON, and drawn again on a terminal."""

from __future__ import annotations

import json

import pytest

from paddock.cli.watch import block, blocks, cut, json_line, lines
from paddock.rescue.ladder import Goal
from paddock.rescue.memory import Reading
from paddock.rescue.relief import Kill, Relief, Tick
from tests.unit.cli.conftest import Paddock
from tests.unit.rescue.made import MIB, an_agent

GIB = 2**30


def a_tick(agents: int = 2, step: str = "calm", because: str = "") -> Tick:
    fleet = [an_agent(f"r{number}", used=(number + 1) * MIB) for number in range(agents)]
    return Tick(Reading(10 * GIB, 9 * GIB, 10.0), step, because, fleet)


def a_relief() -> Relief:
    kills = [Kill(an_agent("r9"), "host memory at 95 %", gone=True)]
    reading = Reading(10 * GIB, 9 * GIB, 10.0)
    return Relief(Goal(75.0), reading, reading, kills, [], reached=True)


def test_into_a_pipe_a_tick_is_one_line_with_the_largest_first() -> None:
    (line,) = lines(a_tick())
    assert line[9:] == (
        "memory at 10 %, 9 GiB of 10 GiB available; calm; 2 agents, 3 MiB: r1 2 MiB, r0 1 MiB"
    )
    (line,) = lines(a_tick(0, "queue", "only 1 GiB free"))
    assert line.endswith("; queue (only 1 GiB free); no agents")


def test_memory_that_cannot_be_read_is_said_to_be_so() -> None:
    (line,) = lines(Tick(Reading(GIB, None, None), "queue", "it cannot be read", []))
    assert "memory cannot be read; queue" in line


def test_a_kill_is_a_line_and_so_is_what_came_of_it() -> None:
    kill, end = lines(a_relief())
    assert kill[9:] == "killed r9 (r9): host memory at 95 %"
    assert end[9:].startswith("memory at 10 %")


def test_json_is_one_object_a_line_of_two_kinds() -> None:
    look = json.loads(json_line(a_tick(12)))
    assert look["kind"] == "look"
    assert (look["agents"], len(look["top"]), look["top"][0]["id"]) == (12, 10, "r11")
    assert look["agents_bytes"] == 78 * MIB
    assert {"at", "total_bytes", "available_bytes", "used_percent", "ladder", "because"} <= set(
        look
    )
    relief = json.loads(json_line(a_relief()))
    assert (relief["kind"], relief["reached"], relief["killed"][0]["id"]) == ("relief", True, "r9")


def test_on_a_terminal_a_block_is_drawn_over_the_last_and_kills_stay() -> None:
    first, second, kill, third = blocks(
        [a_tick(), a_tick(), a_relief(), a_tick()], width=80, every="1 s"
    )
    rows = len(block(a_tick(), every="1 s"))
    assert not first.startswith("\x1b")
    assert second.startswith(f"\x1b[{rows}A\x1b[J")
    assert kill.startswith(f"\x1b[{rows}A\x1b[J") and "killed r9" in kill
    assert not third.startswith("\x1b")
    assert first.count("\n") == rows - 1


def test_no_row_is_as_wide_as_the_terminal() -> None:
    for text in blocks([a_tick(30, "queue", "x" * 300)], width=20, every="1 s"):
        assert max(map(len, text.split("\n"))) < 20
    assert cut("abc", 2) == "a…"


def test_a_block_names_ten_and_counts_the_rest() -> None:
    rows = block(a_tick(12), every="1 s")
    assert rows[-1].strip() == "and 2 more"
    assert "r11 (r11), normal" in rows[4]


@pytest.mark.parametrize("interval", ["0", "1ms", "2h", "x"])
def test_an_interval_that_is_none_is_refused(paddock: Paddock, interval: str) -> None:
    called = paddock("watch", "--interval", interval)
    assert (called.code, called.err.count("\n")) == (2, 1)
