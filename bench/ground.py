"""Where benchmarks stand: a paddock of their own, started and ended with them; and its processes.

The state lies on the disk of the working directory: in a tmpfs nothing would be durable.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paddock.bench import machine
from paddock.bench.pen import PADDOCK, Pen
from paddock.client import Client
from paddock.wire.views import RunView, Submission

# A benchmark may stand on what the tests stand on (`tests.kit`); it is started as a file.
sys.path.append(str(Path(__file__).parents[1]))

RESULTS = Path(__file__).parent / "results"
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
WAIT_AT_ONCE = 10_000  # the API takes no more in one request


class Ground(Pen):
    """The pen of `paddock bench`, on the disk of the working directory, for people's commands."""

    def __init__(self, directory: Path, config: str) -> None:
        super().__init__(directory, config)
        self.env["LANG"] = "C.UTF-8"  # a screen is drawn the same for everybody

    def paddock(self, *words: str) -> None:
        subprocess.run(
            [*PADDOCK, *words], env=self.env, cwd=self.home, check=True, stdout=subprocess.DEVNULL
        )

    def pids(self) -> tuple[int, int]:
        """Of the daemon and of its keeper."""
        view = self.daemon()
        assert view.keeper_pid
        return view.pid, view.keeper_pid


@contextmanager
def a_ground(config: str) -> Iterator[Ground]:
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as directory:
        ground = Ground(Path(directory), config)
        try:
            ground.start()
            yield ground
        finally:
            ground.end()


def wait_for(client: Client, answer: Submission, *, timeout_s: float = 300.0) -> list[RunView]:
    """All of them, ended. If one went wrong, nothing was measured: then it fails."""
    ids = [run.id for run in answer.runs]
    views: list[RunView] = []
    for first in range(0, len(ids), WAIT_AT_ONCE):
        views += client.wait(ids[first : first + WAIT_AT_ONCE], timeout_s=timeout_s)
    wrong = [view.sentence for view in views if view.outcome != "succeeded"]
    assert not wrong, f"{len(wrong)} runs went wrong, the first: {wrong[0]}"
    return views


def cpu_s(pid: int) -> float:
    """What it used of a core since it was born."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no memory")


def keep(name: str, figures: object) -> None:
    RESULTS.mkdir(exist_ok=True)
    found = machine.describe() | {"measured_on": time.strftime("%Y-%m-%d")}
    text = json.dumps({"machine": found, "figures": figures}, indent=2)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def from_a_guest(
    script: str, report: str, *words: str, within_s: float, memory_mb: int = 2048
) -> Any:
    """What a benchmark that runs itself in a guest left there in /run/guest: nothing else that it
    writes comes out. None: no guest can be booted here, and that is said."""
    from tests.kit.guest import Guest
    from tests.kit.guest_kernel import NoGuest

    path = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    guest = Guest(memory_mb=memory_mb, env={"PYTHONUNBUFFERED": "1", **path})
    with tempfile.TemporaryDirectory() as directory:
        fetched = Path(directory) / report
        try:
            answer = guest.run(
                [sys.executable, os.path.realpath(script), *words],
                within_s=within_s,
                hear=lambda text: print(text.decode(errors="replace"), end="", flush=True),
                fetch=[(report, fetched)],
            )
        except NoGuest as lacking:
            print(f"not measured, no guest: {lacking}")
            return None
        if answer.code != 0 or not fetched.exists():
            raise SystemExit(f"{answer}")
        return json.loads(fetched.read_text(encoding="utf-8"))


def verdict(found: Sequence[tuple[str, float, float]]) -> int:
    """(what, found, at least): printed, and an exit code."""
    for what, value, target in found:
        missed = "" if value >= target else "  MISSED"
        print(f"{what}: {value:.2f} (at least {target:.2f}){missed}")
    return 0 if all(value >= target for _, value, target in found) else 1
