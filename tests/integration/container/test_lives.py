"""Containers: walls, attribution, what an agent is given, and that nothing is left."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from paddock.cgroups.group import Walls
from paddock.core.events import AttemptLost, Emptied, Exited, Noticed, SpawnFailed, Started
from paddock.core.run import Attempt, Priority
from paddock.core.units import MIB
from paddock.drivers.container.fleet_wall import FleetWall
from tests.integration.container.pasture import (
    CANCELLED,
    Pasture,
    in_a_pasture,
    on_each_engine,
    serves,
)
from tests.kit import leaks
from tests.kit.keeping import agent
from tests.kit.walls import removed

SECRET = "s3cret-that-nobody-may-read"
TAIL = ("/bin/sh", "-c", "echo up; sleep 60")


@on_each_engine
async def test_at_64_megabytes_it_dies_of_memory_and_its_neighbour_lives(pasture: Pasture) -> None:
    neighbour = pasture.start(*TAIL, run="neighbour", limit_bytes=64 * MIB)
    await pasture.hear(Started, neighbour)
    hog = pasture.start(*agent("scripted", "use=200M", "sleep=60"), limit_bytes=64 * MIB)
    ended = (await pasture.hear(Exited, hog)).exit
    assert (ended.oom, ended.fleet_oom, ended.signal) == (True, False, 9)
    assert ended.peak_bytes == 64 * MIB
    assert not pasture.of(Exited, neighbour)
    pasture.driver.kill(neighbour, CANCELLED)
    assert not (await pasture.hear(Exited, neighbour)).exit.oom


@on_each_engine
async def test_a_tool_that_dies_of_memory_does_not_take_its_agent_along(pasture: Pasture) -> None:
    hog = " ".join(agent("scripted", "use=200M"))
    attempt = pasture.start("/bin/sh", "-c", f"{hog}; echo $?; exit 0", limit_bytes=64 * MIB)
    ended = (await pasture.hear(Exited, attempt)).exit
    assert (ended.code, ended.oom) == (0, True)
    assert pasture.written(attempt).split(b"\n")[-2] == b"137"


@on_each_engine
async def test_the_fleets_wall_is_told_apart_from_its_own(pasture: Pasture) -> None:
    """That of local agents: one holds both."""
    pasture.home.fleet.set(Walls(limit_bytes=96 * MIB))
    held = pasture.start(*TAIL, run="first")
    await pasture.hear(Started, held)
    hog = pasture.start(*agent("scripted", "use=150M", "sleep=60"), limit_bytes=1024 * MIB)
    ended = (await pasture.hear(Exited, hog)).exit
    assert (ended.oom, ended.fleet_oom) == (False, True)
    assert ended.victim is not None and "python" in ended.victim
    assert pasture.driver.guarantees.fleet_wall
    assert not pasture.of(Exited, held)


@on_each_engine
async def test_an_engine_that_puts_it_elsewhere_is_refused(pasture: Pasture) -> None:
    right, elsewhere = pasture.wall, pasture.home.fleet.child("elsewhere")
    pasture.wall = FleetWall(elsewhere)
    pasture.wall.parent = right.parent
    pasture.driver.close()
    pasture.connect()
    attempt = pasture.start("/bin/sh", "-c", "echo ran")
    failed = await pasture.hear(SpawnFailed, attempt)
    assert "is not within that of the fleet" in failed.reason
    assert pasture.written(attempt) == b""
    await removed(elsewhere)


@on_each_engine
async def test_at_the_fleets_wall_the_less_urgent_goes_first(pasture: Pasture) -> None:
    attempt = pasture.start(*TAIL, priority=Priority.LOW)
    await pasture.until(lambda: pasture.written(attempt) == b"up\n")
    scores = {
        Path(f"/proc/{pid}/oom_score_adj").read_text(encoding="ascii").strip()
        for pid in pasture.processes()
    }
    assert scores == {"1000"}


@on_each_engine
async def test_refused_forks_are_noticed_while_it_lives(pasture: Pasture) -> None:
    script = "i=0; while [ $i -lt 40 ]; do sleep 60 & i=$((i+1)); done; wait"
    script = f"({script}) 2>/dev/null; exec sleep 60"
    attempt = pasture.start("/bin/sh", "-c", script, labels={"pids": "20"})
    await pasture.look_until(lambda: bool(pasture.of(Noticed, attempt)), pasture.patience_s)
    noticed = pasture.of(Noticed, attempt)[0].note
    assert noticed.startswith("its 20 processes and threads (pids) are in use: ")
    assert pasture.of(Exited, attempt) == []


@on_each_engine
async def test_its_environment_is_in_no_label_no_log_and_no_arguments(pasture: Pasture) -> None:
    environment = {"PATH": "/bin", "API_KEY": SECRET, "LINES": "one\ntwo", "PADDOCK_RUN": "forged"}
    command = ("/bin/sh", "-c", 'echo "$LINES$PADDOCK_RUN"; [ "$API_KEY" ] && echo has; sleep 60')
    attempt = pasture.start(*command, environment=environment)
    await pasture.until(lambda: pasture.written(attempt) == b"one\ntwoa\nhas\n")
    secret = SECRET.encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if int(path.parent.name) != os.getpid() and path.exists():
            assert secret not in path.read_bytes()
    name = f"paddock-{pasture.instance}.a.1"
    labels = pasture.room.ask("inspect", "--format", "{{json .Config.Labels}}", name).stdout
    assert b"dev.paddock.run" in labels and secret not in labels
    for path in pasture.state.rglob("*"):
        if path.is_file():
            assert secret not in path.read_bytes(), path


@on_each_engine
async def test_codes_above_128_are_told_apart_from_signals(pasture: Pasture) -> None:
    code = pasture.start("/bin/sh", "-c", "exit 137", run="code")
    killed = pasture.start("/bin/sh", "-c", "kill -KILL $$", run="killed")
    ends = [(await pasture.hear(Exited, one)).exit for one in (code, killed)]
    assert [(one.code, one.signal) for one in ends] == [(137, None), (None, 9)]


@on_each_engine
async def test_what_is_given_arrives(pasture: Pasture) -> None:
    given = pasture.directory / "given"
    given.write_bytes(b"from outside\n")
    command = (
        "/bin/sh",
        "-c",
        "cat; umask; cat /proc/1/cgroup >/dev/null; touch made; echo x>/tmp/y",
    )
    attempt = pasture.start(*command, stdin=given, labels={"umask": "0027", "pids": "600"})
    assert (await pasture.hear(Exited, attempt)).exit.code == 0
    assert pasture.written(attempt) == b"from outside\n0027\n"
    made = (pasture.directory / "made").stat()
    assert (made.st_uid, made.st_gid, made.st_mode & 0o777) == (os.geteuid(), os.getegid(), 0o640)


@on_each_engine
async def test_an_image_that_is_not_there_is_said_with_what_to_do(pasture: Pasture) -> None:
    attempt = pasture.start("true", labels={"image": "localhost/none-such:1"})
    failed = await pasture.hear(SpawnFailed, attempt)
    assert failed.permanent
    assert f"`{pasture.engine.kind} pull localhost/none-such:1`" in failed.reason


@on_each_engine
async def test_a_fork_bomb_stops_at_its_limit_and_is_gone_with_the_kill(pasture: Pasture) -> None:
    bomb = "f() { sleep 90 & f; }; f"  # which ends with the first fork that is refused
    attempt = pasture.start("/bin/sh", "-c", f"({bomb}) 2>/dev/null; : >refused; exec sleep 90")
    await pasture.until((pasture.directory / "refused").exists, 60)
    assert 400 < len(pasture.processes()) <= 512
    pasture.driver.kill(attempt, CANCELLED)
    note = (await pasture.hear(Exited, attempt)).exit.note
    assert note is not None and note.startswith("its 512 processes and threads (pids) were in use")
    await pasture.until(lambda: not pasture.driver.used_bytes())
    assert len(pasture.processes()) <= 1  # the shim, until it is forgotten


@on_each_engine
async def test_an_agent_cannot_move_out_of_its_cgroup(pasture: Pasture) -> None:
    moves = "for each in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do"
    moves += ' [ -e "$each" ] && { echo 0 >"$each" && echo moved || echo refused; }; done; exit 0'
    attempt = pasture.start("/bin/sh", "-c", f"({moves}) 2>/dev/null")
    assert (await pasture.hear(Exited, attempt)).exit.code == 0
    assert set(pasture.written(attempt).split()) == {b"refused"}


@on_each_engine
async def test_a_container_that_somebody_else_kills_has_died_of_a_signal(pasture: Pasture) -> None:
    attempt = pasture.start(*TAIL)
    await pasture.until(lambda: pasture.written(attempt) == b"up\n")
    await asyncio.to_thread(pasture.room.ask, "kill", f"paddock-{pasture.instance}.a.1")
    ended = await pasture.hear(Exited, attempt)
    assert (ended.exit.signal, ended.exit.oom, ended.empty) == (signal.SIGKILL, False, True)


@on_each_engine
async def test_strays_in_a_session_of_their_own_are_gone_with_a_kill(pasture: Pasture) -> None:
    attempt = pasture.start(*agent("scripted", "strays=60", "exit=3"))
    ended = await pasture.hear(Exited, attempt)
    assert (ended.exit.code, ended.empty) == (3, False)
    pasture.driver.kill(attempt, CANCELLED)
    await pasture.hear(Emptied, attempt)
    assert len(pasture.processes()) <= 1


@in_a_pasture
async def test_a_podman_service_that_dies_is_started_again(pasture: Pasture) -> None:
    first = pasture.start("/bin/sh", "-c", "exit 1", run="first")
    await pasture.hear(Exited, first)
    (service,) = serves(pasture.state)
    os.kill(service, signal.SIGKILL)
    await pasture.until(lambda: not leaks.is_alive(service))
    second = pasture.start("/bin/sh", "-c", "exit 2", run="second")
    assert (await pasture.hear(Exited, second)).exit.code == 2
    assert serves(pasture.state) != [service]


@on_each_engine
async def test_a_wall_that_could_not_be_set_is_a_refusal(pasture: Pasture) -> None:
    """A limit that the kernel rounds up would be a wall further out than was promised: what is read
    back decides. Here the limit asked for is none, which an engine takes for no limit."""
    attempt = pasture.start("/bin/sh", "-c", "echo ran", limit_bytes=0)
    failed = await pasture.hear(SpawnFailed, attempt)
    assert "a wall does not stand: memory is limited to" in failed.reason
    assert pasture.written(Attempt("a", 1)) == b""


@on_each_engine
async def test_an_agent_that_removes_what_it_is_watched_by_is_still_heard_and_killed(
    pasture: Pasture,
) -> None:
    remove = 'rm -rf "${PADDOCK_SOFT_TIMEOUT%/*}"/*; echo gone'
    ends = pasture.start("/bin/sh", "-c", f"{remove}; exit 7", run="ends")
    stays = pasture.start("/bin/sh", "-c", f"{remove}; sleep 60", run="stays")
    assert (await pasture.hear(Exited, ends)).exit.code == 7
    await pasture.until(lambda: pasture.written(stays) == b"gone\n")
    pasture.driver.kill(stays, CANCELLED)
    assert (await pasture.hear(Exited, stays)).exit.signal == 9
    assert pasture.written(ends) == b"gone\n"


@on_each_engine
async def test_one_that_cannot_be_taken_over_is_killed_and_said_to_be_lost(
    pasture: Pasture,
) -> None:
    remove = 'rm -rf "${PADDOCK_SOFT_TIMEOUT%/*}"/*; echo gone'
    attempt = pasture.start("/bin/sh", "-c", f"{remove}; sleep 60")
    await pasture.until(lambda: pasture.written(attempt) == b"gone\n")
    pasture.driver.close()
    pasture.connect()
    lost = await pasture.hear(AttemptLost, attempt)
    assert "could not be taken over" in lost.reason
    await pasture.until(lambda: not pasture.processes())
