"""A paddock of its own for one measurement: daemon, keeper and agents begin and end with it.

Its state lies on the disk beside the user's, not in /tmp, which may be memory.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from paddock.client import Client
from paddock.client.errors import ClientError
from paddock.config.places import Places, find_places
from paddock.drivers.local.keeper.members import look_at
from paddock.drivers.local.keeper_client import KEEPER
from paddock.rescue.records import Records, read_home
from paddock.wire.run_request import RunRequest
from paddock.wire.views import DaemonView, RunView, Submission, Submit

from . import contained
from .ceiling import Ceiling

PADDOCK: Final = (sys.executable, "-P", "-m", "paddock")
KEEPER_AT: Final = 6  # in its command: Python and its options come first
NAME: Final = "paddock-bench-"
# The last one: whoever runs a checkout that is not installed measures that checkout.
TAKEN_ALONG: Final = ("PATH", "LANG", "TZ", "PYTHONPATH")
GIVEN_TO_RUNS: Final[tuple[str, ...]] = ("PATH", "LANG", "TZ", "HOME", "XDG_CONFIG_HOME")
OWNER: Final = "owner"  # in each: who measures, as PID and start, so that what is left is known
ENDS_WITHIN_S: Final = 20.0
CALL_S: Final = 90.0


class PenFailed(Exception):
    """It could not be started, or what it was asked failed; says why."""


class Pen:
    def __init__(self, directory: Path, config: str, ceiling: Ceiling | None = None) -> None:
        self.home = directory
        self.places = Places(directory / "state")
        self._ceiling = ceiling
        self.env = {
            **contained.environment(),
            **{name: os.environ[name] for name in TAKEN_ALONG if name in os.environ},
            "HOME": str(directory),
            "XDG_CONFIG_HOME": str(directory / "config"),
            "PADDOCK_STATE": str(self.places.state),
        }
        (directory / "config/paddock").mkdir(parents=True)
        (directory / "config/paddock/config.yaml").write_text(config, encoding="utf-8")
        contained.link_settings(directory / "config")

    def start(self) -> None:
        join = () if self._ceiling is None else self._ceiling.join
        try:
            done = self._call(*join, *PADDOCK, "daemon", "start")
        except subprocess.TimeoutExpired:
            raise PenFailed(f"no daemon could be started within {CALL_S:g} s") from None
        if done.returncode:
            raise PenFailed(f"no daemon could be started: {done.stderr.strip()[-500:]}")

    @contextmanager
    def client(self) -> Iterator[Client]:
        try:
            with Client(self.places) as client:
                yield client
        except ClientError as error:
            raise PenFailed(str(error)) from error

    def daemon(self) -> DaemonView:
        with self.client() as client:
            return client.daemon()

    def order(self, requests: Sequence[RunRequest], env: Mapping[str, str] | None = None) -> Submit:
        usual = {name: self.env[name] for name in GIVEN_TO_RUNS if name in self.env}
        return Submit(
            key=uuid.uuid4().hex,
            runs=tuple(requests),
            directory=str(self.home),
            environment={**usual, **(env or {})},
        )

    def submit(
        self, requests: Sequence[RunRequest], env: Mapping[str, str] | None = None
    ) -> Submission:
        with self.client() as client:
            return client.submit(self.order(requests, env))

    def views(self, ids: Sequence[str], *, timeout_s: float = 0.0) -> list[RunView]:
        """As they are when all have ended or the time is over."""
        with self.client() as client:
            return client.wait(list(ids), timeout_s=timeout_s)

    def end(self) -> None:
        """Whatever went wrong: nothing of it is left, not even the cgroup it lived in."""
        home = read_home(Records(str(self.places.state)))
        with suppress(subprocess.TimeoutExpired):
            self._call(*PADDOCK, "daemon", "stop", "--kill")
        give_up_at = time.monotonic() + ENDS_WITHIN_S
        while (left := self._processes()) and time.monotonic() < give_up_at:
            time.sleep(0.02)
        # The keeper first: it would bring the daemon back.
        for pid in sorted(left, key=lambda pid: left[pid] is not KEEPER):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if home is not None:
            home.group.remove()
        shutil.rmtree(self.home, ignore_errors=True)

    def _call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env=self.env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=CALL_S,
        )

    def _processes(self) -> dict[int, object]:
        """Daemon and keeper, by their whole command: whoever only names the directory is not."""
        state = os.fsencode(self.places.state)
        daemon = (*map(os.fsencode, PADDOCK[1:]), b"daemon", b"run", b"--state", state)
        keeper = (os.fsencode(KEEPER), os.fsencode(self.places.keeper))
        found: dict[int, object] = {}
        # Not "[0-9]*/cmdline": a glob that looks into a process just as it goes raises ESRCH.
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = tuple((process / "cmdline").read_bytes().split(b"\0"))
                if process.stat().st_uid != os.geteuid():
                    continue
                if words[1 : 1 + len(daemon)] == daemon:
                    found[int(process.name)] = PADDOCK
                elif keeper == words[KEEPER_AT : KEEPER_AT + 2]:
                    found[int(process.name)] = KEEPER
        return found


@contextmanager
def a_pen(config: str, *, ceiling: Ceiling | None = None) -> Iterator[Pen]:
    top = find_places().state.parent
    top.mkdir(mode=0o700, parents=True, exist_ok=True)
    clear_left(top)
    directory = top / f"{NAME}{secrets.token_hex(4)}"
    directory.mkdir(mode=0o700)
    (directory / OWNER).write_text(_identity(os.getpid()), encoding="ascii")
    pen = Pen(directory, config, ceiling)
    try:
        pen.start()
        yield pen
    finally:
        pen.end()


def clear_left(top: Path) -> None:
    """What a measurement that was killed left: its daemon, its agents, its directory."""
    for directory in top.glob(f"{NAME}*"):
        try:
            owner = (directory / OWNER).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            continue  # just being made, or none of ours
        pid = owner.partition(" ")[0]
        if not pid.isdigit() or _identity(int(pid)) != owner:
            shutil.rmtree(directory / "config", ignore_errors=True)
            Pen(directory, "").end()


def _identity(pid: int) -> str:
    """A number that is used again is another process: so with when it began."""
    process = look_at(pid)
    return f"{pid} {0 if process is None else process.start}"
