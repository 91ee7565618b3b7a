"""What is submitted in place of a run, and what its program is given to see."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from paddock.config.preset import Preset
from paddock.config.preset_reading import built_in
from paddock.rehearsal.costumes import COSTUMES, dress
from paddock.rehearsal.putting_on import CannotRehearse, Part, put_on
from paddock.rehearsal.script import USUAL, Run, Script, Scripts, from_json
from paddock.rehearsal.stage import environment_of
from paddock.rehearsal.summary import played, sum_of
from paddock.wire.run_request import RunRequest, Step

OWN = Script((Run("echo own"),))


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    directory = tmp_path / "programs"
    directory.mkdir()
    for name in COSTUMES:
        (directory / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (directory / name).chmod(0o755)
    return directory


def a_request(programs: Path, **more: object) -> RunRequest:
    given = {"name": "a", "agent": "claude", "prompt": "do it", "env": {"PATH": str(programs)}}
    return RunRequest(**given | more)  # type: ignore[arg-type]


def prepared(
    tmp_path: Path, request: RunRequest, presets: dict[str, Preset] | None = None
) -> tuple[RunRequest, Part]:
    known = {**built_in(), **(presets or {})}
    scripts = Scripts(USUAL, {"own": OWN})
    made, parts = put_on(request, presets=known, scripts=scripts, top=tmp_path / "top")
    (part,) = parts
    return made, part


@pytest.mark.parametrize("agent", list(COSTUMES))
def test_only_the_way_to_the_program_differs(agent: str, tmp_path: Path, programs: Path) -> None:
    request = a_request(programs, agent=agent, name="own", memory_bytes=1 << 30, role="review")
    made, part = prepared(tmp_path, request)
    assert made.program == str(tmp_path / "top/own/bin" / agent)
    unchanged = {"env": request.env, "role": "review", "driver": None, "program": None}
    assert structs.replace(made, **unchanged) == request
    assert (made.role, made.driver) == ("rehearsal-review", "local")
    assert from_json((part.place / "script.json").read_text(encoding="utf-8")) == OWN
    shim = part.place / "bin" / agent
    assert os.access(shim, os.X_OK)
    assert str(programs / agent) in shim.read_text(encoding="utf-8")


def test_it_learns_for_a_group_of_its_own(tmp_path: Path, programs: Path) -> None:
    request = a_request(programs)
    made, _ = prepared(tmp_path, request)
    assert made.group_in("shop") == "claude/shop/rehearsal" != request.group_in("shop")
    made, _ = prepared(tmp_path, a_request(programs, name="b", group="night", model="large"))
    assert (made.group, made.model) == ("rehearsal-night", None)


def test_no_secret_and_no_variable_that_nobody_named_goes_along(
    tmp_path: Path, programs: Path
) -> None:
    env = {"PATH": str(programs), "CI": "1", "MY_API_KEY": "k", "github_token": "t", "HOME": "/x"}
    made, part = prepared(tmp_path, a_request(programs, env=env))
    users = {"ANTHROPIC_API_KEY": "real", "EDITOR": "vi", "LANG": "C", "PADDOCK_RUN": "r1"}
    given = users | made.env | {"PATH": f"/tools:{programs}"}
    seen = environment_of(part.place, part.agent, given)
    assert seen["PATH"] == f"/tools:{programs}"
    assert seen["HOME"] == str(part.place / "home")
    assert (seen["CI"], seen["LANG"], seen["PADDOCK_RUN"]) == ("1", "C", "r1")
    assert seen["ANTHROPIC_API_KEY"] != "real" and seen["ANTHROPIC_BASE_URL"].startswith("http://1")
    assert not {"MY_API_KEY", "github_token", "EDITOR"} & seen.keys()


def test_a_home_is_made_once(tmp_path: Path) -> None:
    dress(COSTUMES["codex"], tmp_path)
    config = tmp_path / ".codex/config.toml"
    assert 'wire_api = "responses"' in config.read_text(encoding="utf-8")
    config.write_text("changed", encoding="utf-8")
    dress(COSTUMES["codex"], tmp_path)
    assert config.read_text(encoding="utf-8") == "changed"
    assert "rehearsal" in (tmp_path / ".gitconfig").read_text(encoding="utf-8")


def test_a_preset_of_the_users_own_is_rehearsed_as_the_program_that_it_runs(
    tmp_path: Path, programs: Path
) -> None:
    own = replace(built_in()["codex"], name="mine", start=(str(programs / "codex"), "{prompt}"))
    made, part = prepared(tmp_path, a_request(programs, agent="mine", env={}), {"mine": own})
    assert part.agent == "codex" and made.agent == "mine"


def test_what_has_no_agent_is_not_rehearsed(tmp_path: Path, programs: Path) -> None:
    known, scripts = built_in(), Scripts(USUAL)
    plain = a_request(programs, agent="plain", driver="container")
    for request in (plain, RunRequest(name="a", command=("true",))):
        assert put_on(request, presets=known, scripts=scripts, top=tmp_path) == (request, [])


def test_agents_in_steps_have_a_part_each(tmp_path: Path, programs: Path) -> None:
    steps = (
        Step(name="write", agent="claude", prompt="do it"),
        Step(name="test", command=("true",)),
        Step(name="review", agent="codex", prompt="look"),
    )
    request = a_request(programs, name="a", agent=None, prompt=None, steps=steps)
    scripts = Scripts(USUAL, {"a.review": OWN})
    made, parts = put_on(request, presets=built_in(), scripts=scripts, top=tmp_path)
    assert [(part.place.name, part.agent) for part in parts] == [
        ("a.write", "claude"),
        ("a.review", "codex"),
    ]
    assert [step.program for step in made.steps] == [
        str(tmp_path / "a.write/bin/claude"),
        None,
        str(tmp_path / "a.review/bin/codex"),
    ]
    assert [part.script for part in parts] == [USUAL, OWN]
    assert sum_of([played(part.script, part.ledger) for part in parts]).calls == 4


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"agent": "nobody"},
            "a: there is no preset 'nobody'; allowed in a rehearsal: aider, claude",
        ),
        ({"agent": "mine"}, "the preset mine runs 'mine', which has no stand-in; allowed: presets"),
        ({"agent": "far"}, "/opt/claude is not installed here; to get it: ask"),
        ({"driver": "container"}, "a: found the driver container; allowed in a rehearsal: local"),
        ({"env": {"PATH": "/nowhere"}}, "claude is not installed here; to get it: npm install -g"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_in_one_line(
    more: dict[str, object], says: str, tmp_path: Path, programs: Path
) -> None:
    own = {
        "mine": Preset(name="mine", start=("mine", "{prompt}")),
        "far": Preset(name="far", start=("/opt/claude", "{prompt}"), install="ask"),
    }
    with pytest.raises(CannotRehearse) as caught:
        prepared(tmp_path, a_request(programs, **more), own)
    assert says in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.missing == ("installed" in says)
    assert not (tmp_path / "top").exists()
