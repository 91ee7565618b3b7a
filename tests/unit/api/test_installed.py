"""Programs of presets that are not on this host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paddock.api.installed import Programs, check_installed
from paddock.api.problems import Declined
from paddock.api.recipes import sent
from paddock.config.preset import Preset
from paddock.config.preset_reading import built_in
from paddock.wire.run_request import RunRequest, Step
from paddock.wire.views import Submit


@pytest.fixture
def programs(tmp_path: Path) -> str:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    return str(tmp_path)


def check(path: str, *, presets: dict[str, Preset] | None = None, **facts: object) -> str:
    """What is refused, or nothing."""
    request = RunRequest(**{"name": "a", **facts})  # type: ignore[arg-type]
    try:
        check_installed([request], {**built_in(), **(presets or {})}, {"PATH": path})
    except Declined as declined:
        return declined.message
    return ""


def test_it_is_looked_for_where_the_run_will_look(programs: str) -> None:
    said = "a: claude is not installed here; to get it: npm install -g @anthropic-ai/claude-code"
    assert check(programs, agent="claude", prompt="p") == ""
    assert check("/nowhere", agent="claude", prompt="p") == said
    request = RunRequest(name="a", agent="claude", prompt="p")
    with pytest.raises(Declined) as declined:
        check_installed([request], built_in(), {"PATH": "/nowhere"})
    assert (declined.value.status, declined.value.code) == (409, "not_installed")
    assert check("/nowhere", agent="claude", prompt="p", env={"PATH": programs}) == ""
    assert check(programs, agent="claude", prompt="p", env={"PATH": "/nowhere"}) == said
    steps = (Step(name="s", command=("true",)), Step(name="t", agent="codex", prompt="p"))
    assert check(programs, steps=steps).startswith("a: codex is not installed here; to get it: npm")


def test_what_cannot_be_known_before_it_runs_is_not_refused(programs: str) -> None:
    own = {
        "near": Preset(name="near", start=("./agent", "{prompt}")),
        "far": Preset(name="far", start=("/nowhere/agent", "{prompt}")),
    }
    for agent in ("near", "plain", "there-is-none"):
        assert check("/nowhere", presets=own, agent=agent, prompt="p", arguments=("x",)) == ""
    assert check("/nowhere:bin", agent="claude", prompt="p") == ""  # of a workspace, perhaps
    assert check("/nowhere", command=("claude",)) == ""
    assert check("/nowhere", agent="claude", prompt="p", program="/of/a/rehearsal") == ""
    assert check(programs, presets=own, agent="far", prompt="p") == (
        "a: /nowhere/agent is not installed here"
    )


def test_a_plain_command_is_looked_for_where_the_run_will_look(tmp_path: Path) -> None:
    for name, mode in (("good", 0o755), ("bad", 0o644)):
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(mode)
    known, where = Programs(), str(tmp_path)

    def missing(program: str, *, path: str = "/nowhere", **facts: Any) -> bool:
        request = RunRequest(name="a", command=(program,), **facts)
        said = Submit(key="k", runs=(request,), directory=where + "/", environment={"PATH": path})
        known.look_for(said)
        found = known.is_missing(request, sent(said, None))
        assert known.are_there(said) is not found
        return found

    assert not missing("good", path=f"/nowhere:{where}") and missing("good")
    assert not missing("./good") and missing("./bad") and missing("./none") and missing(where)
    assert not missing("good", path=".") and not missing(f"{where}/good")
    assert not missing("good", env={"PATH": where}) and missing("bad", path=where)
    assert missing("./good", dir="/") and not missing("./good", dir=where)
    for brings_it in ({"repo": where}, {"needs": ("other",)}):
        assert not missing("./none", **brings_it)


def test_what_nobody_looked_for_is_looked_for_first_and_not_called_missing() -> None:
    known, request = Programs(), RunRequest(name="a", command=("true",))
    said = Submit(key="k", runs=(request,), directory="/", environment={"PATH": "/bin"})
    assert not known.are_there(said) and not known.is_missing(request, sent(said, None))
    without_path = Submit(key="k", runs=(request,), directory="/")
    assert known.are_there(without_path)
