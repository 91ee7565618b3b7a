"""What agent programs write last, and what is made of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from paddock.api.presets import filled
from paddock.config.preset_reading import built_in
from paddock.core.events import AttemptLost, Emptied, Event, Exited
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt, Exit, Hold, Outcome, Run, Running, StopPhase, Stopping
from paddock.ports import Recipe
from paddock.supervisor.keepsakes import AFTER_LABEL
from paddock.supervisor.sessions import AGENT_LABEL, Agent, Sessions, agent_label
from paddock.supervisor.signs import Signs
from paddock.supervisor.stepping import STEPS_LABEL, Part, steps_label
from paddock.wire.run_request import RunRequest
from tests.kit.factories import a_run, a_spec

UNSTATED = -1.0
HOLD = Hold(1 << 20, 1 << 20)
RUNNING = Running(0.0, 1, HOLD)
NOW = 5.0
RESUMED = {"attempts": 2, "preemptions": 1}


def agent_of(name: str) -> Agent:
    request = RunRequest(name="a", agent=name, prompt="p", arguments=("x",))
    return filled(request, built_in, {}, largest_bytes=1 << 40).agents[""]


@dataclass
class Stand:
    """Signs with an output that a test writes."""

    top: Path
    agent: Agent
    text: str = ""
    run: Run = field(default_factory=lambda: a_run(a_spec(agent="x"), state=RUNNING, attempts=1))
    labels: dict[str, str] = field(default_factory=dict)
    told: list[Event] = field(default_factory=list)

    def head(self, _: Attempt, most: int) -> bytes:
        return self.text.encode()[:most]

    def last(self, _: Attempt, most: int) -> bytes:
        return self.text.encode()[-most:]

    async def recipe(self, _: str) -> Recipe | None:
        labels = {AGENT_LABEL: agent_label(self.agent), **self.labels}
        return Recipe(command=("x",), directory=Path("/"), environment={}, labels=labels)

    def tell(self, *events: Event) -> list[Event]:
        return asyncio.run(self._tell(events))

    async def _tell(self, events: tuple[Event, ...]) -> list[Event]:
        fleet = cast("Fleet", SimpleNamespace(now=NOW, runs={self.run.id: self.run}))
        sessions = Sessions(self.top, self)
        signs = Signs(fleet, self.told.append, sessions, self, recipe=self.recipe)
        self.told.extend(event for event in events if not signs.takes(event))
        while len(asyncio.all_tasks()) > 1:  # this one waits for what it looks for
            await asyncio.sleep(0)
        signs.close()
        sessions.close()
        return self.told

    def exit(self, code: int | None = 1, *, signal: int | None = None) -> Exit:
        (event,) = self.tell(Exited(1.0, self.run.attempt, Exit(code=code, signal=signal)))
        assert isinstance(event, Exited)
        return event.exit

    @property
    def session(self) -> str | None:
        path = self.top / f"{self.run.id}.session"
        return path.read_text(encoding="utf-8") if path.exists() else None


# As the programs wrote it, or as it stands in them.
REAL = [
    ("claude", "Claude AI usage limit reached|4102444800", True),
    ("claude", "You've hit your session limit · resets 3pm (Europe/Berlin)", True),
    ("claude", "You've hit your weekly limit · resets Nov 20, 9am (UTC)", True),
    ("claude", "5-hour limit reached ∙ resets 3pm", True),
    ("claude", "You've hit your monthly spend limit.", None),
    ("claude", "API Error: Request rejected (429) · This request would exceed your limit.", None),
    ("claude", 'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}', None),
    ("codex", "ERROR: You've hit your usage limit. Visit x or try again at 3:05 PM.", True),
    ("codex", "ERROR: You've hit your usage limit. Try again later.", None),
    ("codex", "ERROR: exceeded retry limit, last status: 429 Too Many Requests", None),
    ("codex", "ERROR: Rate limit reached for m: Please try again in 1.5s.", True),
    ("gemini", "You have exhausted your capacity on this model. It will reset after 1h2m3s.", True),
    ("gemini", "Quota exceeded. Please retry in 12.5s.", True),
    ("gemini", "Suggested retry after 360s.", True),
    ("gemini", "json TerminalQuotaError: Daily quota is used up", None),
    ("opencode", '{"type":"error","error":{"statusCode":429,"h":{"retry-after":"30"}}}', True),
    ("opencode", '{"type":"error","error":{"data":{"statusCode":429}}}', None),
    ("aider", "litellm.RateLimitError: OpenAIException - Rate limit reached", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "stated"), REAL)
def test_the_words_of_the_programs(tmp_path: Path, name: str, line: str, stated: object) -> None:
    ended = Stand(tmp_path, agent_of(name), f"before\n{line}\n\nafter\n").exit()
    assert ended.retry_after_s is not None and not ended.session_lost
    assert (ended.retry_after_s > 0) is bool(stated)
    # The same of a program that did its work, or that was killed, means nothing.
    assert Stand(tmp_path, agent_of(name), line).exit(0).retry_after_s is None
    assert Stand(tmp_path, agent_of(name), line).exit(None, signal=9).retry_after_s is None


@pytest.mark.parametrize("name", ["claude", "codex", "opencode", "aider"])
@pytest.mark.parametrize(
    "line",
    [
        "FAILED tests/test_rate_limit.py::test_429 - assert 429 == 200",
        "I added handling of rate_limit_error and of API Error: 429.",
        "> You've hit your usage limit",
        "RateLimitError: try again in 5s",
        "# Claude: usage limit reached",
        "exceeded retry limit, last status: 429",
    ],
)
def test_what_is_only_spoken_of_is_a_failure_like_any_other(
    tmp_path: Path, name: str, line: str
) -> None:
    assert Stand(tmp_path, agent_of(name), line).exit().retry_after_s is None


LOST = [
    ("claude", "No conversation found with session ID: 0123"),
    ("codex", "Error: thread/resume: thread/resume failed: no rollout found for thread id 0123"),
    ("gemini", "Error resuming session: No previous sessions found for this project."),
    ("opencode", "\x1b[91m\x1b[1mError: \x1b[0mSession not found"),
]


@pytest.mark.parametrize(("name", "line"), LOST)
def test_a_session_is_lost_only_where_one_was_gone_on_with(
    tmp_path: Path, name: str, line: str
) -> None:
    again = a_run(a_spec(agent="x"), state=RUNNING, **RESUMED)
    assert Stand(tmp_path, agent_of(name), line, run=again).exit().session_lost
    assert not Stand(tmp_path, agent_of(name), line).exit().session_lost
    after = {AFTER_LABEL: "other"}
    assert Stand(tmp_path, agent_of(name), line, labels=after).exit().session_lost
    # Begun afresh, it is not lost once more: that would never end.
    afresh = a_run(a_spec(agent="x"), state=RUNNING, attempts=2, laters=1, tries_before=1)
    assert not Stand(tmp_path, agent_of(name), line, run=afresh, labels=after).exit().session_lost


@pytest.mark.parametrize(
    ("name", "line", "session"),
    [
        ("codex", f"session id: {'0' * 36}", "0" * 36),
        ("opencode", '{"type":"step_start","sessionID":"ses_1aB","part":{}}', "ses_1aB"),
    ],
)
def test_the_session_that_a_program_made_is_found_however_it_ended(
    tmp_path: Path, name: str, line: str, session: str
) -> None:
    agent = agent_of(name)
    text = f"begins\n{line}\n" + "more\n" * 10_000
    for number, event in enumerate((Exit(code=1), Exit(signal=15), None)):
        stand = Stand(tmp_path / str(number), agent, text)
        attempt = stand.run.attempt
        lost = AttemptLost(1.0, attempt, "gone")
        stand.tell(lost if event is None else Exited(1.0, attempt, event))
        assert stand.session == session
    told = Stopping(0.0, 1, HOLD, 0.0, Outcome.PREEMPTED, "", StopPhase.TOLD, 9.0)
    stopped = a_run(a_spec(agent="x"), state=told, attempts=1)
    stand = Stand(tmp_path / "stopped", agent, text, run=stopped)
    assert stand.exit(0).code == 0 and stand.session == session
    done = Stand(tmp_path / "done", agent, text)
    assert done.exit(0).code == 0 and done.session is None


def test_what_follows_an_end_waits_behind_it(tmp_path: Path) -> None:
    stand = Stand(tmp_path, agent_of("claude"), "API Error: 429\n")
    attempt = stand.run.attempt
    told = stand.tell(
        Exited(1.0, attempt, Exit(code=1), empty=False),
        Exited(1.0, attempt, Exit(code=1)),
        Emptied(1.0, attempt),
    )
    assert [type(event) for event in told] == [Exited, Exited, Emptied]
    assert all(each.exit.retry_after_s == UNSTATED for each in told if isinstance(each, Exited))


def test_words_of_a_step_that_streams_beside_it_are_not_its_own(tmp_path: Path) -> None:
    """The first fails; the one that reads from it has said early on that it is held up."""
    agent = agent_of("claude")
    stand = Stand(tmp_path, agent, "Claude AI usage limit reached|4102444800\n")
    both = (Part("a", ("x",), agent=agent), Part("b", ("y",)))
    stand.labels = {STEPS_LABEL: steps_label([both])}
    assert stand.exit().retry_after_s is None
    stand = Stand(tmp_path, agent, stand.text, labels={STEPS_LABEL: steps_label([both[:1]])})
    assert stand.exit().retry_after_s is not None


def test_who_said_it_by_itself_knows_better(tmp_path: Path) -> None:
    stand = Stand(tmp_path, agent_of("claude"), "API Error: 429\n")
    said = Exit(code=75, retry_after_s=7.0)
    (event,) = stand.tell(Exited(1.0, stand.run.attempt, said))
    assert isinstance(event, Exited) and event.exit == structs.replace(said, heard_at=NOW)


def test_others_are_not_held_up(tmp_path: Path) -> None:
    plain = a_run(a_spec(), state=RUNNING, attempts=1)
    stand = Stand(tmp_path, agent_of("claude"), "API Error: 429\n", run=plain)
    old = Exited(1.0, Attempt(plain.id, 7), Exit(code=1))
    for event in (Exited(1.0, plain.attempt, Exit(code=1)), old):
        assert stand.tell(event)[-1] is event


def test_a_store_in_trouble_costs_the_sign_and_not_the_end(tmp_path: Path) -> None:
    class Broken(Stand):
        async def recipe(self, _: str) -> Recipe | None:
            raise OSError("no")

    event = Exited(1.0, Attempt("", 1), Exit(code=1))
    stand = Broken(tmp_path, agent_of("claude"), "API Error: 429\n")
    event = Exited(1.0, stand.run.attempt, Exit(code=1))
    told = structs.replace(event, exit=Exit(code=1, heard_at=NOW))
    assert stand.tell(event) == [told]
