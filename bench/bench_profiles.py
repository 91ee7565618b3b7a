"""What paddock and its agents take together, on a host of 1 GiB with the profile `tiny`: beside the
limits that were set for it.

Everything is counted: daemon, keeper, agents, and what their cgroups hold for themselves. "Held" is
what the kernel charges and cannot take back; "resident" adds up every process, so that shared pages
count once for each. The larger of the two is judged, at its highest of many looks.

- two workers of 400 MB at their walls: 978 MB
- two workers of 200 MB, the usual case: 628 MB
- the same after one of them had to give way: 478 MB
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from ground import PADDOCK, Ground, keep

from paddock.client import Client
from paddock.core.units import MIB
from paddock.drivers.local.containment.choosing import read_home
from paddock.wire.run_request import RunRequest
from tests.kit.ceiling import AGENTS, Ceiling, a_ceiling
from tests.kit.leaks import resident_bytes

MB = 1_000_000
HOST_BYTES = 1024 * MIB
AT_ITS_WALL_MB, USUAL_MB = 385, 190  # MiB; Python itself adds 8
LOOKS, LOOK_S = 60, 0.05
WITHIN_S = 60.0
LIMITS_MB = {"two at their walls": 978, "two as usual": 628, "after one gave way": 478}


@dataclass
class Place:
    """A paddock in a small host."""

    ground: Ground
    client: Client
    host: Ceiling

    def workers(self, size_mb: int) -> list[str]:
        """Two, of normal and low priority, once both hold what they are to hold."""
        files = [self.ground.home / f"{size_mb}.{priority}" for priority in ("normal", "low")]
        requests = [
            RunRequest(
                name=file.name.replace(".", "-"),
                command=self._words(size_mb, file),
                priority=priority,  # type: ignore[arg-type]
            )
            for file, priority in zip(files, ("normal", "low"), strict=True)
        ]
        answer = self.client.submit(self.ground.order(requests))
        wait_until(lambda: all(map(Path.exists, files)))
        return [run.id for run in answer.runs]

    def _words(self, size_mb: int, file: Path) -> tuple[str, ...]:
        program = (sys.executable, "-I", "-S", str(AGENTS / "counting.py"))
        return (*program, str(size_mb), str(file), str(self.ground.home / "finish"))

    def end(self, runs: list[str]) -> None:
        self.client.kill(runs, force=True)
        self.client.wait(runs, timeout_s=WITHIN_S)

    def highest_mb(self) -> dict[str, float]:
        home = read_home(self.ground.places.keeper)
        assert home is not None
        held = resident = 0
        for _ in range(LOOKS):
            held = max(held, self.host.without_neighbour_bytes())
            resident = max(resident, sum(map(resident_bytes, home.group.pids())))
            time.sleep(LOOK_S)
        return {"held_mb": round(held / MB, 1), "resident_mb": round(resident / MB, 1)}

    def states(self, runs: list[str]) -> list[str]:
        return [self.client.run(run).state for run in runs]


def wait_until(condition: Callable[[], Any]) -> None:
    give_up_at = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < give_up_at, "waited in vain"
        time.sleep(0.05)


@contextmanager
def a_place() -> Iterator[Place]:
    with (
        a_ceiling(HOST_BYTES) as host,
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as directory,
    ):
        ground = Ground(Path(directory), "performance_profile: tiny\nsandbox: {memory_high: 99%}\n")
        try:
            words = [*host.join, *PADDOCK, "daemon", "start"]
            subprocess.run(words, env=ground.env, check=True, stdout=subprocess.DEVNULL)
            with ground.client() as client:
                yield Place(ground, client, host)
        finally:
            ground.end()


def measure(place: Place) -> dict[str, dict[str, float]]:
    found = {}
    large = place.workers(AT_ITS_WALL_MB)
    found["two at their walls"] = place.highest_mb()
    assert place.states(large) == ["running", "running"]
    place.end(large)
    usual = place.workers(USUAL_MB)
    found["two as usual"] = place.highest_mb()
    assert place.states(usual) == ["running", "running"]
    place.host.fill_to(92.0)
    wait_until(lambda: place.states(usual) == ["running", "queued"])
    found["after one gave way"] = place.highest_mb()
    assert place.states(usual) == ["running", "queued"]
    place.host.hold(0)
    place.end(usual)
    return found


def main() -> int:
    with a_place() as place:
        found = measure(place)
    missed = False
    for name, figures in found.items():
        worst, limit = max(figures.values()), LIMITS_MB[name]
        missed = missed or worst >= limit
        each = ", ".join(f"{what.removesuffix('_mb')} {mb:.0f} MB" for what, mb in figures.items())
        print(f"{name}: {each} (below {limit} MB){'  MISSED' if worst >= limit else ''}")
    keep("profiles", found)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
