"""How the files join: which wins, what a profile does, what a project may not do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.config import settings as s
from paddock.config.kinds import Share
from paddock.config.layers import find_files, find_project_file, load_settings, settings_of
from paddock.config.mistakes import ConfigError
from paddock.config.project_bounds import bounds_of, unheeded
from paddock.core.units import MIB
from tests.unit.config.files import mistakes_in, settings

PROFILE_FACTS = {
    "tiny": (2, 5, 600.0, 1.0, 400 * MIB, 5, 10),
    "low": (2, 5, 600.0, 1.0, 4096 * MIB, 1000, 10),
    "medium": (5, 10, 900.0, None, 4096 * MIB, 1000, 10),
    "high": (10, 20, 1800.0, None, 4096 * MIB, 1000, 10),
    "host": (None, 10, 900.0, None, 4096 * MIB, 1000, 500),
}


def test_without_files_everything_is_built_in_or_of_the_profile_medium() -> None:
    found = settings()
    assert {held.source for held in found.held.values()} == {"built in", "profile medium"}
    assert found[s.MEMORY_HIGH] == Share(75)
    assert found[s.MAX_AGENTS] is None


@pytest.mark.parametrize("name", sorted(PROFILE_FACTS))
def test_the_profiles_are_those_of_the_reference(name: str) -> None:
    found = settings(profile=name)
    facts = (
        found.agents_cap.value,
        found[s.LOG_BUFFER],
        found[s.AGENT_TIMEOUT],
        found[s.CPU_LIMIT],
        found[s.MEMORY_LIMIT],
        found[s.QUEUE_DEPTH],
        found[s.MAX_WORKTREES],
    )
    assert facts == PROFILE_FACTS[name]


def test_the_nearer_file_wins_key_by_key_and_says_so() -> None:
    found = settings(
        "performance: {log_files_kept: 5, tui_log_lines: 500}",
        host="performance: {log_files_kept: 9, worktree_idle_days: 30}",
        project="performance:\n  tui_log_lines: 300",
    )
    assert found[s.WORKTREE_IDLE] == 30
    assert found[s.LOG_FILES] == 5
    assert found[s.TUI_LINES] == 300
    assert found.where(s.TUI_LINES).source.endswith("project.yaml:2")
    assert found.where(s.LOG_ROTATION).source == "built in"


def test_a_key_in_a_file_wins_over_a_profile_whoever_chose_it() -> None:
    found = settings("performance: {agent_timeout: 700}", profile="high")
    assert found[s.AGENT_TIMEOUT] == 700.0
    assert found[s.LOG_BUFFER] == 20
    assert found.where(s.LOG_BUFFER).source == "profile high"


def test_the_option_wins_over_the_variable_and_both_over_files(tmp_path: Path) -> None:
    file = tmp_path / "user.yaml"
    file.write_text("performance_profile: low\n", encoding="utf-8")

    def chosen(profile: str | None, variable: str) -> tuple[object, str]:
        environment = {"PADDOCK_PROFILE": variable}
        found = settings_of({"user": file}, profile=profile, environment=environment)
        return found.profile.value, found.profile.source

    assert chosen("high", "tiny") == ("high", "--performance-profile")
    assert chosen(None, "tiny") == ("tiny", "PADDOCK_PROFILE")
    assert chosen(None, "") == ("low", f"{file}:1")
    with pytest.raises(ConfigError, match="PADDOCK_PROFILE: found the unknown profile 'hgih'"):
        chosen(None, "hgih")


def test_own_profiles_add_to_and_change_those_that_ship() -> None:
    text = "performance_profile: night\nprofiles:\n  night: {agent_timeout: 45m, queue: {depth: 7}}"
    found = settings(text)
    assert (found[s.AGENT_TIMEOUT], found[s.QUEUE_DEPTH]) == (2700.0, 7)
    assert found.where(s.QUEUE_DEPTH).source.startswith("profile night (")
    assert (found.agents_cap.value, found.agents_cap.source) == (5, "profile medium")
    wide = settings("profiles: {wide: {max_concurrent_agents: auto}}", profile="wide")
    assert wide.agents_cap.value is None
    changed = settings("profiles: {high: {log_buffer_size_mb: 33}}", profile="high")
    assert (changed[s.LOG_BUFFER], changed[s.AGENT_TIMEOUT]) == (33, 1800.0)


@pytest.mark.parametrize(
    ("user", "project"),
    [
        ("", "queue: {depth: 1001}"),
        ("", "ladder: {emergency: 96}"),
        ("queue: {admission: guaranteed}", "queue: {admission: learned}"),
        ("performance: {max_concurrent_agents: 4}", "performance: {max_concurrent_agents: 5}"),
        ("performance: {max_concurrent_agents: 4}", "performance: {max_concurrent_agents: auto}"),
        ("sandbox: {host_memory_reserve: 8G}", "sandbox: {host_memory_reserve: 7G}"),
        ("sandbox: {host_memory_reserve: 8G}", "sandbox: {host_memory_reserve: auto}"),
        ("performance_profile: tiny", "queue: {depth: 6}"),
        ("sandbox: {driver: container}", "sandbox: {driver: local}"),
        ("sandbox: {driver: container}", "sandbox: {driver: auto}"),
        ("sandbox: {driver: kubernetes}", "sandbox: {driver: container}"),
    ],
)
def test_a_project_that_loosens_the_host_is_told_why_it_may_not(user: str, project: str) -> None:
    (line,) = mistakes_in(user, project=project)
    assert line.startswith("project.yaml:1: ")
    assert "a project can only make keys of the whole host stricter" in line


def test_a_project_may_be_stricter() -> None:
    found = settings(
        "queue: {depth: 100}",
        project="queue: {depth: 5, admission: guaranteed}\n"
        "performance: {max_concurrent_agents: 1}\n"
        "sandbox: {driver: container}",
    )
    assert found[s.SANDBOX_DRIVER] == "container"
    assert (found[s.QUEUE_DEPTH], found[s.ADMISSION], found[s.MAX_AGENTS]) == (5, "guaranteed", 1)
    assert list(unheeded(found)) == []
    bounds = bounds_of(found)
    assert bounds is not None and bounds.project.endswith("project.yaml")
    assert (bounds.agents, bounds.waiting, bounds.by_limits) == (1, 5, True)


def test_a_project_that_is_not_stricter_binds_nothing() -> None:
    same = "queue: {depth: 100}\nperformance: {max_concurrent_agents: 3}"
    assert bounds_of(settings(same, project=same)) is None
    assert bounds_of(settings(same)) is None
    forced = settings(profile="low", project="sandbox: {memory_limit: 1G}")
    assert bounds_of(forced) is None, "who chose the profile is not the project"


def test_a_profile_that_a_project_chooses_binds_its_runs() -> None:
    bounds = bounds_of(settings(project="performance_profile: tiny"))
    assert bounds is not None
    assert (bounds.agents, bounds.waiting, bounds.by_limits) == (2, 5, False)


def test_what_only_the_host_can_say_is_not_in_force_and_that_is_said() -> None:
    found = settings(
        "sandbox: {host_memory_reserve: 8G}",
        project="ladder: {queue: 75, free_floor: 1G}\nsandbox: {host_memory_reserve: 9G}\n"
        "queue: {min_run: 90s, max_preemptions: 1}",
    )
    assert (found[s.LADDER_QUEUE], found[s.FREE_FLOOR]) == (80, 512 * MIB)
    assert (found[s.HOST_RESERVE], found[s.MAX_PREEMPTIONS]) == (8192 * MIB, 3)
    said = list(unheeded(found))
    keys = ("host_memory_reserve", "ladder.queue", "free_floor", "min_run", "max_preemptions")
    assert len(said) == len(keys)
    for key, sentence in zip(keys, said, strict=True):
        assert key in sentence and "has no effect in a project's file" in sentence
    assert "project.yaml:2: sandbox.host_memory_reserve" in said[0]
    assert bounds_of(found) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_strangers_file_above_is_no_project_of_ours(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    file = tmp_path / ".paddock/config.yaml"
    file.parent.mkdir()
    file.write_text("sandbox: {memory_limit: 16M}\n", encoding="utf-8")
    assert find_project_file(mine) == file
    os.chown(file, 65534, 65534)
    assert find_project_file(mine) != file
    os.chown(file, 0, 0)
    os.chown(file.parent, 65534, 65534)
    assert find_project_file(mine) != file
    os.chown(mine, 65534, 65534)  # who works in a directory of somebody takes what is theirs
    assert find_project_file(mine) == file


def test_a_profile_chosen_by_a_project_does_not_loosen_the_host() -> None:
    found = settings("performance_profile: tiny", project="performance_profile: high")
    assert found[s.AGENT_TIMEOUT] == 1800.0
    assert found.agents_cap.value == 2
    assert found[s.QUEUE_DEPTH] == 5
    wide = settings(
        project="profiles: {medium: {max_concurrent_agents: 900, queue: {depth: 9999}}}"
    )
    assert (wide.agents_cap.value, wide[s.QUEUE_DEPTH]) == (5, 1000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ladder: {skip_low: 80}", "ladder.skip_low: found 80; allowed: below ladder.queue, which"),
        ("ladder: {preempt: 78}", "ladder.preempt: found 78; allowed: above ladder.queue, which"),
        ("ladder: {emergency: 85}", "ladder.emergency: found 85; allowed: above ladder.preempt"),
        ("ladder: {relief_target: 85}", "found 85; allowed: below ladder.preempt, which is 85"),
        ("sandbox: {memory_high: 4G}", "found 4G; allowed: a share, or less than the limit of 4G"),
        ("performance: {max_worktrees: 51}", "allowed: 50 at most, or up to 500 with"),
    ],
)
def test_values_that_do_not_agree_are_reported_at_the_one_in_the_file(text: str, said: str) -> None:
    (line,) = mistakes_in(text)
    assert line.startswith("user.yaml:1: ")
    assert said in line


def test_a_prepared_host_may_have_500_worktrees() -> None:
    text = "performance_profile: host\nperformance: {max_worktrees: %s}"
    assert settings(text % 500)[s.MAX_WORKTREES] == 500
    (line,) = mistakes_in(text % 501)
    assert "found 501; allowed: a whole number from 1 to 500" in line


def test_the_projects_file_is_found_upward(tmp_path: Path) -> None:
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    assert find_project_file(inner) != tmp_path / ".paddock/config.yaml"
    (tmp_path / ".paddock").mkdir()
    (tmp_path / ".paddock/config.yaml").write_text("queue: {depth: 3}\n", encoding="utf-8")
    assert find_project_file(inner) == tmp_path / ".paddock/config.yaml"


def test_the_users_file_follows_xdg_and_the_daemon_reads_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("PADDOCK_PROFILE", raising=False)
    user = tmp_path / "xdg/paddock/config.yaml"
    user.parent.mkdir(parents=True)
    user.write_text("queue: {depth: 30}\n", encoding="utf-8")
    project = tmp_path / "work/.paddock/config.yaml"
    project.parent.mkdir(parents=True)
    project.write_text("queue: {depth: 3}\n", encoding="utf-8")
    found = find_files(tmp_path / "work")
    assert (found["user"], found["project"]) == (user, project)
    assert load_settings(tmp_path / "work")[s.QUEUE_DEPTH] == 3
    assert load_settings(None)[s.QUEUE_DEPTH] == 30


def test_a_project_file_that_is_no_file_is_reported_and_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / ".paddock/config.yaml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="no readable file"):
        settings_of({"project": tmp_path / ".paddock/config.yaml"})
