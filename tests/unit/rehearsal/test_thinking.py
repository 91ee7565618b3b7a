"""What the model says next, whatever shape it is asked in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from paddock.rehearsal.heard import Answer, Heard, Prompt, Refusal, Result, Tool
from paddock.rehearsal.ledger import Ledger
from paddock.rehearsal.script import (
    Fail,
    Memory,
    RateLimit,
    Run,
    Say,
    Script,
    Stall,
    Step,
    Wait,
    Write,
)
from paddock.rehearsal.shapes import anthropic, chat, responses
from paddock.rehearsal.summary import played
from paddock.rehearsal.thinking import MOST_ASKED, Model, Pause
from paddock.rehearsal.tools import marker

from .talking import SHAPES, Program


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def model(ledger: Path, *steps: Step, clock: Clock | None = None, by_text: bool = False) -> Model:
    script = Script(steps, "The end.")
    directory = ledger.parent
    if clock is None:
        return Model(script, Ledger(ledger), directory=directory, by_text=by_text)
    return Model(script, Ledger(ledger), directory=directory, by_text=by_text, clock=clock)


def asked(reply: object) -> str:
    """The command of a call."""
    assert isinstance(reply, Answer) and reply.call is not None, reply
    return str(reply.call.arguments.get("command"))


@pytest.mark.parametrize("shape", SHAPES)
def test_steps_are_asked_for_in_order_until_the_last_word(shape: ModuleType, ledger: Path) -> None:
    steps = (Say("First."), Run("echo one"), Wait(2.5), Memory(1 << 20, 3.0), Run("echo two"))
    program, thinker = Program(shape), model(ledger, *steps)
    reply = thinker.reply(program.says("do it"))
    assert isinstance(reply, Answer) and reply.text == "First."
    commands = []
    while isinstance(reply, Answer) and reply.call is not None:
        commands.append(asked(reply))
        number = int(reply.call.id.removeprefix("rehearsal").partition("x")[0])
        reply = thinker.reply(program.did(program.takes(reply), f"{marker(number)}0]"))
    assert reply == Answer("The end.")
    assert [" ".join(text.split()[1:3]) for text in commands] == [
        "echo one",
        "sleep 2.5",
        commands[2].split()[1] + " -I",
        "echo two",
    ]
    assert "bytearray(1048576)" in commands[2]
    found = played(Script(steps), ledger)
    assert (found.calls, found.done, found.asked_again, found.whole) == (4, 4, 0, True)


@pytest.mark.parametrize("shape", SHAPES)
def test_another_stand_in_goes_on_where_the_session_is(shape: ModuleType, ledger: Path) -> None:
    steps = (Run("echo one"), Run("echo two"))
    program = Program(shape)
    first = model(ledger, *steps).reply(program.says("do it"))
    assert isinstance(first, Answer)
    heard = program.did(program.takes(first), f"one\n{marker(0)}0]")
    ledger.unlink(missing_ok=True)
    assert "echo two" in asked(model(ledger, *steps).reply(heard))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_that_was_cut_short_is_asked_for_again(shape: ModuleType, ledger: Path) -> None:
    steps = (Run("echo one"), Run("echo two"))
    program, thinker = Program(shape), model(ledger, *steps)
    first = thinker.reply(program.says("do it"))
    assert isinstance(first, Answer)
    # What Claude Code says of a command that died with it; others say `aborted`.
    program.did(program.takes(first), "Exit code 137")
    again = thinker.reply(program.says("You were cut off. Go on."))
    assert "echo one" in asked(again)
    assert isinstance(again, Answer) and again.call is not None and first.call is not None
    assert again.call.id != first.call.id
    heard = program.did(program.takes(again), f"{marker(0)}0]")
    assert "echo two" in asked(thinker.reply(heard))
    assert played(Script(steps), ledger).asked_again == 1


@pytest.mark.parametrize(
    ("text", "asks_for"),
    [
        (f"{marker(0)}137]", "echo two"),  # it died alone, and its shell says so
        (f"{marker(0)}143]", "hog"),  # stopped along with the program
        ("Exit code 137", "hog"),  # its shell, too
        ("x" * 30_000, "echo two"),  # the program has cut it
    ],
)
def test_a_command_is_done_when_its_shell_says_so(text: str, asks_for: str, ledger: Path) -> None:
    program, thinker = Program(anthropic), model(ledger, Run("hog"), Run("echo two"))
    first = thinker.reply(program.says("do it"))
    assert isinstance(first, Answer)
    heard = program.did(program.takes(first), text)
    assert asks_for in asked(thinker.reply(heard))


def test_a_step_that_never_ends_well_is_given_up(ledger: Path) -> None:
    program, thinker = Program(chat), model(ledger, Run("echo one"))
    reply = thinker.reply(program.says("do it"))
    for _ in range(MOST_ASKED):
        assert isinstance(reply, Answer) and reply.call is not None
        program.did(program.takes(reply), "aborted")
        reply = thinker.reply(program.says("Go on."))
    assert reply == Answer("The end.")
    assert not played(Script((Run("echo one"),)), ledger).whole


def test_a_command_that_still_runs_is_looked_after(ledger: Path) -> None:
    """Codex does not wait for long ones."""
    program, thinker = Program(responses), model(ledger, Run("sleep 100"))
    first = thinker.reply(program.says("do it"))
    assert isinstance(first, Answer)
    text = "Process running with session ID 1234\nOutput:\n"
    look = thinker.reply(program.did(program.takes(first), text))
    assert isinstance(look, Answer) and look.call is not None
    assert look.call.tool == "write_stdin" and look.call.arguments["session_id"] == 1234
    heard = program.did(program.takes(look), f"{marker(0)}0]")
    assert thinker.reply(heard) == Answer("The end.")
    # The same after a cut: that session is gone with the program.
    program.session.pop()
    again = thinker.reply(program.says("Go on."))
    assert "sleep 100" in asked(again)


def test_a_limit_is_refused_until_the_time_that_it_stated(ledger: Path, clock: Clock) -> None:
    program, steps = Program(chat), (RateLimit(30.0), Run("echo one"))
    heard = program.says("do it")
    first = model(ledger, *steps, clock=clock).reply(heard)
    assert isinstance(first, Refusal)
    assert (first.status, first.until, first.retry_after_s) == (429, 1030.0, 30.0)
    clock.now = 1029.0
    second = model(ledger, *steps, clock=clock).reply(heard)
    assert isinstance(second, Refusal) and (second.until, second.retry_after_s) == (1030.0, 1.0)
    clock.now = 1030.0
    assert "echo one" in asked(model(ledger, *steps, clock=clock).reply(heard))


def test_errors_and_stalls_come_as_often_as_the_script_says(ledger: Path) -> None:
    heard = Program(chat).says("do it")
    steps = (Fail(503, 2), Stall(60.0, 1), Run("echo one"))
    replies = [model(ledger, *steps).reply(heard) for _ in range(4)]
    assert [reply.status for reply in replies[:2] if isinstance(reply, Refusal)] == [503, 503]
    assert replies[2] == Pause(60.0)
    assert "echo one" in asked(replies[3])
    assert played(Script(steps), ledger).refused == 3


@pytest.mark.parametrize("shape", SHAPES)
def test_a_question_beside_the_work_is_no_turn_of_the_script(
    shape: ModuleType, ledger: Path
) -> None:
    program = Program(shape)
    program.says("Give this a title")
    reply = model(ledger, RateLimit(30.0)).reply(program.heard(tools=False))
    assert isinstance(reply, Answer) and reply.call is None and reply.text
    assert not ledger.exists()


def test_files_are_written_with_the_programs_own_tool_unless_they_are_there(ledger: Path) -> None:
    tools = (Tool("Bash"), Tool("Write"))
    heard = Heard("m", stream=True, tools=tools, turns=())
    thinker = model(ledger, Write("notes/a.txt", "text\n"))
    reply = thinker.reply(heard)
    path = ledger.parent / "notes/a.txt"
    assert isinstance(reply, Answer) and reply.call is not None and reply.call.tool == "Write"
    assert reply.call.arguments == {"file_path": str(path), "content": "text\n"}
    done = Result(reply.call.id, "File created")
    assert thinker.reply(replace(heard, turns=(done,))) == Answer("The end.")
    cut = (done, Prompt("You were cut off."))
    assert isinstance(again := thinker.reply(replace(heard, turns=cut)), Answer) and again.call
    path.parent.mkdir()
    path.touch()
    # Programs want to have read what they write over.
    assert "base64 -d" in asked(thinker.reply(heard))


def test_a_program_without_tools_gets_files_as_text(ledger: Path) -> None:
    steps = (Run("echo one"), Write("a.txt", "text"), Write("b.txt", ""))
    thinker = model(ledger, *steps, by_text=True)
    reply = thinker.reply(Program(chat).says("do it"))
    assert isinstance(reply, Answer) and reply.call is None
    assert "a.txt\n```\ntext\n```" in reply.text
    thinker.reply(Heard("m", stream=False, tools=(), turns=(), system="Write a commit message."))
    found = played(Script(steps), ledger)
    assert (found.calls, found.done, found.whole) == (2, 2, True)
