"""A keeper is born alone: no marks, no descriptors, no session of its starter's, no package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paddock.drivers.local import keeper_client
from paddock.drivers.local.keeper_client import KEEPER, KeeperGone, launch_keeper
from tests.kit import leaks
from tests.kit.keeping import Keeping, keeping
from tests.kit.waiting import until


def environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def test_a_keeper_started_inside_an_agent_does_not_carry_its_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDOCK_ATTEMPT", "outer")
    monkeypatch.setenv("PADDOCK_SOFT_TIMEOUT", "/x")
    with keeping(tmp_path) as kept:
        assert b"PADDOCK_" not in environment(kept.pid)


def test_a_keeper_started_by_hand_sheds_its_marks_itself(kept: Keeping, tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", "-E", "-X", "utf8", str(KEEPER), str(tmp_path / "k")]
    dirty = {**os.environ, "PADDOCK_ATTEMPT": "outer"}
    subprocess.run(command, env=dirty, check=True, timeout=10)
    client = keeper_client.KeeperClient(tmp_path / "k")
    kept.clients.append(client)
    pid = client.hello(1)["pid"]
    found = environment(pid)
    client.call("retire")
    until(lambda: not leaks.is_alive(pid))
    assert b"PADDOCK_" not in found


def test_it_has_a_session_apart_and_nothing_inherited(kept: Keeping) -> None:
    fields = Path(f"/proc/{kept.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    parent, group, session, terminal = (int(field) for field in fields[1:5])
    assert parent != os.getpid()
    assert group == kept.pid
    assert session not in (os.getsid(0), kept.pid)
    assert terminal == 0
    links = Path(f"/proc/{kept.pid}/fd").iterdir()
    names = sorted(str(link.readlink()).partition(":")[0] for link in links)
    logs = [str(kept.directory.with_name("keeper.log"))] * 2
    locks = [str(kept.directory / name) for name in ("keeper.lock", "mover.lock")]
    journal = str(kept.directory / f"{kept.pid}-{kept.start}.journal")
    own = ["anon_inode", "pipe", "pipe", "socket", "socket", "/dev/null", journal, *logs, *locks]
    assert names == sorted(own)
    status = Path(f"/proc/{kept.pid}/status").read_text(encoding="ascii")
    assert "Umask:\t0077" in status


def test_it_needs_no_package_and_outlives_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "elsewhere" / "keeper"
    shutil.copytree(KEEPER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(keeper_client, "KEEPER", copy)
    with keeping(tmp_path) as kept:
        shutil.rmtree(copy.parent)
        kept.spawn("a", ["sh", "-c", "exit 3"])
        assert kept.ended("a")["exit_code"] == 3
        kept.spawn("b", ["no-such-command"])
        assert kept.ended("b")["state"] == "spawn_failed"
        kept.client.call("members", attempt="a")


def test_a_second_keeper_finds_the_first(kept: Keeping) -> None:
    assert launch_keeper(kept.directory) is False
    assert kept.client.call("list")["ok"]


def test_a_directory_open_to_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    with pytest.raises(KeeperGone, match="chmod 700"):
        launch_keeper(tmp_path / "open")


def test_the_path_of_the_directory_may_be_long(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    with keeping(deep) as kept:
        assert kept.client.call("list")["attempts"] == []


def test_a_socket_left_by_a_killed_keeper_is_in_nobodys_way(kept: Keeping) -> None:
    leaks.end({kept.pid: kept.start})
    kept.launch()
    kept.connect()
    assert kept.client.call("list")["attempts"] == []


def test_it_is_small(kept: Keeping) -> None:
    for number in range(50):
        kept.spawn(f"a{number}", ["sleep", "1000"])
    # 11 MB here; the figure for a thousand is in bench/bench_keeper.py.
    assert leaks.resident_bytes(kept.pid) < 20 << 20


@pytest.mark.parametrize("name", ["keeper.lock", "mover.lock"])
def test_what_stands_where_a_lock_should_is_named_by_who_cannot_be_born(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "k").mkdir(mode=0o700)
    (tmp_path / "k" / name).mkdir()
    with pytest.raises(KeeperGone, match=f"did not start: .*Is a directory: .*{name}"):
        launch_keeper(tmp_path / "k")
