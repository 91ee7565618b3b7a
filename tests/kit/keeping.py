"""A keeper of a test's own, with its client; leaves nothing behind, or the test fails."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paddock.drivers.local.keeper_client import KeeperClient, launch_keeper
from tests.kit import leaks
from tests.kit.waiting import until

AGENTS = Path(__file__).parent / "agents"
PYTHON = [sys.executable, "-I", "-S", "-E"]
NO_CAP = 1 << 40


def agent(name: str, *words: object) -> list[str]:
    """The command of a program in tests/kit/agents."""
    return [*PYTHON, str(AGENTS / f"{name}.py"), *map(str, words)]


class Keeping:
    """One keeper; `client` is the daemon of the moment, if there is one."""

    def __init__(self, directory: Path, **settings: object) -> None:
        self.mark = f"test-{uuid.uuid4().hex}"
        self.directory = directory / "keeper"
        self.settings = settings
        self.epoch = 0
        self.clients: list[KeeperClient] = []
        self.launch()
        self.client = self.connect()

    def launch(self) -> None:
        log = self.directory.with_name("keeper.log")
        assert launch_keeper(self.directory, log=log, **self.settings)

    def connect(self, **hello: object) -> KeeperClient:
        """A newer daemon."""
        self.epoch += 1
        self.client = self.visit()
        facts = self.client.hello(self.epoch, **hello)
        self.pid, self.start = facts["pid"], facts["start"]
        return self.client

    def visit(self) -> KeeperClient:
        """A connection that has not said hello; closed with the others at the end."""
        client = KeeperClient(self.directory)
        self.clients.append(client)
        return client

    def order(self, attempt: str, argv: list[str], **more: Any) -> dict[str, Any]:
        env = {"PATH": os.environ["PATH"], "PADDOCK_RUN": self.mark}
        env |= {"PADDOCK_ATTEMPT": f"{self.mark}.{attempt}"} | more.pop("env", {})
        paths = {"fifo": self.fifo(attempt), "segment": self.segment(attempt)}
        known = {"attempt": attempt, "argv": argv, "env": env, "cwd": "/", "cap_bytes": NO_CAP}
        return {**known, **{name: str(path) for name, path in paths.items()}, **more}

    def spawn(self, attempt: str, argv: list[str], **more: Any) -> dict[str, Any]:
        return self.client.call("spawn", **self.order(attempt, argv, **more))

    def fifo(self, attempt: str) -> Path:
        return self.directory / f"{attempt}.fifo"

    def segment(self, attempt: str) -> Path:
        return self.directory / f"{attempt}.log"

    def written(self, attempt: str) -> bytes:
        path = self.segment(attempt)
        return path.read_bytes() if path.exists() else b""

    def known(self, attempt: str) -> dict[str, Any]:
        found = [one for one in self.client.attempts() if one["attempt"] == attempt]
        return found[0] if found else {}

    def in_state(self, attempt: str, *states: str, within_s: float = 5.0) -> dict[str, Any]:
        return until(
            lambda: known if (known := self.known(attempt))["state"] in states else None, within_s
        )

    def ended(self, attempt: str, within_s: float = 5.0) -> dict[str, Any]:
        return self.in_state(attempt, "exited", "spawn_failed", within_s=within_s)

    def running(self, attempt: str) -> dict[str, Any]:
        return self.in_state(attempt, "running")

    def go_home(self) -> None:
        """Kill, forget and retire through the keeper itself: what then is left is a leak."""
        if not leaks.is_alive(self.pid):
            return
        client = self.connect()
        for one in list(client.attempts()):
            assert client.call("kill_all", attempt=one["attempt"])["left"] == []
            self.ended(one["attempt"])
            client.call("forget", attempt=one["attempt"])
        client.call("retire")
        until(lambda: not leaks.is_alive(self.pid))


def _left(mark: str) -> dict[int, int]:
    """Who is still there after a while: a restarted daemon may just be about to end."""
    deadline = time.monotonic() + 2.0
    while (left := leaks.marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


@contextmanager
def keeping(directory: Path, **settings: object) -> Iterator[Keeping]:
    """The leak check is here, so that no test can leave it out."""
    before = leaks.descriptors()
    kept = Keeping(directory, **settings)
    try:
        yield kept
        kept.go_home()
    finally:
        for client in kept.clients:
            client.close()
        left = _left(kept.mark)
        leaks.end(left)
        leaks.end({kept.pid: kept.start})
    assert left == {}, "processes of ours are left"
    until(lambda: not leaks.is_alive(kept.pid))
    assert leaks.descriptors() == before
    assert list(kept.directory.glob("*.fifo")) == []
    assert kept.directory.with_name("keeper.log").read_text(encoding="utf-8") == ""
