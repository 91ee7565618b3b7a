"""`paddock relieve` and `paddock watch` on a host of 512 MiB that is really full."""

from __future__ import annotations

import json
import signal
import time

from tests.integration.rescue.pen import MIB, Pen, gone
from tests.kit.waiting import until

KILLED = -signal.SIGKILL
LADDER = {
    "emergency": 80,
    "relief_target": 50,
    "skip_low_free_bytes": 1,
    "queue_free_bytes": 1,
    "preempt_free_bytes": 1,
    "emergency_free_bytes": 1,
}


def test_relieve_kills_the_lowest_priority_until_below_the_target(pen: Pen) -> None:
    high = pen.agent("high", 150, priority=1)
    low = pen.agent("low", 150, "child", priority=3)
    newest = pen.agent("newest", 120, begun_at=9.0)
    done = pen.paddock("relieve", "60", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["reached"] and said["used_percent"] < 60 < said["used_percent_before"]
    assert [kill["id"] for kill in said["killed"]] == ["low"]
    assert said["killed"][0]["gone"]
    assert said["killed"][0]["memory_bytes"] > 130 * MIB
    assert said["freed_bytes"] > 120 * MIB
    assert {one["id"] for one in said["spared"]} == {"high", "newest"}
    assert low.wait(30) == KILLED
    assert not gone(high) and not gone(newest)
    killed = json.loads((pen.state / "keeper/attempts/low.1.killed").read_text())
    assert killed["outcome"] == "preempted"
    assert "frees" in killed["because"]


def test_what_was_killed_is_said_and_the_next_call_finds_nothing_to_do(pen: Pen) -> None:
    pen.agent("a", 100, begun_at=1.0)
    b = pen.agent("b", 200, begun_at=2.0)
    done = pen.paddock("relieve", "40")
    first, last = done.stdout.splitlines()
    assert first.startswith("killed the-b (b): host memory at ")
    assert "(target 40 %); frees " in first and first.endswith("spared the-a (normal)")
    assert "1 agent killed" in last
    assert b.wait(30) == KILLED
    assert pen.paddock("relieve", "40").stdout.endswith(": nothing to do\n")


def test_a_frozen_agent_dies_too(pen: Pen) -> None:
    """In v1 a process that is frozen where it stands dies only once that is thawed."""
    frozen = pen.agent("frozen", 200)
    assert pen.fleet.child("frozen.1").child("main").freeze()
    done = pen.paddock("relieve", "20")
    assert done.stdout.startswith("killed the-frozen (frozen)"), done
    assert (done.returncode, frozen.wait(30)) == (0, KILLED)


def test_a_dry_run_kills_nobody(pen: Pen) -> None:
    hog = pen.agent("hog", 200, expected_bytes=100 * MIB)
    said = json.loads(pen.paddock("relieve", "20", "--dry-run", "--json").stdout)
    assert [one["id"] for one in said["would_kill"]] == ["hog"]
    done = pen.paddock("relieve", "20", "--dry-run")
    assert done.stdout.startswith("would kill the-hog (hog): host memory at")
    assert "MiB over its expected size" in done.stdout
    assert not gone(hog)


def test_the_critical_die_last_and_code_1_says_that_it_was_not_enough(pen: Pen) -> None:
    somebody = pen.hold(pen.ceiling.child("other"), 150)  # no agent of ours
    critical = pen.agent("critical", 100, priority=0)
    normal = pen.agent("normal", 100)
    done = pen.paddock("relieve", "20", "--json")
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert [kill["id"] for kill in said["killed"]] == ["normal", "critical"]
    assert not said["reached"]
    assert (normal.wait(30), critical.wait(30)) == (KILLED, KILLED)
    assert not gone(somebody)


def test_an_agent_without_a_cgroup_is_found_by_its_mark(pen: Pen) -> None:
    """Containment `none`; and one that left its cgroup."""
    outside = pen.agent("outside", 200, "child", walled=False)
    said = json.loads(pen.paddock("relieve", "20", "--json").stdout)
    assert said["killed"] == []  # where there are walls, only their contents are looked at
    (pen.state / "keeper/home").unlink()
    done = pen.paddock("kill", "--all", "--force")
    assert (done.returncode, done.stdout) == (0, "outside\n"), done.stderr
    assert outside.wait(30) == KILLED


def test_one_who_left_its_cgroup_dies_with_the_others(pen: Pen) -> None:
    agent = pen.agent("a", 150)
    env = pen.marked("a")
    fled = pen.hold(pen.ceiling.child("elsewhere"), 1, env=env)
    assert pen.paddock("relieve", "20").returncode == 0
    assert (agent.wait(30), fled.wait(30)) == (KILLED, KILLED)


def test_facts_that_are_lost_or_torn_do_not_save_a_hog(pen: Pen) -> None:
    hog = pen.agent("hog", 200)
    (pen.state / "keeper/attempts/hog.1.facts").write_text("{")
    assert pen.paddock("relieve", "20").returncode == 0
    assert hog.wait(30) == KILLED


# -- watch --------------------------------------------------------------------------------------


def test_watch_says_what_there_is_line_by_line(pen: Pen) -> None:
    pen.agent("a", 100)
    watching = pen.start("watch", "--interval", "100ms", "--json")
    assert watching.stdout is not None
    looks = [json.loads(watching.stdout.readline()) for _ in range(2)]
    watching.terminate()
    assert [look["kind"] for look in looks] == ["look", "look"]
    assert looks[1]["total_bytes"] == 512 * MIB
    assert looks[1]["agents"] == 1
    assert looks[1]["top"][0]["name"] == "the-a"
    # The kernel adds up what a cgroup uses now and then: 7 MiB behind were seen.
    assert looks[1]["top"][0]["memory_bytes"] > 80 * MIB


def test_watch_with_auto_kill_saves_the_host_when_it_fills(pen: Pen) -> None:
    (pen.state / "keeper/ladder").write_text(json.dumps(LADDER))
    kept = pen.agent("kept", 100, priority=1)
    watching = pen.start("watch", "--auto-kill", "--interval", "1s", "--json")
    assert watching.stdout is not None
    assert json.loads(watching.stdout.readline())["ladder"] == "calm"
    hog = pen.filling("hog", 330, begun_at=time.time())
    assert hog.wait(60) == KILLED
    relief = next(filter(_is_relief, map(json.loads, watching.stdout)))
    assert [kill["id"] for kill in relief["killed"]] == ["hog"]
    assert relief["killed"][0]["because"].startswith("host memory at ")
    assert relief["reached"]
    assert not gone(kept)
    watching.terminate()


def _is_relief(said: dict[str, object]) -> bool:
    return said["kind"] == "relief"


def test_watch_finds_a_daemon_that_moves_in_later(pen: Pen) -> None:
    home = pen.state / "keeper/home"
    text = home.read_text()
    home.unlink()
    watching = pen.start("watch", "--interval", "100ms", "--json")
    assert watching.stdout is not None
    first = json.loads(watching.stdout.readline())
    assert first["total_bytes"] > 512 * MIB
    home.write_text(text)
    until(lambda: json.loads(watching.stdout.readline())["total_bytes"] == 512 * MIB, within_s=10)  # type: ignore[union-attr]
    watching.terminate()


def test_a_rescuer_inside_the_full_host_itself_does_its_work(pen: Pen) -> None:
    """It starts and acts with what is left of 512 MiB below an agent of 470."""
    hog = pen.agent("hog", 470)
    done = pen.paddock("relieve", "60", within=pen.ceiling.child("rescuer"))
    assert done.returncode == 0, done.stderr
    assert hog.wait(30) == KILLED


def test_an_agent_that_calls_for_relief_is_told_and_not_frozen_with_the_others(pen: Pen) -> None:
    """From inside the very agent that must die: freezing it would freeze the rescuer, for ever."""
    hog = pen.agent("hog", 300)
    env = pen.marked("hog")
    done = pen.paddock("relieve", "50", within=pen.fleet.child("hog.1").child("main"), env=env)
    assert done.stdout.startswith("killed the-hog (hog)"), done
    assert (done.returncode, hog.wait(30)) == (0, KILLED)
