"""A disk that does not answer any more: the daemon still stops, says why, and loses no agent."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.kit import leaks
from tests.kit.house import House, is_running, shell
from tests.kit.striking import ONLY_DAEMON
from tests.kit.waiting import until

# What hangs is a thread in the middle of a commit; while the file is there, it does not come back.
HANG = """
import os, time
from paddock.storage.sqlite import SqliteStore
real = SqliteStore.remember_many
def hung(*args, **more):
    while os.path.exists({hang!r}):
        open({hung!r}, "a").close()
        time.sleep(0.05)
    return real(*args, **more)
SqliteStore.remember_many = hung
"""


class HungDisk:
    def __init__(self, house: House) -> None:
        self._hang, self._hung = house.home / "hang", house.home / "hung"
        text = HANG.format(hang=os.fspath(self._hang), hung=os.fspath(self._hung)).strip()
        planted = ONLY_DAEMON + "".join(f"    {line}\n" for line in text.splitlines())
        (house.home / "sitecustomize.py").write_text(planted, encoding="ascii")
        house.env["PYTHONPATH"] = os.fspath(house.home)

    def hang(self) -> None:
        self._hang.touch()

    def wait_for_a_commit(self) -> None:
        until(self._hung.exists, within_s=20)

    def answer(self) -> None:
        self._hang.unlink()


def waits_for(path: Path) -> str:
    return f"until test -e {path}; do sleep 0.05; done; exit 5"


@pytest.mark.parametrize("how", ["stop", "sigterm", "kill"])
def test_the_daemon_stops_all_the_same_and_the_next_one_finds_everything(
    house: House, how: str
) -> None:
    disk, go, first = HungDisk(house), house.home / "go", house.home / "first"
    house.start()
    kept = house.submit(shell("kept", waits_for(go))).runs[0].id
    ends = house.submit(shell("ends", waits_for(first))).runs[0].id
    until(lambda: is_running(house, kept) and is_running(house, ends), within_s=20)
    pid = house.daemon()["pid"]
    disk.hang()
    first.touch()  # its end is heard, and cannot be remembered
    disk.wait_for_a_commit()
    began = time.monotonic()
    if how == "sigterm":
        os.kill(pid, signal.SIGTERM)
        until(lambda: not leaks.is_alive(pid), within_s=50)
    else:
        words = ["--kill"] if how == "kill" else []
        done = house.paddock("daemon", "stop", *words, within_s=70)
        assert done.stdout == f"stopped (it was process {pid})\n"
        assert done.returncode == bool(words), "those who were to be ended are still there"
        assert "does not answer" in done.stderr and "agents go on" in done.stderr
        assert ("1 agent could not be ended" in done.stderr) == bool(words)
    assert time.monotonic() - began < 45, "less than what `daemon stop` waits for"
    assert "does not answer" in house.log()
    assert leaks.marked(kept), "nobody was ended whose end could not be remembered"
    disk.answer()
    house.start()
    go.touch()
    assert [one.exit_code for one in house.ended([kept, ends])] == [5, 5]
