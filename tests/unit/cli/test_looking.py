"""The commands that show things: `ls`, `status`, `memory`, `story`, `why`."""

from __future__ import annotations

import time
from typing import Any

import pytest

from paddock.cli.ends import OUTCOMES
from paddock.cli.ls import ENDED_LISTED
from paddock.cli.memory import _expected, _spread
from paddock.cli.runs_table import runs_table
from paddock.cli.status import Row, _lines
from paddock.cli.why import _lines as why_lines
from paddock.client.errors import Failed, NotFound
from paddock.core.run import Outcome
from paddock.core.units import GIB, MIB
from paddock.wire.run_request import RunRequest
from paddock.wire.views import BreakerView, LearnedView, MoveView, StepView, Submit
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_daemon import FakeDaemon

EVIL = "x\x1b[2J\u202ey"


def test_ls_shows_what_has_not_ended_as_a_table(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("implement")
    daemon.add("old", state="ended", outcome="failed", exit_code=1, because="ended")
    lines = paddock("ls").out.splitlines()
    assert lines[0].split() == [
        *("id", "name", "state", "priority", "tries", "memory", "age", "why"),
    ]
    assert lines[1].startswith("r0001  implement  running  normal        1  64 MiB / 1 GiB")
    assert len(lines) == 2


def test_ls_all_shows_the_ended_too_and_state_chooses(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("implement")
    daemon.add("old", state="ended", outcome="failed", exit_code=1, because="ended")
    assert len(paddock("ls", "--all", "--json").json) == 2
    (old,) = paddock("ls", "--state", "ended", "--json").json
    assert old["name"] == "old"
    assert paddock("ls", "--state", "asleep").code == 2


def test_ls_chooses_by_outcome_also_by_the_short_words_of_tables(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    daemon.add("a", state="ended", outcome="failed")
    daemon.add("b", state="ended", outcome="timeout_exceeded", because="ran into it")
    daemon.add("c")
    for word in ("timeout", "timeout_exceeded"):
        called = paddock("ls", "--outcome", word)
        assert called.out.splitlines()[1].split()[1:3] == ["b", "timeout"]
        assert len(called.out.splitlines()) == 2
    assert paddock("ls", "--outcome", "lost").err == "paddock: no such runs\n"
    assert set(OUTCOMES) == {str(outcome) for outcome in Outcome} - {"preempted"}


def test_ls_of_a_fleet_that_has_ended_says_how_to_see_it(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    run = RunRequest(name="old", command=("true",))
    daemon.submits.append(Submit(key="k", runs=(run,), directory="/", fleet="night"))
    daemon.add("old", state="ended", outcome="succeeded")
    said = "paddock: no runs of the fleet night that have not ended (--all shows the others)\n"
    assert paddock("ls", "--fleet", "night").err == said
    assert paddock("ls", "--fleet", "night", "--state", "queued").err == "paddock: no such runs\n"
    assert len(paddock("ls", "--fleet", "night", "--all", "--json").json) == 1


def test_ls_of_a_fleet_that_nobody_knows_ends_with_4_and_one_line(paddock: Paddock) -> None:
    for more in ([], ["--all"], ["--json"], ["--state", "frozen"]):
        called = paddock("ls", "--fleet", "nope", *more)
        assert (called.code, called.out) == (4, "")
        assert called.err == (
            "paddock: no run came with a fleet 'nope'; `paddock ls --all` lists all runs\n"
        )


def test_an_outcome_that_is_asked_for_as_a_state_is_answered_with_how(paddock: Paddock) -> None:
    called = paddock("ls", "--state", "failed")
    assert called.code == 2
    assert "'failed' is an outcome, not a state; say --outcome failed" in called.err


def test_ls_says_where_its_list_stops_short(paddock: Paddock, daemon: FakeDaemon) -> None:
    for number in range(ENDED_LISTED):
        daemon.add(f"old-{number}", state="ended", outcome="succeeded")
    said = "paddock: the newest {} of more; --limit shows more\n"
    assert paddock("ls", "--all", "--json").err == said.format("1,000")
    assert paddock("ls", "--all", "--limit", "10").err == said.format("10")
    assert paddock("ls", "--all", "--limit", "2000").err == ""


@pytest.mark.parametrize("width", [40, 80, 120])
def test_runs_are_never_wider_than_the_terminal(daemon: FakeDaemon, width: int) -> None:
    name = "an-agent-with-quite-a-long-name"
    outcome, because = "memory_limit_exceeded", "used 287.9 MiB, over its soft limit of 64 MiB"
    daemon.add(name, waits_for="at place 3 in the queue: needs 4 GiB", state="queued")
    daemon.add(name, state="ended", outcome=outcome, because=because, peak_bytes=300 * MIB)
    runs = list(daemon.runs.values())
    lines = list(runs_table(runs, width=width, colour=False, now=1_090.0))
    assert max(map(len, lines)) <= width
    assert "memory" in lines[2]
    if width >= 80:
        assert name[:15] in lines[1]
        assert "place 3:" in lines[1]
        assert "1 min " in lines[1]
        assert ("priority" in lines[0]) == (width == 120)


def test_status_goes_on_below_itself_where_the_terminal_ends() -> None:
    row = Row("trouble", "the store cannot be written: " + "no space left on the device " * 4)
    lines = list(_lines(row, width=80, colour=False))
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert [line[:12].strip() for line in lines] == ["trouble", "", ""]
    (cut_off,) = _lines(row._replace(whole=False), width=80, colour=False)
    assert cut_off.endswith("…")


def test_ls_as_json_has_the_keys_that_scripts_rely_on(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("implement")
    (run,) = paddock("ls", "--json").json
    assert run.keys() >= {
        *("id", "name", "state", "outcome", "exit_code", "priority", "group", "attempt"),
        *("memory_bytes", "limit_bytes", "waits_for", "needs"),
    }


def test_nothing_to_list_is_said_on_stderr_and_is_an_empty_list(paddock: Paddock) -> None:
    called = paddock("ls")
    assert (called.code, called.out) == (0, "")
    assert "no runs" in called.err
    assert paddock("ls", "--json").json == []


@pytest.mark.parametrize("command", ["ls", "story", "why", "memory", "status"])
def test_what_came_from_an_agent_does_not_act_on_the_terminal(
    paddock: Paddock, daemon: FakeDaemon, command: str
) -> None:
    daemon.add("evil", sentence=EVIL, waits_for=EVIL, group=EVIL)
    daemon.black_box = {"last\x07": f"line\n{EVIL}"}
    daemon.trouble = EVIL
    daemon.open_breakers = [BreakerView(group=EVIL, state="open", failures=3)]
    args = [command, "evil"] if command in ("story", "why") else [command]
    out = paddock(*args).out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\x07" not in out


def test_status_shows_host_fleet_queue_breakers_and_heartbeats(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    daemon.add("a")
    daemon.add("b", state="ended", outcome="failed")
    daemon.beats["health"] = 30.0
    daemon.open_breakers = [
        BreakerView(group="claude/web", state="open", failures=3, retry_in_s=12.0)
    ]
    lines = [line.strip() for line in paddock("status").out.splitlines()]
    assert lines == [
        "host  12 GiB of 16 GiB available, 25 % used; calm",
        "fleet  1 GiB in use, 2 GiB expected, of 8 GiB",
        "runs  1 running; ended: 1 failed",
        "queue  0 waiting, of 1000 at most",
        "breaker  claude/web is open after 3 failures; in 12 s one may try",
        "heartbeat  health every 30 s, next in 2 s (4 beats, 1 skipped)",
        "driver  local",
    ]


def test_status_as_json_has_the_keys_that_scripts_rely_on(paddock: Paddock) -> None:
    found = paddock("status", "--json").json
    assert found.keys() >= {"host", "fleet", "counts", "queue", "breakers"}
    assert found["host"].keys() >= {"total_bytes", "available_bytes", "used_percent", "ladder"}
    assert found["fleet"].keys() >= {"limit_bytes", "expected_bytes", "used_bytes"}


def test_status_of_an_empty_fleet_says_none(paddock: Paddock) -> None:
    assert "runs  none\n" in paddock("status").out


def test_memory_shows_each_agent_against_its_wall(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("implement")
    head, row = paddock("memory").out.splitlines()
    assert head.split()[:4] == ["id", "name", "in", "use"]
    assert head.split()[-2:] == ["processes", "group"]
    assert "█···················   6%" in row
    assert paddock("memory", "--json").json[0]["peak_bytes"] == 128 * 1024**2


def test_memory_learned_says_what_groups_need(paddock: Paddock, daemon: FakeDaemon) -> None:
    assert "nothing was learned yet" in paddock("memory", "--learned").err
    daemon.add("implement")
    out = paddock("memory", "--learned").out
    assert out.splitlines()[1].split() == [
        *("implement", "its", "limit", "128", "MiB", "1", "GiB", "3", "1", "min", "40", "s"),
        *("█▁··········", "implement"),
    ]


@pytest.mark.parametrize(
    ("histogram", "shown"),
    [
        ((), ""),
        (((0, 0.0),), ""),
        (((GIB, 5.0),), "···········█"),
        (((2 * GIB, 5.0),), "···········█"),  # a wall that was lowered since
        (((MIB, 50.0), (GIB // 2, 50.0)), "▅·····▅·····"),
    ],
)
def test_time_by_size_is_seen_at_a_glance(
    histogram: tuple[tuple[int, float], ...], shown: str
) -> None:
    view = LearnedView(
        group="g",
        attempts=1,
        typical_bytes=None,
        peak_bytes=GIB,
        limit_bytes=GIB,
        histogram=histogram,
    )
    assert _spread(view) == shown


@pytest.mark.parametrize(
    ("attempts", "typical", "peak", "said"),
    [
        (3, None, 0, "its limit"),
        (40, None, 0, "its limit: too little was seen"),
        (40, GIB, 8 * MIB, "its limit: too little was seen"),
        (40, GIB, GIB, "1 GiB"),
        (40, 300 * MIB, GIB, "300 MiB"),
    ],
)
def test_a_group_that_still_counts_with_its_limit_says_so(
    attempts: int, typical: int | None, peak: int, said: str
) -> None:
    view = LearnedView(
        group="g", attempts=attempts, typical_bytes=typical, peak_bytes=peak, limit_bytes=GIB
    )
    assert _expected(view) == said


def test_story_says_which_run_did_the_steps_that_a_retry_leaves_out(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    daemon.add("again", steps=2, steps_done=2)
    facts: dict[str, Any] = {"at": time.time(), "attempt": 1, "exit_code": 0}
    daemon.steps_done = [
        StepView(step=1, name="unit", run="r0000", **facts),
        StepView(step=2, name="e2e", **facts),
    ]
    first, second = paddock("story", "again").out.splitlines()[-2:]
    assert first.startswith("step 1, unit: done in the run r0000 at ")
    assert second.startswith("step 2, e2e: done at ")


def test_story_tells_times_states_and_reasons(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("implement")
    lines = paddock("story", "implement").out.splitlines()
    assert len(lines) == 4
    assert lines[2].endswith("starting        1  it fits")
    assert [move["state"] for move in paddock("story", "r0001", "--json").json] == [
        *("queued", "starting", "ended"),
    ]


def test_why_is_a_sentence_and_the_black_box(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("implement", because="went over its wall")
    daemon.black_box = {"limit": "64 MiB", "command": "pytest -q"}
    assert paddock("why", "implement").out.splitlines() == [
        "went over its wall",
        "  limit    64 MiB",
        "  command  pytest -q",
    ]
    assert paddock("why", "implement", "--json").json == {
        "sentence": "went over its wall",
        "black_box": daemon.black_box,
    }


def test_what_the_sentence_of_why_mentions_is_in_the_box_all_the_same(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    because = "went over its memory limit of 64 MiB"
    daemon.add("hog", because=f"memory_limit_exceeded: {because}")
    daemon.black_box = {"why": because, "limit": "64 MiB", "peak": "64 MiB"}
    assert paddock("why", "hog").out.splitlines()[1:] == ["  limit  64 MiB", "  peak   64 MiB"]


def test_why_goes_on_below_itself_where_the_terminal_ends() -> None:
    said = "failed: " + "word " * 30
    box = {"next": "nothing: " + "it is over " * 10, "last": "one\ntwo"}
    shown = list(why_lines(said, box, width=60))
    assert max(map(len, shown)) <= 60
    assert shown[-2:] == ["  last  one", "        two"]


def test_the_reason_of_a_stop_is_told_once(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("slow", state="ended", outcome="timeout_exceeded")
    because = "ran into its hard timeout of 2 s"
    daemon.moves = [
        MoveView(at=1.0, state="running", attempt=1, because="the agent runs"),
        MoveView(at=2.0, state="stopping", attempt=1, because=because),
        MoveView(at=3.0, state="stopping", attempt=1, because=because),
        MoveView(at=4.0, state="ended", attempt=1, because="it ended"),
    ]
    told = [line.split("  1  ")[1] for line in paddock("story", "slow").out.splitlines()[1:]]
    stopped = f"paddock stopped it: {because}"
    assert told == ["the agent runs", stopped, "it is still there: pressed harder", "it ended"]
    daemon.moves[-1].because = because
    daemon.moves.pop(2)
    assert paddock("story", "slow").out.splitlines()[-1].endswith("1  timeout_exceeded")
    assert [move["because"] for move in paddock("story", "slow", "--json").json][1:] == [
        because
    ] * 2


def test_an_unknown_run_is_exit_4(paddock: Paddock) -> None:
    called = paddock("why", "nobody")
    assert (called.code, called.err) == (4, "paddock: there is no run 'nobody'\n")


def test_a_prefix_of_several_is_bad_usage(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.fails_with = NotFound("r is the beginning of several runs", "ambiguous")
    assert paddock("why", "r").code == 2


def test_a_daemon_that_goes_away_in_mid_answer_is_exit_69(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    daemon.fails_with = Failed("the daemon broke off", "lost")
    assert paddock("ls").code == 69


def test_a_daemon_that_broke_is_a_bug_and_says_so(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.fails_with = Failed("it broke", "internal")
    assert paddock("ls").code == 70


@pytest.mark.parametrize("command", ["ls", "status", "memory"])
def test_looking_starts_a_daemon_that_remembers(
    paddock: Paddock, daemon: FakeDaemon, command: str
) -> None:
    daemon.running = False
    assert paddock(command).code == 0
    assert daemon.starts == 1
