"""Hard walls on real cgroups, v1 or v2, whichever this machine has; tests/vm runs these too."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

from paddock.cgroups.files import number, read_or_empty, table
from paddock.cgroups.v1 import Group1
from paddock.core.events import (
    Exited,
    LimitPassed,
    Noticed,
    SpawnFailed,
    Started,
    StopFound,
)
from paddock.core.run import Attempt, Priority
from paddock.core.units import MIB
from paddock.drivers.attempts import attempt_of, name_of
from paddock.drivers.local.containment.cgroup import CgroupContainment
from paddock.rescue.records import Records, read_facts
from tests.kit import leaks
from tests.kit.guest_place import in_a_guest
from tests.kit.keeping import PYTHON, agent
from tests.kit.stable import CANCELLED
from tests.kit.waiting import until
from tests.kit.walls import WalledStable, within_walls

# One read into a buffer of that size: as quick in a guest as it can be.
HOG = ("sh", "-c", "dd if=/dev/zero of=/dev/null bs=300M count=1; kill -9 $$")
# The best of a few tries: a machine may be busy, but not each time. An emulated guest may be ten
# times as slow (6 s were seen with 20 others waiting for its host's two cores): how soon it is
# there, bench/bench_walls.py says.
DEAD_WITHIN_S, GONE_WITHIN_S = (30.0, 30.0) if in_a_guest() else (1.0, 0.1)
TRIES = 1 if in_a_guest() else 5
QUIET = ("sleep", "60")
HERE = os.getpid()


@within_walls()
async def test_a_hog_dies_at_its_wall_alone_and_soon(stable: WalledStable) -> None:
    neighbour = stable.start(*QUIET, run="neighbour", limit_bytes=64 * MIB)
    await stable.hear(Started, neighbour)
    took = [await _dies_at_its_wall(stable, f"hog-{n}") for n in range(TRIES)]
    assert min(took) < DEAD_WITHIN_S, took
    assert stable.of(Exited, neighbour) == []
    assert neighbour in stable.driver.used_bytes()


async def _dies_at_its_wall(stable: WalledStable, run: str) -> float:
    hog = stable.start(*HOG, run=run, limit_bytes=64 * MIB)
    await stable.hear(Started, hog)
    began = time.monotonic()
    ended = (await stable.hear(Exited, hog)).exit
    took = time.monotonic() - began
    assert ended.oom and not ended.fleet_oom
    assert ended.victim is not None and "dd" in ended.victim
    assert ended.peak_bytes is not None and 56 * MIB < ended.peak_bytes <= 64 * MIB
    return took


@within_walls()
async def test_walls_are_what_was_asked_for_and_swap_is_none(stable: WalledStable) -> None:
    labels = {"memory_high": str(48 * MIB), "pids": "33", "cpu": "0.5"}
    attempt = stable.start(*QUIET, limit_bytes=64 * MIB, labels=labels)
    await stable.hear(Started, attempt)
    group = stable.group(attempt)
    if stable.home.version == 2:
        names = {"memory.max": 64 * MIB, "memory.high": 48 * MIB, "memory.swap.max": 0}
        found = {name: number(read_or_empty(f"{group.path}/{name}")) for name in names}
        assert found == names
        assert read_or_empty(f"{group.path}/cpu.max").split() == ["50000", "100000"]
        assert number(read_or_empty(f"{group.path}/pids.max")) == 33
    else:
        assert number(read_or_empty(f"{group.path}/memory.limit_in_bytes")) == 64 * MIB
        _may_not_swap_on_v1(group)
        assert number(read_or_empty(f"{group.directories['pids']}/pids.max")) == 33
        quota = read_or_empty(f"{group.directories['cpu']}/cpu.cfs_quota_us")
        assert number(quota) == 50000
    assert group.walls().cpus == 0.5
    assert stable.driver.cpu_limits() == {attempt: 0.5}
    (pid,) = stable.walls.pids(attempt)
    assert read_or_empty(f"/proc/{pid}/oom_score_adj").strip() == "500"


def _may_not_swap_on_v1(group: Group1) -> None:
    """Where the kernel counts swap, memory and swap together have the same wall. Where not, it is
    only told to take none, and that this is no wall is said."""
    both = read_or_empty(f"{group.path}/memory.memsw.limit_in_bytes")
    if both:
        assert number(both) == 64 * MIB
    else:
        assert number(read_or_empty(f"{group.path}/memory.swappiness")) == 0
    assert ("swap" in group.missing()) is not bool(both)
    assert table(read_or_empty(f"{group.path}/memory.stat")).get("total_swap", 0) == 0


@within_walls()
async def test_nobody_has_more_of_the_cpu_than_others_nor_a_limit_unasked(
    stable: WalledStable,
) -> None:
    ranks = {Priority.CRITICAL: "urgent", Priority.LOW: "low"}
    shares = set()
    for priority, run in ranks.items():
        attempt = stable.start(*QUIET, run=run, limit_bytes=64 * MIB, priority=priority)
        await stable.hear(Started, attempt)
        group = stable.group(attempt)
        assert group.walls().cpus is None
        if stable.home.version == 2:
            shares.add(read_or_empty(f"{group.path}/cpu.weight"))
        else:
            shares.add(read_or_empty(f"{group.directories['cpu']}/cpu.shares"))
    assert len(shares) == 1 and shares <= {"100\n", "1024\n"}


@within_walls()
async def test_a_changed_priority_reaches_rescues_and_the_kernel(stable: WalledStable) -> None:
    attempt = stable.start("sh", "-c", "sleep 60 & wait", limit_bytes=64 * MIB, name="third")
    await stable.hear(Started, attempt)
    await asyncio.to_thread(until, lambda: len(stable.walls.pids(attempt)) == 2)
    records = Records(str(stable.state))
    for priority, score in ((Priority.LOW, "1000"), (Priority.HIGH, "250")):
        stable.driver.set_priority(attempt, priority)
        known = read_facts(records)[name_of(attempt)]
        assert (known.name, known.priority) == ("third", int(priority))
        paths = [f"/proc/{pid}/oom_score_adj" for pid in stable.walls.pids(attempt)]
        assert {read_or_empty(path).strip() for path in paths} == {score}


@within_walls()
async def test_a_wall_that_cannot_be_set_is_a_refusal(stable: WalledStable) -> None:
    attempt = stable.start(*QUIET, limit_bytes=64 * MIB, labels={"cpu": "0.0001"})
    failed = await stable.hear(SpawnFailed, attempt)
    assert "could not be set" in failed.reason
    assert not stable.group(attempt).exists()
    assert stable.of(Started, attempt) == []


@within_walls()
async def test_a_fork_bomb_stops_at_its_wall_and_is_named(stable: WalledStable) -> None:
    script = "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; wait"
    attempt = stable.start("sh", "-c", script, limit_bytes=64 * MIB, labels={"pids": "20"})
    ended = (await stable.hear(Exited, attempt)).exit
    assert ended.note is not None and ended.note.startswith("its 20 processes and threads (pids)")


@within_walls()
async def test_one_that_lives_on_at_its_wall_of_processes_is_noticed(stable: WalledStable) -> None:
    many = "import os, signal, time\n"
    many += "for _ in range(40):\n"
    many += " try:\n  os.fork() or signal.pause()\n"
    many += " except OSError: break\n"
    many += "time.sleep(60)"
    attempt = stable.start(*PYTHON, "-c", many, limit_bytes=256 * MIB, labels={"pids": "20"})
    await stable.look_until(lambda: bool(stable.of(Noticed, attempt)))
    assert "its 20 processes and threads (pids) are in use" in stable.of(Noticed, attempt)[0].note
    assert stable.of(Exited, attempt) == []


@within_walls()
async def test_fifteen_processes_some_in_new_sessions_are_gone_at_once(
    stable: WalledStable,
) -> None:
    took = [await _fifteen_are_gone(stable, f"many-{n}") for n in range(TRIES)]
    assert min(took) < GONE_WITHIN_S, took


async def _fifteen_are_gone(stable: WalledStable, run: str) -> float:
    script = "for i in 1 2 3 4 5 6 7; do setsid sleep 60 & sleep 60 & done; wait"
    attempt = stable.start("sh", "-c", script, run=run, limit_bytes=64 * MIB)
    await stable.until(lambda: stable.driver.processes().get(attempt) == 15)
    began = time.monotonic()
    stable.driver.kill(attempt, CANCELLED)
    await stable.until(lambda: not stable.group(attempt).pids())
    took = time.monotonic() - began
    await stable.hear(Exited, attempt)
    return took


released: list[int] = []


@within_walls(release=released.extend)
async def test_what_the_struck_held_is_taken_back_and_not_waited_for(stable: WalledStable) -> None:
    """Beside busy agents it would come back only when its turn on a core comes. The usual threads
    are at work, as when the memory of many frozen agents is being pushed out."""
    released.clear()
    attempt = stable.start(*QUIET, limit_bytes=64 * MIB)
    await stable.hear(Started, attempt)
    (pid,) = stable.walls.pids(attempt)
    go_on, loop = threading.Event(), asyncio.get_running_loop()
    busy = [loop.run_in_executor(None, go_on.wait) for _ in range(64)]
    try:
        stable.driver.kill(attempt, CANCELLED)
        await stable.hear(Exited, attempt)
        await stable.until(lambda: released == [pid])
    finally:
        go_on.set()
        await asyncio.gather(*busy)


class DiesOfIt(CgroupContainment):
    """A daemon that is killed in the moment in which it has struck; here, one in a fork."""

    def kill(self, attempt: Attempt) -> bool:
        struck = super().kill(attempt)
        if os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGKILL)
        return struck


@within_walls(kind=DiesOfIt)
async def test_why_it_was_struck_outlives_a_daemon_that_dies_as_it_strikes(
    stable: WalledStable,
) -> None:
    attempt = stable.start(*QUIET, limit_bytes=64 * MIB)
    await stable.hear(Started, attempt)
    if (daemon := os.fork()) == 0:
        stable.driver.kill(attempt, CANCELLED)
        os._exit(1)  # it has not struck
    assert os.waitpid(daemon, 0)[1] == signal.SIGKILL
    stable.driver.close()
    stable.heard.clear()
    stable.connect()
    await stable.hear(Exited, attempt)
    found = [event for event in stable.heard if not isinstance(event, Started)]
    assert [type(event) for event in found] == [StopFound, Exited]


@within_walls(wall_bytes=200 * MIB)
async def test_at_the_fleets_wall_the_kernel_chooses_as_we_would(stable: WalledStable) -> None:
    """Each wants 80 % of it, and is well within its own wall."""
    fill = "x = bytearray(160 << 20); import time; time.sleep(60)"
    urgent = stable.start(
        *(*PYTHON, "-c", fill), run="urgent", limit_bytes=190 * MIB, priority=Priority.HIGH
    )
    await stable.look_until(lambda: stable.driver.used_bytes().get(urgent, 0) > 150 * MIB)
    low = stable.start(
        *(*PYTHON, "-c", fill), run="low", limit_bytes=190 * MIB, priority=Priority.LOW
    )
    ended = (await stable.hear(Exited, low, within_s=20)).exit
    assert ended.fleet_oom and not ended.oom and ended.signal == signal.SIGKILL
    assert stable.of(Exited, urgent) == []
    assert leaks.is_alive(stable.driver.keeper_pid)


@within_walls()
async def test_an_end_at_the_wall_while_nobody_looks_is_told_all_the_same(
    stable: WalledStable,
) -> None:
    attempt = stable.start("sh", "-c", f"sleep 0.5; {HOG[2]}", limit_bytes=64 * MIB)
    await stable.hear(Started, attempt)
    stable.driver.close()
    await asyncio.sleep(1.5)  # the daemon is away: nothing to wait for
    assert attempt in stable.connect()
    assert (await stable.hear(Exited, attempt)).exit.oom


@within_walls()
async def test_frozen_it_stands_still_and_can_be_killed(stable: WalledStable) -> None:
    attempt = stable.start(*agent("chatter", 10_000_000), limit_bytes=64 * MIB)
    await stable.until(lambda: len(stable.written(attempt)) > 1000)
    stable.driver.freeze(attempt, reclaim=True)
    await stable.until(lambda: stable.group(attempt).is_frozen())
    stable.driver.kill(attempt, CANCELLED)
    assert (await stable.hear(Exited, attempt)).exit.signal == signal.SIGKILL


@within_walls()
async def test_thawed_it_goes_on(stable: WalledStable) -> None:
    go = stable.directory / "go"
    script = f"while [ ! -e {go} ]; do sleep 0.05; done; echo went on"
    attempt = stable.start("sh", "-c", script, limit_bytes=64 * MIB)
    await stable.hear(Started, attempt)
    stable.driver.freeze(attempt, reclaim=False)
    await stable.until(lambda: stable.group(attempt).is_frozen())
    go.touch()
    stable.driver.thaw(attempt)
    assert (await stable.hear(Exited, attempt)).exit.code == 0
    assert stable.written(attempt) == b"went on\n"


@within_walls()
async def test_page_cache_is_not_use(stable: WalledStable) -> None:
    file = stable.directory / "large"
    file.write_bytes(b"x" * (100 * MIB))
    script = f"cat {file} >/dev/null; cat {file} >/dev/null; echo read; sleep 60"
    attempt = stable.start("sh", "-c", script, limit_bytes=256 * MIB)
    await stable.until(lambda: b"read" in stable.written(attempt))
    assert stable.driver.used_bytes()[attempt] < 16 * MIB


@within_walls()
async def test_what_a_start_that_came_to_nothing_left_is_cleared_away(
    stable: WalledStable,
) -> None:
    stable.home.fleet.child("a.1").make()
    attempt = stable.start("true", limit_bytes=64 * MIB)
    assert (await stable.hear(Exited, attempt)).exit.code == 0


@within_walls()
async def test_cgroups_of_attempts_that_nobody_knows_are_removed(stable: WalledStable) -> None:
    stray = stable.home.fleet.child("gone.7")
    stray.make()
    stable.driver.close()
    stable.connect()
    await stable.look_until(lambda: not stray.exists())


@within_walls(wall_bytes=512 * MIB)
async def test_the_fleets_wall_is_not_pulled_down_on_those_inside(stable: WalledStable) -> None:
    fill = "x = bytearray(160 << 20); print('filled', flush=True); import time; time.sleep(60)"
    attempt = stable.start(*PYTHON, "-c", fill, limit_bytes=256 * MIB)
    await stable.until(lambda: b"filled" in stable.written(attempt))
    stable.walls.set_wall(64 * MIB)
    stable.driver.used_bytes()
    assert stable.of(Exited, attempt) == []
    stable.driver.kill(attempt, CANCELLED)
    await stable.hear(Exited, attempt)
    await stable.look_until(lambda: _limit_of(stable) == 64 * MIB)


def _limit_of(stable: WalledStable) -> int | None:
    name = "memory.max" if stable.home.version == 2 else "memory.limit_in_bytes"
    return number(read_or_empty(f"{stable.home.fleet.path}/{name}"))


@within_walls(dwell_s=2.0)
async def test_one_that_stands_still_at_memory_high_ends_after_the_dwell(
    stable: WalledStable,
) -> None:
    if stable.home.version == 1:
        return  # there is no memory.high: it runs into its wall instead
    labels = {"memory_high": str(48 * MIB)}
    # Page by page: a single read of all of it is not held up before it is done.
    grow = "x = []\nwhile len(x) < 300: x.append(bytearray(1 << 20))"
    attempt = stable.start(*PYTHON, "-c", grow, limit_bytes=1024 * MIB, labels=labels)
    await stable.look_until(lambda: bool(stable.of(LimitPassed, attempt)), within_s=60)
    reason = stable.of(LimitPassed, attempt)[0].reason
    assert reason.startswith("stood still for 2 s where the kernel throttles it")
    assert stable.of(Exited, attempt) == []


def test_names_of_cgroups_are_those_of_attempts() -> None:
    for attempt in (Attempt("a", 1), Attempt("r.3", 17)):
        assert attempt_of(name_of(attempt)) == attempt
    assert attempt_of("cgroup.procs") is None and attempt_of(".1") is None


@within_walls()
async def test_what_an_earlier_daemon_left_is_no_reason_to_kill_who_comes_after(
    stable: WalledStable,
) -> None:
    """It had made the cgroup and died before the keeper heard of it: the next begins it anew."""
    group = stable.home.fleet.child(name_of(Attempt("a", 1)))
    group.make()
    stable.walls.adopt(())
    attempt = stable.start(*QUIET, run="a", limit_bytes=64 * MIB)
    await stable.hear(Started, attempt)
    for _ in range(3):
        stable.driver.used_bytes()
        await asyncio.sleep(0.05)
    assert len(stable.walls.pids(attempt)) == 1
    assert stable.of(Exited, attempt) == []
