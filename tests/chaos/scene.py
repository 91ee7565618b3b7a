"""Where a round plays: a whole paddock on a small disk, in a small host, with a repository."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from paddock.client import Client
from paddock.client.errors import ClientError
from paddock.drivers.local.keeper.members import look_at, send
from paddock.drivers.local.keeper_client import KEEPER
from tests.kit import leaks, striking
from tests.kit.ceiling import MIB, Ceiling, a_ceiling
from tests.kit.disks import SmallDisk, a_small_disk
from tests.kit.house import House, a_house
from tests.kit.repositories import a_repository
from tests.kit.waiting import pauses_s, until

T = TypeVar("T")
HOST_BYTES = 2048 * MIB
# A disk of less than 100 MB: there output is no longer kept below a tenth of it, not below 100 MB.
DISK = "90m"
A_MONTH_S = 31 * 86400.0  # paddock keeps nothing for its age alone any longer than 30 days
LONG_S = 120.0  # that anything may take on a machine that is busy with other things
CONFIG = """
performance_profile: high
performance: {log_buffer_size_mb: 2, log_rotation_size_mb: 10, log_files_kept: 1, max_worktrees: 50}
sandbox: {memory_high: 99%}
ladder: {free_floor: 512M}
"""
# The machine's own clock is not ours to set: every Python of the house gets another one.
SET_CLOCK = """
import os
import time
real, file, known = time.time, {when!r}, [0, 0.0]


def now():
    changed = os.stat(file).st_mtime_ns
    if changed != known[0]:
        with open(file, encoding="ascii") as said:
            known[:] = changed, float(said.read() or 0)
    return real() + known[1]


time.time = now
"""


class Scene:
    """`draw` is the round's own; `found` is what was seen to be wrong so far."""

    def __init__(self, house: House, disk: SmallDisk, host: Ceiling, shop: Path) -> None:
        self.house = house
        self.disk = disk
        self.host = host
        self.shop = shop
        self.draw = random.Random(0)
        self.found: list[str] = []
        self.read_to: dict[Path, int] = {}  # how far what paddock logs was read
        self.when = house.home / "when"
        self.config = house.home / "config/paddock/config.yaml"

    def blame(self, text: str) -> None:
        self.found.append(text)

    def pause(self, most_s: float) -> None:
        time.sleep(self.draw.uniform(0, most_s))

    def set_clock(self, ahead_s: float) -> None:
        """Of every Python of the house, from its next look at it on."""
        self.when.write_text(str(ahead_s), encoding="ascii")

    # -- the daemon -----------------------------------------------------------------------

    def ask(self, ask: Callable[[Client], T]) -> T:
        with self.house.client() as client:
            return ask(client)

    def wake(self, within_s: float = LONG_S) -> None:
        """Returns when a daemon answers; within the host, whoever starts it."""
        give_up_at, pauses = time.monotonic() + within_s, pauses_s()
        while True:
            with suppress(ClientError, OSError):
                self.ask(lambda client: client.daemon())
                return
            done = self.house.paddock("daemon", "start", before=self.house.before, within_s=LONG_S)
            if done.returncode != 0 and time.monotonic() > give_up_at:
                raise TimeoutError(f"no daemon within {within_s:g} s: {done.stderr}")
            time.sleep(next(pauses))

    def nudge(self) -> None:
        """As a user who tries once, and does not mind."""
        with suppress(TimeoutError):
            self.wake(within_s=0.0)

    def daemon_pid(self) -> int:
        """Of the one that has the store; 0 if there is none."""
        try:
            pid = int(Path(f"{self.house.places.store}.lock").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0
        return pid if pid in leaks.commanded(str(self.house.places.state)) else 0

    def keeper_pids(self) -> list[int]:
        found = leaks.commanded(str(self.house.places.keeper))
        return [pid for pid in found if str(KEEPER).encode() in _words(pid)]

    def kill_daemon(self) -> None:
        """Returns when it is gone."""
        if pid := self.house.kill_daemon():
            until(lambda: not leaks.is_alive(pid), within_s=LONG_S)


def _words(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def signalled(pid: int, number: int) -> bool:
    """To that very process, should its number be another's by now."""
    process = look_at(pid) if pid else None
    if process is None:
        return False
    send(pid, process.start, number)
    return True


@contextmanager
def a_scene(directory: Path, *, planted: str = "") -> Iterator[Scene]:
    """`planted` is run by every Python of the house before it begins."""
    home = directory / "home"
    home.mkdir()
    shop = a_repository(directory / "shop")
    with a_small_disk(directory, size=DISK) as disk, a_ceiling(HOST_BYTES) as host:
        state = disk.root / "state"
        with a_house(home, config=CONFIG, state=state, before=host.join) as house:
            scene = Scene(house, disk, host, shop)
            _give_clock(scene, planted)
            yield scene


def _give_clock(scene: Scene, planted: str) -> None:
    scene.set_clock(0)
    text = SET_CLOCK.format(when=os.fspath(scene.when)) + striking.code(scene.house) + planted
    (scene.house.home / "sitecustomize.py").write_text(text, encoding="ascii")
    scene.house.env["PYTHONPATH"] = os.fspath(scene.house.home)
