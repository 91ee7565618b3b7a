"""`paddock agent-guide`: only limits that are in force, with a daemon and without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.cli.guide_text import Limits, guide, in_force
from paddock.core.units import GIB, MIB
from paddock.host.memory import read_memory
from tests.unit.cli.conftest import Paddock

PROJECT = Path(__file__).parents[3]
PAGE = PROJECT / "docs/explain/agents-guide.md"
# Of the page: a host with cgroup v2 and nothing configured.
USUAL = Limits(
    whose="Of a run for which nothing else was said",
    memory_bytes=4 * GIB,
    walled=True,
    no_swap=True,
    high_bytes=3 * GIB,
    pids=512,
    soft_s=900.0,
    hard_s=1800.0,
)
LANGUAGES = {"py": "python", "sh": "sh", "js": "js", "rs": "rust"}


@pytest.fixture(autouse=True)
def _nothing_is_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    for name in ("PADDOCK_RUN", "PADDOCK_MEMORY_LIMIT", "PADDOCK_PROFILE"):
        monkeypatch.delenv(name, raising=False)


def configure(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config/paddock/config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_the_page_shows_what_it_prints() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition("```markdown\n")[2].partition("\n```\n")[0]
    assert f"{shown}\n" == guide(USUAL)


@pytest.mark.parametrize("ending", LANGUAGES)
def test_the_examples_on_the_page_are_those_that_are_tested(ending: str) -> None:
    example = (PROJECT / f"examples/agents/agent.{ending}").read_text(encoding="utf-8")
    assert f"```{LANGUAGES[ending]}\n{example}```\n" in PAGE.read_text(encoding="utf-8")


def test_a_daemon_without_walls_holds_little_and_less_is_said(
    paddock: Paddock, tmp_path: Path
) -> None:
    """The daemon in memory is no process, so it lives in no cgroup."""
    configure(tmp_path, "sandbox: {cpu_limit: 1.5, tool_walls: [pytest], soft_memory_limit: 1G}\n")
    called = paddock("agent-guide")
    assert (called.code, called.err) == (0, "")
    said = " ".join(called.out.split())
    assert "- Memory: 1 GiB, for you" in said
    assert "Nothing holds you there, but whoever uses more is stopped" in said
    assert "From 819.2 MiB (80 %) on let go of caches" in said
    for not_held in ("processes and threads", "1.5 at most", "pytest", "swap", "slows you down"):
        assert not_held not in said, not_held
    assert "- Cores: all of them" in said


def test_no_daemon_is_started_for_it_and_none_is_needed(paddock: Paddock) -> None:
    paddock.daemon.running = False
    called = paddock("agent-guide", "--json")
    assert (called.code, paddock.daemon.starts) == (0, 0)
    assert called.json["limits"]["hard_s"] == 1800.0
    assert 0 < called.json["limits"]["memory_bytes"] <= min(4 * GIB, read_memory().total_bytes)
    assert called.json["text"].startswith("# Working under paddock\n")


def test_the_fleets_wall_of_the_daemon_that_runs_counts(paddock: Paddock) -> None:
    told = paddock("agent-guide", "--json").json["limits"]["memory_bytes"]
    wall = paddock("status", "--json").json["fleet"]["limit_bytes"]
    assert told <= wall


def test_inside_a_run_only_its_own_limit_is_stated(
    paddock: Paddock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDOCK_RUN", "r1")
    monkeypatch.setenv("PADDOCK_MEMORY_LIMIT", str(300 * MIB))
    limits = paddock("agent-guide", "--json").json["limits"]
    assert (limits["whose"], limits["memory_bytes"]) == ("Of this run", 300 * MIB)
    assert limits["hard_s"] is limits["pids"] is None


def test_what_is_configured_for_this_directory_is_what_is_said(
    paddock: Paddock, tmp_path: Path
) -> None:
    text = "performance: {agent_timeout: 600, soft_timeout: 60}\nsandbox: {containment: none}\n"
    configure(tmp_path, text)
    paddock.daemon.running = False
    out = paddock("agent-guide").out
    assert "- Time: 20 min, more where" in out
    assert "- After 1 min you are told" in out


def test_a_mistake_in_the_configuration_is_one_line(paddock: Paddock, tmp_path: Path) -> None:
    configure(tmp_path, "performance: {agent_timeout: 1}\n")
    called = paddock("agent-guide")
    assert (called.code, called.out) == (2, "")
    assert "agent_timeout" in called.err and "paddock config check" in called.err


def test_what_is_held_is_said() -> None:
    more = replace(USUAL, cpus=2.0, tools=("pytest", "cargo"), no_swap=False, high_bytes=None)
    text = "\n".join(in_force(more))
    assert "Cores: 2 at most" in text and "pytest, cargo: each in a wall of its own" in text
    assert "swap" not in text and "slows you down" not in text
    assert "(80 %)" in guide(more) and "(80 %)" not in guide(USUAL), "the throttle comes first"
