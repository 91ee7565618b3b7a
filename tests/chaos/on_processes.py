"""Faults of paddock's own processes: killed, told to stop, standing still."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from paddock.wire.run_request import RunRequest, Step
from tests.chaos.fault import NotDone, Undo
from tests.chaos.scene import LONG_S, Scene, signalled
from tests.kit import striking
from tests.kit.house import PADDOCK
from tests.kit.waiting import until

HANG_S = 0.8
NO_DAEMON = 69


def kill_daemon(scene: Scene) -> None:
    draw, killed = scene.draw, 0
    for _ in range(draw.randint(1, 3)):
        time.sleep(draw.choice([0, draw.uniform(0, 0.05), draw.uniform(0, 0.4)]))
        killed += bool(scene.house.kill_daemon())
        if draw.random() < 0.5:
            scene.nudge()  # else the keeper brings it back
    if not killed:
        raise NotDone


def kill_in(point: str) -> Callable[[Scene], None]:
    """The daemon ends itself in the middle of that; a run of our own sees to it that it gets there,
    and comes to its end all the same."""

    def do(scene: Scene) -> None:
        house, text = scene.house, f"echo {point}"
        striking.arm(house, point)
        if point == "recovery":
            scene.kill_daemon()
            scene.nudge()
        first, last = Step(name="a", command=("sh", "-c", text)), Step(name="b", command=("true",))
        own = RunRequest(name=f"aim-{point}", steps=(first, last), memory_bytes=32 << 20)
        (taken,) = house.submit(own).runs
        with suppress(AssertionError):  # not yet, or it never gets there: told below
            until(lambda: not striking.is_armed(house, point), within_s=10)
        scene.nudge()  # after some deaths in a row a keeper takes its time
        (ended,) = house.ended([taken.id], within_s=LONG_S)
        if striking.is_armed(house, point):
            striking.disarm(house, point)
            raise NotDone
        found = (ended.outcome, ended.attempt, house.output(taken.id))
        if found != ("succeeded", 2, f"{point}\n".encode()):
            scene.blame(f"killed in {point}, its run ended as {found}")

    return do


def stop_daemon(scene: Scene) -> None:
    """In good order, and nobody brings it back but who needs it."""
    if not signalled(scene.daemon_pid(), signal.SIGTERM):
        raise NotDone
    scene.pause(0.5)


def hang_daemon(scene: Scene) -> None:
    _hang(scene, scene.daemon_pid())


def kill_keeper(scene: Scene) -> None:
    if not any(signalled(pid, signal.SIGKILL) for pid in scene.keeper_pids()):
        raise NotDone


def hang_keeper(scene: Scene) -> None:
    _hang(scene, next(iter(scene.keeper_pids()), 0))


def kill_both(scene: Scene) -> None:
    both = [scene.daemon_pid(), *scene.keeper_pids()]
    scene.draw.shuffle(both)
    struck = [signalled(pid, signal.SIGKILL) for pid in both]
    if not any(struck):
        raise NotDone


def _hang(scene: Scene, pid: int) -> None:
    if not signalled(pid, signal.SIGSTOP):
        raise NotDone
    scene.pause(HANG_S)
    signalled(pid, signal.SIGCONT)


def kill_web(scene: Scene) -> Undo | None:
    """The dashboard, while a browser asks it."""
    scene.nudge()
    said = scene.house.home / "web.out"
    with said.open("w", encoding="utf-8") as out:
        web = subprocess.Popen(
            [*scene.house.before, *PADDOCK, "web", "--port", "0", "--json"],
            env=scene.house.env,
            cwd=scene.house.home,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: _ports(said) or web.poll() is not None, within_s=LONG_S)
        if web.poll() == NO_DAEMON:
            raise NotDone  # because of another fault
        if web.poll() is not None:
            scene.blame(f"paddock web ended with {web.returncode}: {said.read_text('utf-8')}")
            return None
        _visit(_ports(said)[-1])
    finally:
        web.kill()
        web.wait(LONG_S)
    return None


def _ports(said: Path) -> list[int]:
    lines = said.read_text(encoding="utf-8").splitlines()
    return [int(json.loads(line)["port"]) for line in lines if line.startswith("{")]


def _visit(port: int) -> None:
    """It has no token: what it gets is none of our business, and it does not wait for it."""
    visitor = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG_S)
    with suppress(OSError):
        visitor.request("GET", "/")
    visitor.close()
