"""Where a daemon is born under systemd: in a scope of its own that outlives its starter."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paddock.cgroups.mounts import UNIFIED, cgroups_of
from paddock.client import Client
from paddock.config.places import Places
from paddock.wire.run_request import RunRequest
from paddock.wire.views import Submit
from tests.kit.house import PADDOCK
from tests.kit.waiting import until
from tests.vm.test_systemd import for_user

pytestmark = pytest.mark.systemd

WITHIN_S = 240.0
AsSomebody = Callable[..., tuple[str, ...]]


class Born:
    """A daemon started by a program that has ended since."""

    def __init__(self, state: Path, somebody: AsSomebody) -> None:
        self.places = Places(state)
        self._somebody = somebody

    def start(self) -> int:
        before = self.pid()
        words = [*PADDOCK, "daemon", "run", "--state", str(self.places.state)]
        script = '"$@" </dev/null >"$LOG" 2>&1 &'
        log = f"LOG={self.places.state}.log"
        command = self._somebody("env", log, "sh", "-c", script, "sh", *words)
        subprocess.run(command, check=True, timeout=WITHIN_S)
        until(lambda: self.pid() not in (0, before) and self.answers(), within_s=WITHIN_S)
        return self.pid()

    def pid(self) -> int:
        lock = Path(f"{self.places.store}.lock")
        text = lock.read_text(encoding="ascii").strip() if lock.exists() else ""
        return int(text) if text.isdigit() else 0

    def answers(self) -> bool:
        try:
            with Client(self.places) as client:
                return client.daemon().pid == self.pid()
        except Exception:  # noqa: BLE001 - whatever it is, it does not answer yet
            return False

    def run(self, *command: str) -> str:
        request = RunRequest(name="one", command=command, memory_bytes=64 << 20)
        order = Submit(
            key=os.urandom(8).hex(),
            runs=(request,),
            directory="/",
            environment={"PATH": "/usr/bin:/bin"},
        )
        with Client(self.places) as client:
            (taken,) = client.submit(order).runs
        return taken.id

    def ended(self, run: str) -> Any:
        with Client(self.places) as client:
            (view,) = client.wait([run], timeout_s=WITHIN_S)
        return view

    def end(self) -> None:
        with Client(self.places) as client:
            client.stop_daemon(kill=True)
        pid = self.pid()
        until(lambda: not Path(f"/proc/{pid}").exists(), within_s=WITHIN_S)

    def home(self) -> str:
        record = json.loads((self.places.keeper / "home").read_text(encoding="ascii"))
        assert record["version"] == 2
        return str(record["directories"]["unified"])


@contextmanager
def born(directory: Path, somebody: AsSomebody) -> Iterator[Born]:
    one = Born(directory / "state", somebody)
    try:
        one.start()
        yield one
    finally:
        one.end()


def as_root(*command: str) -> tuple[str, ...]:
    return command


def check_its_place(one: Born, manager: str) -> None:
    where = cgroups_of(one.pid())[UNIFIED]
    assert manager in where
    assert where.split("/")[-3].startswith("paddock-") and where.split("/")[-3].endswith(".scope")
    assert where.endswith("/supervisor")
    view = one.ended(one.run("sh", "-c", "cat /proc/self/cgroup; exit 4"))
    assert view.exit_code == 4
    output = (one.places.output / view.id / "1.log").read_text(encoding="ascii")
    assert f"/fleet/{view.id}.1/main" in output
    assert one.ended(
        one.run("dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1")
    ).outcome == ("memory_limit_exceeded")


def test_of_root_it_has_a_scope_of_the_system(tmp_path: Path) -> None:
    with born(tmp_path, as_root) as one:
        check_its_place(one, "/system.slice/")


def test_of_a_user_it_has_a_scope_of_theirs(tmp_path: Path, user: pwd.struct_passwd) -> None:
    os.chown(tmp_path, user.pw_uid, user.pw_gid)
    for above in (tmp_path, *tmp_path.parents[:3]):
        above.chmod(0o755)

    def somebody(*command: str) -> tuple[str, ...]:
        return for_user(user, *command)

    with born(tmp_path, somebody) as one:
        check_its_place(one, f"/user@{user.pw_uid}.service/")


def test_agents_and_their_walls_outlive_the_daemon_and_the_next_one_finds_them(
    tmp_path: Path,
) -> None:
    with born(tmp_path, as_root) as one:
        home, run = one.home(), one.run("sleep", "600")
        leaf = Path(home) / f"fleet/{run}.1/main/cgroup.procs"
        until(lambda: leaf.exists() and leaf.read_text(encoding="ascii") != "", within_s=WITHIN_S)
        before = one.pid()
        os.kill(before, 9)
        # The keeper brings it back; nobody has to.
        until(lambda: one.pid() not in (0, before) and one.answers(), within_s=WITHIN_S)
        assert one.home() == home
        assert cgroups_of(one.pid())[UNIFIED].endswith("/supervisor")
        with Client(one.places) as client:
            assert client.run(run).state == "running"
            assert run in {view.id for view in client.memory()}


def test_the_unit_that_ships_starts_it_and_leaves_agents_alone(tmp_path: Path) -> None:
    unit = Path(__file__).parents[2] / "packaging/paddock.service"
    state = tmp_path / "state"
    text = unit.read_text(encoding="utf-8").replace(
        "%h/.local/bin/paddock", f"/usr/bin/env PADDOCK_STATE={state} {' '.join(PADDOCK)}"
    )
    # A name of its own: what an earlier try left active would not be started once more.
    installed = Path(f"/run/systemd/system/paddock-{secrets.token_hex(4)}.service")
    installed.write_text(text, encoding="utf-8")
    one = Born(state, as_root)
    try:
        systemctl("daemon-reload")
        systemctl("start", installed.name)
        run = one.run("sleep", "600")
        with Client(one.places) as client:
            until(lambda: client.run(run).state == "running", within_s=WITHIN_S)
        systemctl("restart", installed.name)
        with Client(one.places) as client:
            assert client.run(run).state == "running"
        one.end()
        systemctl("stop", installed.name)
    finally:
        installed.unlink()


def systemctl(*words: str) -> None:
    subprocess.run(["systemctl", *words], check=True, timeout=WITHIN_S)
