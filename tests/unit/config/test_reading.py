"""Mistakes in a file: all at once, each with its line, key, what was found and what is allowed."""

from __future__ import annotations

import pytest

from paddock.config.mistakes import MOST_MISTAKES, ConfigError, Mistakes, Place
from paddock.config.settings import SETTINGS
from tests.unit.config.files import mistakes_in, settings


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "performance: {agent_timeot: 900}",
            "user.yaml:1: performance.agent_timeot: found an unknown key; did you mean "
            "agent_timeout?",
        ),
        (
            "performance:\n  memory_limit: 4G",
            "user.yaml:2: performance.memory_limit: found an unknown key; did you mean "
            "sandbox.memory_limit?",
        ),
        (
            "profile: high",
            "user.yaml:1: profile: found an unknown key; did you mean performance_profile?",
        ),
        (
            "zebra: 1",
            "user.yaml:1: zebra: found an unknown key; allowed: agents, breaker, cost, kubernetes, "
            "ladder, performance, performance_profile, profiles, queue, report, sandbox",
        ),
        (
            "performance: {agent_timeout: 30}",
            "user.yaml:1: performance.agent_timeout: found 30; allowed: a time from 60 s to "
            "3600 s, as in 90, 90s or 15m",
        ),
        (
            "sandbox: {memory_limit: 4}",
            "user.yaml:1: sandbox.memory_limit: found 4 bytes; allowed: a size from 16M to 1T, "
            "as in 4G",
        ),
        (
            "queue: {admission: learnd}",
            "user.yaml:1: queue.admission: found 'learnd'; allowed: learned or guaranteed; did "
            "you mean learned?",
        ),
        (
            "performance: [1]",
            "user.yaml:1: performance: found a list of 1; allowed: a table of keys and values",
        ),
        (
            "performance_profile: hgih",
            "user.yaml:1: performance_profile: found the unknown profile 'hgih'; allowed: tiny, "
            "low, medium, high, host; did you mean high?",
        ),
        (
            "profiles: {night: {agent_timout: 1h}}",
            "user.yaml:1: profiles.night.agent_timout: found an unknown key; did you mean "
            "agent_timeout?",
        ),
    ],
)
def test_a_mistake_is_one_line_that_says_it_all(text: str, line: str) -> None:
    assert mistakes_in(text) == [line]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("performance: {max_concurrent_agents: true}", "true (yes or no)"),
        ("performance: {max_concurrent_agents: 5.0}", "5.0"),
        ("performance: {max_concurrent_agents: '5'}", "'5'"),
        ("performance: {max_concurrent_agents: 0755}", "0755, a number with a zero in front"),
        ("performance: {max_concurrent_agents: -1}", "-1"),
        ("performance: {max_concurrent_agents: 1001}", "1001"),
        ("performance: {agent_timeout: .inf}", ".inf"),
        ("performance: {agent_timeout: 0900}", "0900, a number with a zero in front"),
        ("performance: {agent_timeout: true}", "true (yes or no)"),
        ("performance: {agent_timeout: }", "nothing"),
        ("performance: {full_log: yes}", "'yes'"),
        ("performance: {full_log: 1}", "1"),
        ("sandbox: {cpu_limit: .nan}", ".nan"),
        ("sandbox: {cpu_limit: 0}", "0"),
        ("sandbox: {memory_limit: [4G]}", "a list of 1"),
        ("sandbox: {memory_limit: 15M}", "'15M'"),
        ("sandbox: {memory_limit: 2T}", "'2T'"),
        ("sandbox: {memory_high: 100%}", "'100%'"),
        ("sandbox: {memory_high: 0%}", "'0%'"),
        ("sandbox: {tool_walls: [{lease: a}]}", "a tool wall without a command"),
        ("sandbox: {tool_walls: [a/b]}", "command 'a/b'"),
        ("sandbox: {tool_walls: [{command: a/b, memory: 1G}]}", "command 'a/b'"),
        ("sandbox: {tool_walls: [{comand: a, memory: 1G}]}", "an unknown key 'comand'"),
        ("ladder: {skip_low: 29}", "29"),
        ("ladder: {emergency: 99.5}", "99.5"),
        ("queue: {depth: 1000001}", "1000001"),
        ("breaker: {window: 61m}", "'61m'"),
        ("profiles: {'a b': {}}", "'a b'"),
        ("profiles: {night: 5}", "5"),
        ("performance_profile: [high]", "a list of 1"),
    ],
)
def test_what_is_outside_its_range_or_of_another_kind_is_refused(text: str, found: str) -> None:
    (line,) = mistakes_in(text)
    assert f"found {found}" in line
    assert "; allowed: " in line or "; did you mean " in line


@pytest.mark.parametrize(
    ("key", "least", "below", "most", "above"),
    [
        ("performance.max_concurrent_agents", "1", "0", "1000", "1001"),
        ("performance.agent_timeout", "60", "59", "3600", "3601"),
        ("performance.max_repo_size_mb", "100", "99", "50000", "50001"),
        ("performance.log_buffer_size_mb", "1", "0", "100", "101"),
        ("performance.log_rotation_size_mb", "10", "9", "500", "501"),
        ("performance.max_worktrees", "1", "0", "50", "51"),  # 500: the profile host
        ("performance.tui_log_lines", "100", "99", "10000", "10001"),
    ],
)
def test_the_ranges_are_those_that_were_promised(
    key: str, least: str, below: str, most: str, above: str
) -> None:
    section, name = key.split(".")
    for value in (least, most):
        assert mistakes_in(f"{section}: {{{name}: {value}}}") == []
    for value in (below, above):
        (line,) = mistakes_in(f"{section}: {{{name}: {value}}}")
        assert line.startswith(f"user.yaml:1: {key}: found {value}; allowed: ")


def test_all_mistakes_of_all_files_come_at_once_in_order() -> None:
    lines = mistakes_in(
        "queue:\n  depth: 0\nperformance:\n  agent_timeout: 1\n", host="queue: {deep: 1}"
    )
    assert [line.split(": ")[0] for line in lines] == ["host.yaml:1", "user.yaml:2", "user.yaml:4"]


def test_a_mistake_inside_a_list_is_reported_where_it_stands() -> None:
    (line,) = mistakes_in("sandbox:\n  tool_walls:\n    - {command: a, lease: b}\n    - {lease: c}")
    assert line.startswith("user.yaml:4: sandbox.tool_walls: ")


def test_a_section_with_every_key_commented_out_is_empty() -> None:
    found = settings("performance:\n  # agent_timeout: 5\nprofiles:\n")
    assert all(not held.explicit for held in found.held.values())


def test_after_a_hundred_mistakes_they_are_only_counted() -> None:
    mistakes = Mistakes()
    for number in range(MOST_MISTAKES + 7):
        mistakes.add(Place("f", number + 1), "k", found="x", allowed="y")
    with pytest.raises(ConfigError) as caught:
        mistakes.raise_any()
    assert len(caught.value.mistakes) == MOST_MISTAKES
    assert str(caught.value).endswith("\nand 7 more")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_default_is_allowed_and_shown_as_it_can_be_written(setting: object) -> None:
    from paddock.config.settings import Setting

    assert isinstance(setting, Setting)
    section, name = setting.section, setting.name
    shown = setting.kind.show(setting.built_in())
    again = settings(f"{section}: {{{name}: {shown}}}")
    assert again[setting] == setting.built_in()
    assert again.where(setting).source.endswith("user.yaml:1")
