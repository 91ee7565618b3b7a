"""What the core gets from the settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.config.at_once import agents_at_once
from paddock.config.kinds import Share
from paddock.config.layers import user_file
from paddock.config.mistakes import ConfigError
from paddock.config.policy import notes, run_defaults, to_policy
from paddock.config.tool_walls import ToolWall
from paddock.core.policy import Admission, BreakerPolicy, LadderPolicy, Policy, TimeoutPolicy
from paddock.core.units import GIB, MIB
from tests.unit.config.files import settings


def test_the_built_in_settings_are_the_cores_own_defaults() -> None:
    policy = to_policy(settings(), 16 * GIB)
    unsaid = replace(policy, max_agents_by="", more_agents_by="")
    assert unsaid == Policy(total_bytes=16 * GIB, reserve_bytes=8 * GIB, max_agents=5)


@pytest.mark.parametrize(
    ("text", "by", "more"),
    [
        ("", "by the profile medium", "`performance_profile: high` in {user} allows 10"),
        ("performance_profile: high", "by the profile high", "host` in {user} allows as many as"),
        ("performance_profile: host", "", ""),
        ("performance: {max_concurrent_agents: 2}", "by performance.max_concurrent_agents in ", ""),
        ("queue: {admission: guaranteed}", "as many as are safe with queue.admission: guar", ""),
        (
            "performance_profile: own\nprofiles: {own: {max_concurrent_agents: 3}}",
            "by the profile own (",
            "`performance_profile: medium` in {user} allows 5",
        ),
    ],
)
def test_whoever_waits_for_the_cap_can_be_told_who_set_it_and_what_allows_more(
    text: str, by: str, more: str
) -> None:
    policy = to_policy(settings(text), 16 * GIB)
    home, user = str(Path.home()), str(user_file())
    assert policy.max_agents_by.startswith(by) and bool(policy.max_agents_by) == bool(by)
    assert more.format(user=user.replace(f"{home}/", "~/")) in policy.more_agents_by
    assert bool(policy.more_agents_by) == bool(more)


def test_a_profile_chosen_by_an_option_is_not_changed_in_a_file() -> None:
    policy = to_policy(settings(profile="low"), 16 * GIB)
    assert policy.more_agents_by == "another --performance-profile may allow more"


def test_every_key_of_the_host_reaches_the_core() -> None:
    policy = to_policy(
        settings(
            "performance: {agent_timeout: 600, max_concurrent_agents: 3}\n"
            "ladder: {skip_low: 50, queue: 60, preempt: 70, emergency: 80, relief_target: 55}\n"
            "queue: {depth: 9, admission: guaranteed}\n"
            "breaker: {failures: 7, window: 2m}\n"
            "sandbox: {host_memory_reserve: 6G, memory_limit: 1G}"
        ),
        16 * GIB,
    )
    assert policy.ladder == LadderPolicy(
        skip_low=50, queue=60, preempt=70, emergency=80, relief_target=55
    )
    assert policy.breaker == BreakerPolicy(failures=7, window_s=120)
    assert policy.timeouts == TimeoutPolicy(simple_s=600)
    assert (policy.queue_depth, policy.admission) == (9, Admission.GUARANTEED)
    assert (policy.max_agents, policy.reserve_bytes) == (3, 6 * GIB)


@pytest.mark.parametrize(
    ("gib", "memory", "safe"),
    [(16, "4G", 2), (32, "4G", 4), (64, "4G", 8), (128, "4G", 12), (16, "2G", 4), (16, "8G", 1)],
)
def test_the_safe_number_is_that_of_the_capacity_rule(gib: int, memory: str, safe: int) -> None:
    found = agents_at_once(settings(f"sandbox: {{memory_limit: {memory}}}"), gib * GIB)
    assert found.safe == safe


@pytest.mark.parametrize(
    ("text", "profile", "gib", "effective"),
    [
        ("", "medium", 16, 2),
        ("", "medium", 64, 5),
        ("", "host", 1536, 326),
        ("performance: {max_concurrent_agents: 3}", "medium", 64, 3),
        ("performance: {max_concurrent_agents: 300}", "medium", 1536, 5),
        ("performance: {max_concurrent_agents: 300}", "host", 1536, 300),
        ("performance: {max_concurrent_agents: 1000}", "host", 1536, 326),
    ],
)
def test_agents_at_once_are_the_least_of_asked_profile_and_safe(
    text: str, profile: str, gib: int, effective: int
) -> None:
    found = agents_at_once(settings(text, profile=profile), gib * GIB)
    assert found.effective == effective
    guaranteed = settings(f"{text}\nqueue: {{admission: guaranteed}}", profile=profile)
    assert to_policy(guaranteed, gib * GIB).max_agents == effective


def test_learned_sizes_may_pass_the_safe_number_but_never_what_is_configured() -> None:
    assert to_policy(settings(profile="host"), 16 * GIB).max_agents is None
    assert to_policy(settings(profile="high"), 16 * GIB).max_agents == 10


def test_a_reserve_that_leaves_nothing_is_refused_with_its_place() -> None:
    found = settings("sandbox: {host_memory_reserve: 16G}")
    with pytest.raises(ConfigError, match=r":1: sandbox\.host_memory_reserve: found 16G; allowed"):
        to_policy(found, 16 * GIB)


def test_the_reserve_is_the_users_to_say_and_no_projects() -> None:
    for asked in ("2G", "10G"):
        found = settings(project=f"sandbox: {{host_memory_reserve: {asked}}}")
        assert to_policy(found, 16 * GIB).reserve_bytes == 8 * GIB
    assert (
        to_policy(settings("sandbox: {host_memory_reserve: 2G}"), 16 * GIB).reserve_bytes == 2 * GIB
    )


def test_a_run_that_says_nothing_gets_these() -> None:
    found = run_defaults(settings(), 16 * GIB)
    assert (found.limit_bytes, found.soft_limit_bytes) == (4 * GIB, 2 * GIB)
    assert found.high_bytes(found.limit_bytes) == 3 * GIB
    assert (found.cpu_limit, found.pids_limit, found.driver) == (None, 512, "auto")
    assert (found.soft_timeout_s, found.tool_walls) == (None, ())
    assert (found.log_buffer_bytes, found.log_rotation_bytes) == (10 * MIB, 50 * MIB)


def test_on_a_small_host_the_default_limit_is_what_fits_and_that_is_said() -> None:
    found = settings()
    defaults = run_defaults(found, 2 * GIB)
    assert (defaults.limit_bytes, defaults.soft_limit_bytes) == (GIB, GIB)
    assert list(notes(found, 2 * GIB)) == [
        "runs that say nothing get 1 GiB: the 4G of sandbox.memory_limit would not fit this host"
    ]


@pytest.mark.parametrize("total", [GIB, 2 * GIB, 3 * GIB, 16 * GIB])
@pytest.mark.parametrize("reserve", ["auto", "100M", "900M"])
def test_the_default_limit_is_one_that_the_core_would_admit(total: int, reserve: str) -> None:
    found = settings(f"sandbox: {{host_memory_reserve: {reserve}}}")
    limit = run_defaults(found, total).limit_bytes
    assert 0 < limit <= to_policy(found, total).largest_bytes


def test_a_cap_that_bites_is_said() -> None:
    found = settings("performance: {max_concurrent_agents: 300}")
    (by_profile, by_host) = notes(found, 16 * GIB)
    assert "300 agents at once are asked for, but the profile medium allows 5" in by_profile
    assert "2 of 4G are safe on this host" in by_host
    assert list(notes(settings(), 16 * GIB)) == []


def test_a_high_mark_set_for_large_runs_does_not_bind_a_small_one() -> None:
    found = run_defaults(settings("sandbox: {memory_high: 3500M}"), 64 * GIB)
    assert found.high_bytes(4 * GIB) == 3500 * MIB
    assert found.high_bytes(2 * GIB) == Share(75).of(2 * GIB)


def test_a_tool_wall_may_be_a_plain_name() -> None:
    found = run_defaults(settings("sandbox: {tool_walls: [pytest, {command: npm}]}"), 16 * GIB)
    assert found.tool_walls == (ToolWall(command="pytest"), ToolWall(command="npm"))
    assert found.tool_share == 75


def test_tool_walls_are_kept() -> None:
    text = "sandbox: {tool_walls: [{command: 'cargo*', memory: 6G, lease: build}]}"
    (wall,) = run_defaults(settings(text), 64 * GIB).tool_walls
    assert wall == ToolWall(command="cargo*", memory_bytes=6 * GIB, lease="build")


def test_the_floors_of_all_steps_go_with_one() -> None:
    policy = to_policy(settings("ladder: {free_floor: 128M}"), 16 * GIB)
    ladder = policy.ladder
    floors = (ladder.skip_low_free_bytes, ladder.queue_free_bytes, ladder.preempt_free_bytes)
    assert (*floors, ladder.emergency_free_bytes) == (160 * MIB, 128 * MIB, 96 * MIB, 48 * MIB)
    assert policy.free_floor_bytes == 128 * MIB


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [
        ("", 512),
        ("sandbox: {memory_limit: 256M}", 256),  # who makes agents smaller wants no larger streams
        ("sandbox: {memory_limit: 256M, stream_memory_limit: 300M}", 300),
        ("performance_profile: tiny", 512),
        ("sandbox: {stream_memory_limit: 100G}", 8 * 1024),
    ],
)
def test_streams_have_a_wall_of_their_own(text: str, megabytes: int) -> None:
    assert run_defaults(settings(text), 16 * GIB).stream_limit_bytes == megabytes * MIB


def test_tiny_has_room_for_two_of_its_agents_on_one_gib() -> None:
    found = settings(profile="tiny")
    policy, limit = to_policy(found, GIB), run_defaults(found, GIB).limit_bytes
    assert limit == 400 * MIB
    assert policy.wall_bytes >= 2 * limit
    # Daemon and keeper are there too.
    assert GIB - policy.floor_bytes - 2 * limit >= 100 * MIB
    assert list(notes(found, GIB)) == []
