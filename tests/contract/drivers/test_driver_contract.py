"""What every driver must do. A driver that passes this suite can be trusted with a fleet."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path

from paddock.core.events import (
    CheckpointDeclined,
    CheckpointWritten,
    Emptied,
    Exited,
    SpawnFailed,
    Started,
    StartTakesLonger,
)
from paddock.core.run import Attempt
from paddock.core.units import MIB
from paddock.ports import Counts
from tests.contract.drivers.bed import Bed, MakeBed

Scenario = Callable[[Bed], Awaitable[None]]


def on_a_bed(scenario: Scenario) -> Callable[[MakeBed, Path], None]:
    """An async scenario as a test, on each driver in turn."""

    @functools.wraps(scenario)
    def test(make_bed: MakeBed, tmp_path: Path) -> None:
        async def whole() -> None:
            bed = await make_bed(tmp_path)
            try:
                await scenario(bed)
            finally:
                await bed.finish()

        asyncio.run(whole())

    del test.__wrapped__  # pytest would ask for a fixture `bed`
    return test


@on_a_bed
async def test_an_attempt_starts_and_ends_with_its_code(bed: Bed) -> None:
    attempt = bed.start("exit=7")
    ended = await bed.hear(Exited, attempt)
    assert (ended.exit.code, ended.exit.signal, ended.exit.oom) == (7, None, False)
    assert ended.empty
    kinds = [type(event) for event in bed.heard if not isinstance(event, StartTakesLonger)]
    assert kinds == [Started, Exited]


@on_a_bed
async def test_success_is_zero(bed: Bed) -> None:
    assert (await bed.hear(Exited, bed.start("sleep=0.01"))).exit.code == 0


@on_a_bed
async def test_a_signal_is_told_apart_from_a_code(bed: Bed) -> None:
    ended = await bed.hear(Exited, bed.start("die=9"))
    assert (ended.exit.code, ended.exit.signal) == (None, 9)
    assert not ended.exit.oom


@on_a_bed
async def test_what_cannot_be_started_is_a_spawn_failure_and_no_exit(bed: Bed) -> None:
    attempt = Attempt("a", 1)
    bed.launch(bed.missing_command, attempt=attempt)
    failed = await bed.hear(SpawnFailed, attempt)
    assert failed.permanent
    assert failed.reason
    await bed.stays(lambda: not bed.of(Started, attempt) + bed.of(Exited, attempt), for_s=0.1)
    assert len(bed.of(SpawnFailed, attempt)) == 1


@on_a_bed
async def test_asking_for_the_same_start_twice_is_harmless(bed: Bed) -> None:
    attempt = bed.start("sleep=0.2")
    bed.start("sleep=0.2")
    await bed.hear(Exited, attempt)
    bed.start("sleep=0.2")
    await bed.stays(lambda: len(bed.of(Started, attempt)) == 1, for_s=0.1)
    assert len(bed.of(Exited, attempt)) == 1


@on_a_bed
async def test_another_attempt_of_the_same_run_is_another_life(bed: Bed) -> None:
    first = bed.start("exit=1", number=1)
    second = bed.start("exit=2", number=2)
    codes = [(await bed.hear(Exited, each)).exit.code for each in (first, second)]
    assert codes == [1, 2]


@on_a_bed
async def test_a_polite_agent_leaves_when_told(bed: Bed) -> None:
    attempt = bed.start("sleep=60")
    await bed.runs(attempt)
    bed.driver.terminate(attempt)
    assert (await bed.hear(Exited, attempt)).exit.signal == 15


@on_a_bed
async def test_a_deaf_agent_stays_until_it_is_killed(bed: Bed) -> None:
    attempt = bed.start("deaf", "sleep=60")
    await bed.runs(attempt)
    bed.driver.terminate(attempt)
    await bed.stays(lambda: not bed.of(Exited, attempt), for_s=0.2)
    bed.kill(attempt)
    assert (await bed.hear(Exited, attempt)).exit.signal == 9


@on_a_bed
async def test_a_kill_before_it_reports_its_start_ends_it_too(bed: Bed) -> None:
    attempt = bed.start("sleep=60")
    bed.kill(attempt)
    assert (await bed.hear(Exited, attempt)).exit.signal == 9


@on_a_bed
async def test_strays_hold_the_attempt_until_the_last_is_gone(bed: Bed) -> None:
    attempt = bed.start("strays=0.3", "exit=0")
    if bed.driver.guarantees.ends_strays:
        assert (await bed.hear(Exited, attempt)).empty
        assert attempt not in bed.driver.used_bytes()
        return
    assert not (await bed.hear(Exited, attempt)).empty
    assert attempt in bed.driver.used_bytes()
    await bed.hear(Emptied, attempt)
    assert attempt not in bed.driver.used_bytes()


@on_a_bed
async def test_a_kill_takes_the_strays_along(bed: Bed) -> None:
    whole_tree = bed.driver.guarantees.kills_whole_tree
    attempt = bed.start("strays=60" if whole_tree else "strays=0.3", "exit=0")
    ended = await bed.hear(Exited, attempt)
    bed.kill(attempt)  # who cannot reach them all waits until they go by themselves
    if bed.driver.guarantees.ends_strays:
        assert ended.empty  # there were none left to take
        return
    await bed.hear(Emptied, attempt)
    assert len(bed.of(Emptied, attempt)) == 1


@on_a_bed
async def test_a_frozen_agent_stands_still_and_goes_on_when_thawed(bed: Bed) -> None:
    attempt = bed.start("sleep=0.6", "exit=0")
    await bed.runs(attempt)
    bed.driver.freeze(attempt, reclaim=False)
    bed.driver.freeze(attempt, reclaim=True)
    if not bed.driver.guarantees.can_freeze:  # then nothing is done to it
        assert (await bed.hear(Exited, attempt)).exit.code == 0
        return
    await bed.stays(lambda: not bed.of(Exited, attempt), for_s=1.0)
    bed.driver.thaw(attempt)
    bed.driver.thaw(attempt)
    assert (await bed.hear(Exited, attempt)).exit.code == 0


@on_a_bed
async def test_a_frozen_agent_can_be_killed(bed: Bed) -> None:
    attempt = bed.start("sleep=60")
    await bed.runs(attempt)
    bed.driver.freeze(attempt, reclaim=False)
    bed.kill(attempt)
    assert (await bed.hear(Exited, attempt)).exit.signal == 9


@on_a_bed
async def test_what_it_uses_is_seen(bed: Bed) -> None:
    attempt = bed.start("use=64M", "sleep=60")
    await bed.runs(attempt)
    await bed.until(lambda: bed.driver.used_bytes().get(attempt, 0) >= 60 * MIB)
    assert bed.driver.used_bytes()[attempt] < 200 * MIB
    bed.kill(attempt)
    await bed.hear(Exited, attempt)


@on_a_bed
async def test_what_it_takes_of_the_cpu_is_seen(bed: Bed) -> None:
    attempt = bed.start("use=64M", "sleep=60")
    await bed.runs(attempt)
    if bed.driver.guarantees.name == "fake":
        assert bed.driver.cpu_s() == {attempt: 0.0}
    else:  # touching so much takes longer than the clock's tick
        await bed.until(lambda: bed.driver.cpu_s().get(attempt, 0.0) > 0.0)
        assert bed.driver.cpu_s()[attempt] < 60.0
    bed.kill(attempt)
    await bed.hear(Exited, attempt)
    await bed.until(lambda: attempt not in bed.driver.cpu_s())


@on_a_bed
async def test_its_processes_are_counted_while_it_lives(bed: Bed) -> None:
    driver = bed.driver
    if not isinstance(driver, Counts):
        return  # they live on another machine
    attempt = bed.start("sleep=60")
    await bed.runs(attempt)
    assert driver.processes()[attempt] == 1
    bed.kill(attempt)
    await bed.hear(Exited, attempt)
    await bed.until(lambda: not driver.processes().get(attempt))


@on_a_bed
async def test_over_its_wall_it_dies_of_memory_and_its_neighbour_lives(bed: Bed) -> None:
    neighbour = bed.start("sleep=60", run="b")
    hog = bed.start("use=200M", "sleep=60", limit=64 * MIB)
    if bed.driver.guarantees.hard_memory_wall:
        assert (await bed.hear(Exited, hog)).exit.oom
    else:  # then it is seen, and whoever watches it can kill it
        await bed.until(lambda: bed.driver.used_bytes().get(hog, 0) > 64 * MIB)
        bed.kill(hog)
        assert not (await bed.hear(Exited, hog)).exit.oom
    assert not bed.of(Exited, neighbour)
    bed.kill(neighbour)
    assert not (await bed.hear(Exited, neighbour)).exit.oom


@on_a_bed
async def test_the_soft_timeout_is_heard_by_who_knows_it_and_harms_nobody_else(bed: Bed) -> None:
    knows = bed.start("wraps-up=3", "sleep=60", run="a")
    not_at_all = bed.start("sleep=0.5", "exit=0", run="b")
    for attempt in (knows, not_at_all):
        await bed.runs(attempt)
        bed.driver.warn(attempt)
    assert (await bed.hear(Exited, knows)).exit.code == 3
    assert (await bed.hear(Exited, not_at_all)).exit.code == 0


@on_a_bed
async def test_a_checkpoint_is_reported_when_it_is_written(bed: Bed) -> None:
    able = bed.start("checkpoints=0.05", "sleep=60", run="a")
    unable = bed.start("sleep=60", run="b")
    for attempt in (able, unable):
        await bed.runs(attempt)
        bed.driver.ask_checkpoint(attempt)
    await bed.hear(CheckpointWritten, able)
    await bed.hear(CheckpointDeclined, unable)
    assert not bed.of(CheckpointWritten, unable) and not bed.of(CheckpointDeclined, able)
    for attempt in (able, unable):
        bed.kill(attempt)
        await bed.hear(Exited, attempt)


@on_a_bed
async def test_its_output_is_kept(bed: Bed) -> None:
    attempt = bed.start("print=one", "print=two", "exit=0")
    await bed.hear(Exited, attempt)
    assert bed.output(attempt) == b"one\ntwo\n"


@on_a_bed
async def test_requests_about_an_unknown_attempt_do_nothing(bed: Bed) -> None:
    nobody = Attempt("nobody", 1)
    bed.driver.warn(nobody)
    bed.driver.ask_checkpoint(nobody)
    bed.driver.terminate(nobody)
    bed.kill(nobody)
    bed.driver.freeze(nobody, reclaim=True)
    bed.driver.thaw(nobody)
    await bed.stays(lambda: not bed.heard, for_s=0.05)
    assert bed.driver.used_bytes() == {}


@on_a_bed
async def test_many_at_once_are_kept_apart(bed: Bed) -> None:
    attempts = [bed.start(f"exit={code}", run=f"r{code}") for code in range(bed.many)]
    codes = [(await bed.hear(Exited, attempt)).exit.code for attempt in attempts]
    assert codes == list(range(bed.many))
