"""What a preset makes of a request."""

from __future__ import annotations

import os

import pytest

from paddock.api.presets import filled
from paddock.api.problems import Declined
from paddock.config.preset import Preset
from paddock.config.preset_reading import built_in
from paddock.wire.run_request import RunRequest, Step

MIB = 1 << 20
PRESETS = {
    **built_in(),
    "mine": Preset(
        name="mine",
        start=("mine", "{prompt}"),
        env={"A": "theirs", "B": "theirs"},
        memory_bytes=64 * MIB,
        peak_bytes=100 * MIB,
    ),
}


def fill(**facts: object) -> tuple[RunRequest, tuple[str, ...]]:
    request = RunRequest(**{"name": "a", **facts})  # type: ignore[arg-type]
    made = filled(request, lambda: PRESETS, {"IS_SANDBOX": "1"}, largest_bytes=1 << 30)
    return made.request, made.notes


def test_a_plain_command_is_as_it_was() -> None:
    request = RunRequest(name="a", command=("make",))
    assert filled(request, dict, {}, largest_bytes=1).request is request


def test_variables_of_the_run_are_stronger_and_its_memory_too() -> None:
    made, notes = fill(agent="mine", prompt="p", env={"A": "own"})
    assert (made.command, made.env) == (("mine", "p"), {"A": "own", "B": "theirs"})
    assert made.memory_bytes == 64 * MIB
    assert notes == ("mine was seen to use 100 MiB by itself, and gets 64 MiB",)
    made, notes = fill(agent="mine", prompt="p", memory_bytes=128 * MIB)
    assert (made.memory_bytes, notes) == (128 * MIB, ())
    assert fill(agent="claude", prompt="p")[0].memory_bytes is None


def test_what_a_preset_asks_for_is_made_to_fit_the_host() -> None:
    request = RunRequest(name="a", agent="mine", prompt="p")
    made = filled(request, lambda: PRESETS, {}, largest_bytes=32 * MIB).request
    assert made.memory_bytes == 32 * MIB


def test_steps_may_be_agents() -> None:
    steps = (
        Step(name="one", agent="claude", prompt="p"),
        Step(name="two", command=("make",)),
        Step(name="three", agent="mine", prompt="q"),
    )
    request = RunRequest(name="a", steps=steps, model="m")
    made = filled(request, lambda: PRESETS, {"IS_SANDBOX": "1"}, largest_bytes=1 << 30)
    assert [step.command[0] for step in made.request.steps] == ["claude", "make", "mine"]
    assert "m" in made.request.steps[0].command
    assert {name: agent.preset for name, agent in made.agents.items()} == {
        "one": "claude",
        "three": "mine",
    }
    assert made.agents["one"].resume is not None and made.agents["three"].resume is None


@pytest.mark.parametrize(
    ("wrong", "near"), [("opncode", "opencode"), ("clod", "claude"), ("codx", "codex")]
)
def test_the_nearest_name_is_said_after_all_that_there_are(wrong: str, near: str) -> None:
    with pytest.raises(Declined) as declined:
        fill(agent=wrong, prompt="p")
    said = declined.value.message
    assert said.startswith(f"a: agent: there is no preset '{wrong}'; there are aider, claude,")
    assert said.endswith(f"; did you mean {near}?")
    with pytest.raises(Declined) as declined:
        fill(agent="zzz", prompt="p")
    assert "there are aider, claude" in declined.value.message


def test_a_prompt_and_an_input_cannot_both_come_as_stdin() -> None:
    with pytest.raises(Declined, match="which --stdin has taken"):
        fill(agent="claude", prompt="x" * 200_000, stdin=True)


@pytest.mark.parametrize("is_root", [True, False])
def test_root_hears_what_claude_wants(
    monkeypatch: pytest.MonkeyPatch,
    is_root: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if is_root else 1000)
    request = RunRequest(name="a", agent="claude", prompt="p")
    notes = filled(request, lambda: PRESETS, {}, largest_bytes=1 << 30).notes
    assert ["say --env IS_SANDBOX=1" in note for note in notes] == [True] * is_root
    assert fill(agent="claude", prompt="p")[1] == ()
    set_by_run = RunRequest(name="a", agent="claude", prompt="p", env={"IS_SANDBOX": "1"})
    assert filled(set_by_run, lambda: PRESETS, {}, largest_bytes=1 << 30).notes == ()
