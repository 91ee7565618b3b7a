"""Which session an attempt is started in."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.config.preset import GIVEN, Line
from paddock.core.run import Attempt
from paddock.ports import Launch
from paddock.supervisor.keepsakes import AFTER_LABEL
from paddock.supervisor.sessions import Agent, Sessions, session_of

RESUME = Line(("x", "?"), {1: "--resume={session}"})
GIVES = Agent(preset="x", sessions={1: "{session}"}, resume=RESUME, session=GIVEN)
FINDS = Agent(preset="x", resume=RESUME, session="id (?P<session>.*)")


class Output(dict[Attempt, bytes]):
    """What attempts wrote."""

    def head(self, attempt: Attempt, most: int) -> bytes:
        return self.get(attempt, b"")[:most]

    def last(self, attempt: Attempt, most: int) -> bytes:
        return self.get(attempt, b"")[-most:]


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path / "sessions", Output())


def launch(
    run: str = "a", number: int = 1, *, resume: bool = False, after: str | None = None
) -> Launch:
    labels = {} if after is None else {AFTER_LABEL: after}
    return Launch(
        attempt=Attempt(run, number),
        command=("x", "?", "{session}"),
        environment={},
        directory=Path("/"),
        limit_bytes=1,
        resume=resume,
        labels=labels,
    )


def command(sessions: Sessions, agent: Agent, **facts: object) -> tuple[str, ...]:
    return sessions.given(launch(**facts), agent).command  # type: ignore[arg-type]


def test_one_that_paddock_gives_is_the_same_however_often_it_is_asked(sessions: Sessions) -> None:
    first = session_of(Attempt("a", 1))
    for _ in range(2):  # an action may come twice
        assert command(sessions, GIVES) == ("x", first, "{session}")
    for _ in range(2):
        assert command(sessions, GIVES, number=2, resume=True) == ("x", f"--resume={first}")
    afresh = session_of(Attempt("a", 3))
    assert afresh != first and command(sessions, GIVES, number=3)[1] == afresh
    assert command(sessions, GIVES, number=4, resume=True)[1] == f"--resume={afresh}"


def test_one_that_was_found_is_gone_on_with_and_without_one_it_begins(sessions: Sessions) -> None:
    assert command(sessions, FINDS, number=2, resume=True) == launch().command
    sessions.keep("a", "own")
    assert command(sessions, FINDS, number=3, resume=True) == ("x", "--resume=own")
    assert command(sessions, FINDS, number=4) == launch().command  # another step
    assert command(sessions, FINDS, number=5, resume=True) == launch().command


def test_of_two_that_go_on_with_a_run_one_has_its_session(sessions: Sessions) -> None:
    command(sessions, GIVES)
    first = session_of(Attempt("a", 1))
    assert command(sessions, GIVES, run="b", resume=True, after="a")[1] == f"--resume={first}"
    assert command(sessions, GIVES, run="c", resume=True, after="a")[1] == session_of(
        Attempt("c", 1)
    )
    again = command(sessions, GIVES, run="b", number=2, resume=True, after="a")
    assert again[1] == f"--resume={first}"


def test_what_needs_no_session_goes_on_without_one(sessions: Sessions) -> None:
    agent = Agent(preset="x", resume=Line(("x", "--continue")))
    assert command(sessions, agent, number=2, resume=True) == ("x", "--continue")
    assert command(sessions, Agent(preset="x"), number=2, resume=True) == launch().command


def test_a_long_prompt_is_a_file_that_only_the_start_reads(sessions: Sessions) -> None:
    agent = Agent(preset="x", resume=RESUME, session=GIVEN, prompt="line\n" * 50_000)
    stdin = sessions.given(launch(), agent).stdin
    assert stdin is not None and stdin.read_text(encoding="utf-8") == agent.prompt
    assert stdin.stat().st_mode & 0o777 == 0o600
    assert sessions.given(launch(number=2, resume=True), agent).stdin is None
    sessions.remove("a")
    assert list(stdin.parent.iterdir()) == []
    sessions.remove("a")


def test_an_id_that_is_none_is_not_kept(sessions: Sessions) -> None:
    for text in ("x" * 201, "", "--yes", "a\nb"):
        sessions.keep("a", text)
    assert command(sessions, FINDS, number=2, resume=True) == launch().command


def test_one_whose_end_nobody_saw_is_looked_for_in_what_was_written(tmp_path: Path) -> None:
    """The machine was restarted under it."""
    output = Output({Attempt("a", 1): b"id old\n", Attempt("a", 2): b"begin\nid new\nmore\n"})
    sessions = Sessions(tmp_path, output)
    assert command(sessions, FINDS, number=3, resume=True) == ("x", "--resume=new")
    assert command(Sessions(tmp_path, Output()), FINDS, number=4, resume=True)[1] == "--resume=new"
