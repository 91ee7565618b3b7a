"""Controllers as processes of this machine, as a container would start them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.objects import LEASE

LEASE_NAME = "paddock-controller"
FIRST_BACK_OFF_S = 10.0


def begin(place: Path, cluster: AnyCluster, *words: str) -> subprocess.Popen[str]:
    """Its own home is `place`; what it says is to be read from its stderr."""
    said = {"kubeconfig": str(cluster.kubeconfig(place)), "image": "agents:1"}
    said["storage_class"] = "default"
    config = place / "config/paddock/config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(yaml.safe_dump({"kubernetes": said}), encoding="utf-8")
    env = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    env |= {"HOME": str(place), "XDG_CONFIG_HOME": str(place / "config")}
    known = ["paddock", "kubernetes", "controller", "--health", "127.0.0.1:0"]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", *known, *words], env=env, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def a_controller(place: Path, cluster: AnyCluster, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Gone with the test, whatever becomes of it."""
    running = begin(place, cluster, *words)
    try:
        yield running
    finally:
        running.kill()
        running.communicate(timeout=30)


class Restarted:
    """A controller as a node keeps it: begun anew when it has ended, the first time at once, then
    after ten seconds, then after twice as long."""

    def __init__(self, place: Path, cluster: AnyCluster) -> None:
        self._place, self._cluster = place, cluster
        self.codes: list[int] = []  # with which it ended
        self._over = threading.Event()
        self._process = begin(place, cluster)
        self._thread = threading.Thread(target=self._tend, name="node")
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _tend(self) -> None:
        pause_s = 0.0
        while not self._over.is_set():
            self._process.communicate()
            self.codes.append(self._process.returncode)
            if self._over.wait(pause_s):
                return
            pause_s = min(2 * pause_s, 300.0) or FIRST_BACK_OFF_S
            self._process = begin(self._place, self._cluster)

    def __enter__(self) -> Restarted:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        while self._thread.is_alive():
            self._process.kill()
            self._thread.join(0.2)


def leader(cluster: AnyCluster) -> int | None:
    """The process that holds the lease."""
    lease = cluster.find(LEASE, LEASE_NAME)
    holder = "" if lease is None else lease["spec"].get("holderIdentity") or ""
    return int(holder.split("_")[-2]) if holder.count("_") >= 2 else None
