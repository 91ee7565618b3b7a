"""Nothing an agent wrote is lost, whatever became of the disk and of our own files."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from paddock.core.events import Exited, Started
from paddock.drivers.local import telling
from paddock.drivers.local.driver import DriverTrouble, LocalDriver
from paddock.drivers.local.keeper.members import look_at
from paddock.drivers.local.keeper_client import environment_of
from tests.kit.keeping import agent
from tests.kit.stable import Stable, in_a_stable


@in_a_stable
async def test_what_cannot_be_kept_at_the_end_is_kept_when_there_is_room(stable: Stable) -> None:
    usual, telling.UNDRAINED_AT_MOST_S = telling.UNDRAINED_AT_MOST_S, 0.3  # type: ignore[misc]
    shutil.rmtree(stable.state / "output")
    (stable.state / "output").touch()  # as good as a full disk
    try:
        attempt = stable.start(*agent("last_words", 20_000, 3))
        assert (await stable.hear(Exited, attempt)).exit.code == 3
        stable.driver.forget(attempt)
        await asyncio.sleep(0.6)
        assert stable.driver.trouble is not None
    finally:
        telling.UNDRAINED_AT_MOST_S = usual  # type: ignore[misc]
        (stable.state / "output").unlink()
        (stable.state / "output").mkdir()
    await stable.until(lambda: stable.written(attempt) == b"x" * 20_000)
    await stable.until(lambda: not list((stable.state / "keeper/attempts").iterdir()))
    assert stable.driver.trouble is None


@in_a_stable
async def test_what_the_last_daemon_froze_and_forgot_is_thawed(stable: Stable) -> None:
    attempt = stable.start("sh", "-c", "echo $$; exec sleep 1000")
    await stable.until(lambda: stable.written(attempt).endswith(b"\n"))
    pid = int(stable.written(attempt))
    stable.driver.freeze(attempt, reclaim=False)
    await stable.until(lambda: state(pid) == "T")
    stable.driver.close()
    stable.connect()
    stable.driver.thaw(attempt)
    await stable.until(lambda: state(pid) == "S")


@in_a_stable
async def test_memory_behind_a_main_thread_that_has_left_is_counted(stable: Stable) -> None:
    attempt = stable.start(*agent("headless", 60))
    await stable.until(lambda: stable.written(attempt) == b"headless\n")
    await stable.until(lambda: stable.driver.used_bytes()[attempt] > 60 << 20)
    await asyncio.sleep(0.2)
    assert stable.driver.used_bytes()[attempt] > 60 << 20


@in_a_stable
async def test_removed_directories_come_back(stable: Stable) -> None:
    shutil.rmtree(stable.state / "keeper/attempts")
    shutil.rmtree(stable.state / "output")
    attempt = stable.start("echo", "hello")
    assert (await stable.hear(Exited, attempt)).exit.code == 0
    assert stable.written(attempt) == b"hello\n"
    assert (stable.state / "output").stat().st_mode & 0o777 == 0o700


@in_a_stable
async def test_output_is_found_without_the_name_of_its_fifo(stable: Stable) -> None:
    go = stable.directory / "go"
    script = f"while [ ! -e {go} ]; do sleep 0.02; done; exec {' '.join(agent('chatter', 5000))}"
    attempt = stable.start("sh", "-c", script)
    await stable.hear(Started, attempt)
    for fifo in (stable.state / "keeper/attempts").glob("*.fifo"):
        fifo.unlink()
    stable.driver.close()
    stable.connect()
    go.touch()
    assert (await stable.hear(Exited, attempt)).exit.code == 0
    assert len(stable.written(attempt)) == 5000 * 64


@pytest.mark.parametrize("setsid", ["", "setsid "])
def test_a_child_in_anothers_clothes_is_not_charged_to_the_other(
    tmp_path: Path, setsid: str
) -> None:
    in_a_stable(lambda stable: _in_anothers_clothes(stable, setsid))(tmp_path)


async def _in_anothers_clothes(stable: Stable, setsid: str) -> None:
    victim = stable.start("sleep", "1000", run="victim")
    await stable.hear(Started, victim)
    mark = f"{stable.instance}.victim.1"
    hog = f"env PADDOCK_ATTEMPT={mark} {setsid}{' '.join(agent('headless', 60))}"
    go = stable.directory / "go"
    wait = f"while [ ! -e {go} ]; do sleep 0.02; done"
    thief = stable.start("sh", "-c", f"{hog} & {wait}", run="thief")
    await stable.until(lambda: stable.driver.used_bytes().get(thief, 0) > 60 << 20)
    go.touch()
    assert (await stable.hear(Exited, thief)).empty is bool(setsid)
    assert stable.driver.used_bytes()[victim] < 10 << 20
    assert bool(setsid) or stable.driver.used_bytes()[thief] > 60 << 20


def test_an_epoch_too_old_is_told_with_the_one_to_beat(tmp_path: Path) -> None:
    async def scenario(stable: Stable) -> None:
        stable._epoch = 41  # noqa: SLF001
        stable.driver.close()
        stable.connect()
        late = LocalDriver(stable.state / "keeper", stable.state / "output", epoch=7)
        with pytest.raises(DriverTrouble) as trouble:
            late.connect()
        assert trouble.value.epoch == 42

    in_a_stable(scenario)(tmp_path)


@in_a_stable
async def test_the_keeper_gets_little_of_the_environment(stable: Stable) -> None:
    environ = Path(f"/proc/{stable.driver.keeper_pid}/environ").read_bytes().split(b"\0")
    given = dict(line.decode().split("=", 1) for line in environ if line)
    assert given == environment_of(os.environ)
    secret = {"HOME": "/h", "LC_ALL": "C", "AWS_SECRET_ACCESS_KEY": "x", "PADDOCK_RUN": "r"}
    assert environment_of(secret) == {"HOME": "/h", "LC_ALL": "C"}


def state(pid: int) -> str:
    found = look_at(pid)
    return found.state if found else ""
