"""A whole paddock in a test: a real daemon and keeper in a directory of the test's own.

Leaves nothing behind, or the test fails: no process with this paddock's mark, no keeper, no FIFO.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from paddock.client import Client
from paddock.client.errors import ClientError
from paddock.config.places import Places
from paddock.drivers.local.containment.choosing import read_home
from paddock.wire.run_request import RunRequest
from paddock.wire.views import RunView, Submission, Submit
from tests.kit import leaks
from tests.kit.waiting import until

T = TypeVar("T")
PADDOCK = [sys.executable, "-P", "-m", "paddock"]


class House:
    """`state` elsewhere than in the directory; `before` is put before a start of the daemon."""

    def __init__(
        self,
        directory: Path,
        *,
        config: str = "",
        state: Path | None = None,
        before: Sequence[str] = (),
    ) -> None:
        self.home = directory
        self.places = Places(state or directory / "state")
        self.before = before
        # Inherited by daemon, keeper and agents alike: whoever carries it at the end is a leak.
        self.mark = f"test-{uuid.uuid4().hex}"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "XDG_CONFIG_HOME": str(directory / "config"),
            "PADDOCK_STATE": str(self.places.state),
            "TEST_MARK": self.mark,
            "LANG": "C.UTF-8",
        }
        if config:
            (directory / "config/paddock").mkdir(parents=True)
            (directory / "config/paddock/config.yaml").write_text(config, encoding="utf-8")

    # -- as a user ------------------------------------------------------------------------

    def paddock(
        self, *words: object, within_s: float = 60.0, before: Sequence[str] = (), **more: Any
    ) -> subprocess.CompletedProcess[str]:
        """`before` is a program that runs it, such as `unshare`."""
        command = [*before, *PADDOCK, *map(str, words)]
        options: dict[str, Any] = {"cwd": self.home, "env": self.env, "text": True}
        options |= {"capture_output": True, "timeout": within_s}
        if "input" not in more:
            options["stdin"] = subprocess.DEVNULL
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command, check=False, **options | more
        )
        return done

    def told(self, *words: object, **more: Any) -> Any:
        """The JSON that a command prints."""
        done = self.paddock(*words, "--json", **more)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    @contextmanager
    def client(self) -> Iterator[Client]:
        with Client(self.places) as client:
            yield client

    # -- the daemon -----------------------------------------------------------------------

    def start(self, *words: object) -> None:
        done = self.paddock("daemon", "start", *words, before=self.before)
        assert done.returncode == 0, done.stderr

    def daemon(self) -> dict[str, Any]:
        with self.client() as client:
            view = client.daemon()
        return {"pid": view.pid, "keeper_pid": view.keeper_pid, "epoch": view.epoch}

    def kill_daemon(self) -> int:
        """SIGKILL, to the daemon that holds the lock right now; 0 if there is none."""
        try:
            pid = int((self.places.state / "paddock.db.lock").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0
        return pid if self._is_our_daemon(pid) and _kill(pid) else 0

    def lose_power(self) -> None:
        """All of it dies at once, and nobody sees how; what starts next starts on another boot."""
        facts = self.daemon()
        for pid in (facts["pid"], facts["keeper_pid"]):
            os.kill(pid, signal.SIGKILL)
            until(lambda pid=pid: not leaks.is_alive(pid), within_s=5)  # type: ignore[misc]
        leaks.end(self.processes())
        until(lambda: self.processes() == {}, within_s=5)
        with closing(apsw.Connection(str(self.places.store))) as db:
            db.execute("UPDATE fleet SET boot_id = '00000000-another-boot 0.0'")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        for journal in self.places.keeper.glob("*.journal"):
            text = journal.read_text(encoding="ascii")
            journal.write_text(text.replace(boot, "00000000-another-boot"), encoding="ascii")

    def _is_our_daemon(self, pid: int) -> bool:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return str(self.places.state).encode() in words

    def log(self) -> str:
        return self.places.log.read_text(encoding="utf-8") if self.places.log.exists() else ""

    # -- runs -----------------------------------------------------------------------------

    def submit(self, *requests: RunRequest, key: str | None = None) -> Submission:
        order = Submit(
            key=key or uuid.uuid4().hex,
            runs=requests,
            directory=str(self.home),
            environment={name: self.env[name] for name in ("PATH", "HOME", "TEST_MARK")},
        )
        return patiently(lambda: self._ask(lambda client: client.submit(order)), within_s=90)

    def ended(self, runs: Sequence[str], *, within_s: float = 60.0) -> list[RunView]:
        """Waits through deaths of the daemon: it comes back by itself."""
        give_up_at = time.monotonic() + within_s
        while True:
            views = patiently(lambda: self._ask(lambda client: client.wait(runs, timeout_s=1.0)))
            if all(view.state == "ended" for view in views):
                return views
            assert time.monotonic() < give_up_at, f"waited in vain: {views}\n{self.log()}"

    def output(self, run: str) -> bytes:
        return self._ask(lambda client: b"".join(client.log(run)))

    def _ask(self, ask: Callable[[Client], T]) -> T:
        with self.client() as client:
            return ask(client)

    # -- the end --------------------------------------------------------------------------

    def processes(self) -> dict[int, int]:
        """Daemon and keeper by the directory in their command, agents by the mark."""
        return leaks.marked(self.mark) | leaks.commanded(str(self.places.state))

    def go_home(self) -> None:
        self.paddock("daemon", "stop", "--kill")


def patiently(ask: Callable[[], T], within_s: float = 30.0) -> T:
    """A client whose daemon has just been killed tries again, as a user would."""
    give_up_at = time.monotonic() + within_s
    while True:
        try:
            return ask()
        except (ClientError, OSError):
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.05)


def _kill(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


@contextmanager
def a_house(directory: Path, *, config: str = "", **more: Any) -> Iterator[House]:
    house = House(directory, config=config, **more)
    try:
        yield house
        house.go_home()
        left = _left(house)
    finally:
        leaks.end(house.processes())
        # Whoever leaves in good order takes them along; these tests kill.
        home = read_home(house.places.keeper)
        emptied = home is None or _soon(home.group.remove)
    assert emptied, "a cgroup is left, and somebody in it"
    assert left == {}, f"processes are left: {_words(left)}\n{house.log()}"
    assert list(house.places.output.glob("*/*.fifo")) == []


def _soon(done: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 5.0
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _left(house: House) -> dict[int, int]:
    deadline = time.monotonic() + 30.0  # a browser or a daemon takes its time on a loaded machine
    while (left := house.processes()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _words(pids: dict[int, int]) -> list[str]:
    found = []
    for pid in pids:
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            found.append(f"{pid}: {words.decode(errors='replace')}")
    return found


def shell(name: str, text: str, **more: Any) -> RunRequest:
    return RunRequest(name=name, command=("sh", "-c", text), memory_bytes=64 << 20, **more)


def is_running(house: House, run: str) -> bool:
    return any(view["id"] == run and view["state"] == "running" for view in house.told("ls"))
