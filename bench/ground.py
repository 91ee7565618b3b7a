"""Where benchmarks stand: a paddock of their own, started and ended with them; and its processes.

The state lies on the disk of the working directory: in a tmpfs nothing would be durable.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from paddock.client import Client
from paddock.config.places import Places
from paddock.wire.run_request import RunRequest
from paddock.wire.views import RunView, Submission, Submit

RESULTS = Path(__file__).parent / "results"
PADDOCK = [sys.executable, "-P", "-m", "paddock"]
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
WAIT_AT_ONCE = 10_000  # the API takes no more in one request


class Ground:
    def __init__(self, directory: Path, config: str) -> None:
        self.home = directory
        self.places = Places(directory / "state")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "XDG_CONFIG_HOME": str(directory / "config"),
            "PADDOCK_STATE": str(self.places.state),
            "LANG": "C.UTF-8",
        }
        if "PYTHONPATH" in os.environ:  # the rooms of another checkout
            self.env["PYTHONPATH"] = os.environ["PYTHONPATH"]
        (directory / "config/paddock").mkdir(parents=True)
        (directory / "config/paddock/config.yaml").write_text(config, encoding="utf-8")

    def paddock(self, *words: str) -> None:
        subprocess.run(
            [*PADDOCK, *words], env=self.env, cwd=self.home, check=True, stdout=subprocess.DEVNULL
        )

    @contextmanager
    def client(self) -> Iterator[Client]:
        with Client(self.places) as client:
            yield client

    def order(self, requests: Sequence[RunRequest]) -> Submit:
        environment = {name: self.env[name] for name in ("PATH", "HOME", "LANG")}
        return Submit(
            key=uuid.uuid4().hex,
            runs=tuple(requests),
            directory=str(self.home),
            environment=environment,
        )

    def pids(self) -> tuple[int, int]:
        """Of the daemon and of its keeper."""
        with self.client() as client:
            view = client.daemon()
        assert view.keeper_pid
        return view.pid, view.keeper_pid

    def end(self) -> None:
        """Whatever went wrong: no daemon, no keeper and no agent is left."""
        with suppress(subprocess.CalledProcessError, OSError):
            self.paddock("daemon", "stop", "--kill")
        give_up_at = time.monotonic() + 5.0
        while (left := self._processes()) and time.monotonic() < give_up_at:
            time.sleep(0.02)
        # The keeper first: it would bring the daemon back.
        for pid in sorted(left, key=lambda pid: b"keeper" not in left[pid]):
            print(f"process {pid} did not end by itself", file=sys.stderr)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _processes(self) -> dict[int, bytes]:
        """Daemon and keeper, by the directory in their command."""
        found, state = {}, os.fsencode(self.places.state)
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = path.read_bytes()
                if state in words:
                    found[int(path.parent.name)] = words
        return found


@contextmanager
def a_ground(config: str) -> Iterator[Ground]:
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as directory:
        ground = Ground(Path(directory), config)
        try:
            ground.paddock("daemon", "start")
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


def machine() -> dict[str, Any]:
    """On what the figures were found: they mean nothing without it."""
    processors = [
        line.partition(": ")[2]
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    ]
    total_kb = int(Path("/proc/meminfo").read_text(encoding="ascii").split()[1])
    return {
        "cores": os.cpu_count(),
        "processor": processors[0] if processors else platform.machine(),
        "memory_gb": round(total_kb / 1e6, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "measured_on": time.strftime("%Y-%m-%d"),
    }


def keep(name: str, figures: object) -> None:
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": machine(), "figures": figures}, indent=2)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def verdict(found: Sequence[tuple[str, float, float]]) -> int:
    """(what, found, at least): printed, and an exit code."""
    for what, value, target in found:
        missed = "" if value >= target else "  MISSED"
        print(f"{what}: {value:.2f} (at least {target:.2f}){missed}")
    return 0 if all(value >= target for _, value, target in found) else 1
