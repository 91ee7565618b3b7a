"""Faults of the disk and of memory: full, read-only, gone to somebody else."""

from __future__ import annotations

import time
from contextlib import suppress

from paddock.client.errors import ClientError
from tests.chaos.fault import Undo
from tests.chaos.scene import LONG_S, Scene

NO_DAEMON = 69
PRESSED_PERCENT = 95.5
PRESSED_S = 4.0


def fill_disk(scene: Scene) -> Undo:
    disk, pause_s = scene.disk, scene.draw.uniform(0, 0.8)
    with suppress(OSError):  # somebody took the last of it before us
        disk.fill(leave_bytes=scene.draw.choice([0, 0, 4096, 200_000]))
    time.sleep(pause_s)
    return disk.make_room


def make_read_only(scene: Scene) -> None:
    """As after an error of the disk: a daemon cannot start, says so in a line, and agents go on."""
    scene.kill_daemon()
    with scene.disk.read_only_for_newcomers():
        done = scene.house.paddock("status", before=scene.house.before, within_s=LONG_S)
        if done.returncode not in (0, NO_DAEMON) or len(done.stderr.splitlines()) > 1:
            scene.blame(f"on a read-only disk: {done.returncode}, {done.stderr!r}")


def take_memory(scene: Scene) -> Undo:
    """A neighbour takes what is left of the host, until the ladder stands on its last step."""
    host = scene.host
    with suppress(AssertionError, OSError):  # the kernel took it before it had all
        host.fill_to(PRESSED_PERCENT)
    give_up_at = time.monotonic() + PRESSED_S
    while time.monotonic() < give_up_at and not _is_emergency(scene):
        time.sleep(0.1)
    return host.let_go


def _is_emergency(scene: Scene) -> bool:
    try:
        host = scene.ask(lambda client: client.status()).host
    except (ClientError, OSError):
        return False
    return host is not None and host.ladder == "emergency"
