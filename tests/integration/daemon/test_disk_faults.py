"""The state directory removed, full, read-only or open to others: told, and no agent is harmed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paddock.client import Client
from paddock.client.errors import Trouble
from paddock.wire.views import Submit
from tests.kit import leaks
from tests.kit.disks import a_small_disk
from tests.kit.house import House, a_house, is_running, shell
from tests.kit.waiting import until


def test_a_removed_socket_is_there_again(house: House) -> None:
    house.start()
    pid = house.daemon()["pid"]
    house.places.socket.unlink()
    until(house.places.socket.exists, within_s=5)
    assert house.daemon()["pid"] == pid


def test_a_removed_database_is_put_back_with_all_that_was_in_it(house: House) -> None:
    house.start()
    (old,) = house.submit(shell("old", "exit 4")).runs
    house.ended([old.id])
    for file in house.places.state.glob("paddock.db*"):
        file.unlink()
    (new,) = house.submit(shell("new", "exit 6")).runs
    house.ended([new.id])
    house.kill_daemon()
    views = {view.name: view.exit_code for view in house.ended([old.id, new.id])}
    assert views == {"old": 4, "new": 6}


def test_a_removed_database_is_put_back_also_while_nothing_happens(house: House) -> None:
    house.start()
    (taken,) = house.submit(shell("a", "sleep 60")).runs
    until(lambda: is_running(house, taken.id), within_s=10)
    for file in house.places.state.glob("paddock.db*"):
        file.unlink()
    until(house.places.store.exists, within_s=10)
    house.kill_daemon()
    house.start()
    assert is_running(house, taken.id)


def test_a_whole_state_directory_that_was_removed_is_made_again(house: House) -> None:
    """By a cleaner, or by a user in the wrong window. What the daemon has open, it has whole."""
    house.start()
    (old,) = house.submit(shell("old", "exit 4")).runs
    house.ended([old.id])
    go = house.home / "go"
    script = f"echo one; until [ -e {go} ]; do sleep 0.1; done; echo two; exit 5"
    (lives,) = house.submit(shell("lives", script)).runs
    until(lambda: is_running(house, lives.id), within_s=10)
    pid = house.daemon()["pid"]
    shutil.rmtree(house.places.state)
    until(lambda: house.places.store.exists() and house.places.socket.exists(), within_s=10)
    (new,) = house.submit(shell("new", "echo here; exit 6")).runs
    go.touch()
    views = {each.name: each.exit_code for each in house.ended([old.id, lives.id, new.id])}
    assert views == {"old": 4, "lives": 5, "new": 6}
    assert house.daemon()["pid"] == pid
    assert "removed under the daemon" in house.log()
    assert house.paddock("logs", "lives").stdout.endswith("two\n")
    assert house.paddock("logs", "new").stdout == "here\n"
    until((house.places.keeper / "keeper.sock").exists, within_s=20)  # it is heard every 5 s
    house.kill_daemon()
    house.start()
    assert {each["name"] for each in house.told("ls", "--all")} == {"old", "lives", "new"}
    assert house.paddock("run", "--", "true").returncode == 0


def test_a_new_store_leaves_running_agents_and_all_output_alone(house: House) -> None:
    house.start()
    (old,) = house.submit(shell("old", "echo kept")).runs
    house.ended([old.id])
    go = house.home / "go"
    script = f"echo one; until [ -e {go} ]; do sleep 0.1; done; echo two"
    (lives,) = house.submit(shell("lives", script)).runs
    until(lambda: is_running(house, lives.id), within_s=10)
    for _ in range(3):  # a higher epoch than a new store knows
        house.kill_daemon()
        house.start()
    house.paddock("daemon", "stop")
    for file in house.places.state.glob("paddock.db*"):
        file.unlink()
    house.start()
    assert house.told("ls", "--all") == []
    assert leaks.marked(lives.id)
    go.touch()
    until(lambda: not leaks.marked(lives.id), within_s=30)
    for run, text in ((old, b"kept\n"), (lives, b"one\ntwo\n")):
        log = house.places.output / run.id / "1.log"
        until(lambda log=log, text=text: log.read_bytes() == text, within_s=5)  # type: ignore[misc]
    assert house.paddock("run", "--", "true").returncode == 0


def test_a_submission_refused_on_a_full_disk_can_be_made_again_with_its_key(
    tmp_path: Path,
) -> None:
    with a_small_disk(tmp_path, size="8m") as disk, a_house(disk.root) as house:
        house.start()
        order = Submit(
            key="the-same-key", runs=(shell("a", "exit 3"),), directory="/", environment={}
        )
        disk.fill()
        with house.client() as client:
            until(lambda: _is_refused(client, order), within_s=10)
            disk.make_room()
            until(lambda: client.status().trouble is None, within_s=10)
            (taken,) = client.submit(order).runs
        (view,) = house.ended([taken.id])
        assert view.exit_code == 3


def _is_refused(client: Client, order: Submit) -> bool:
    """The disk takes a last one or two, as long as there is room in the write-ahead log."""
    try:
        client.submit(order)
    except Trouble:
        return True
    return False


def test_a_daemon_starts_on_a_full_disk_and_can_kill(tmp_path: Path) -> None:
    with a_small_disk(tmp_path, size="8m") as disk, a_house(disk.root) as house:
        house.start()
        (taken,) = house.submit(shell("a", "trap '' TERM; sleep 60")).runs
        until(lambda: is_running(house, taken.id), within_s=10)
        until((house.places.state / "ballast").exists, within_s=10)
        house.paddock("daemon", "stop")  # leaves an empty write-ahead log: no room of its own
        disk.fill()
        house.start()
        assert house.paddock("kill", "--force", taken.id).returncode == 0
        until(lambda: leaks.marked(taken.id) == {}, within_s=10)
        disk.make_room()
        (view,) = house.ended([taken.id])
        assert view.outcome == "cancelled"


def test_a_full_disk_is_told_and_harms_no_running_agent(tmp_path: Path) -> None:
    with a_small_disk(tmp_path, size="8m") as disk, a_house(disk.root) as house:
        house.start()
        (taken,) = house.submit(shell("a", "echo one; sleep 15; exit 5")).runs
        until(lambda: is_running(house, taken.id), within_s=10)
        disk.fill()
        done = house.paddock("submit", "--", "true")
        assert done.returncode != 0
        assert "no room left" in done.stderr
        assert "no room left" in str(house.told("status")["trouble"])
        house.kill_daemon()
        disk.fill()  # what the dead one gave back
        status = house.paddock("status")
        # The write-ahead log that the dead one left may be room enough for its successor.
        assert status.returncode == 0 or "no room left" in status.stderr
        assert leaks.marked(taken.id)
        disk.make_room()
        house.start()
        (view,) = house.ended([taken.id])
        assert view.exit_code == 5
        assert house.output(taken.id) == b"one\n"
        assert house.paddock("run", "--", "true").returncode == 0


def test_a_read_only_state_directory_is_told_and_harms_no_running_agent(tmp_path: Path) -> None:
    with a_small_disk(tmp_path, size="8m") as disk, a_house(disk.root) as house:
        house.start()
        (taken,) = house.submit(shell("a", "sleep 15; exit 5")).runs
        until(lambda: is_running(house, taken.id), within_s=10)
        house.paddock("daemon", "stop")
        with disk.read_only_for_newcomers():
            refused = house.paddock("submit", "--", "true")
            assert refused.returncode == 69
            assert len(refused.stderr.splitlines()) == 1
            assert "Read-only" in refused.stderr
            assert leaks.marked(taken.id)
        house.start()
        (view,) = house.ended([taken.id])
        assert view.exit_code == 5


def test_a_state_directory_that_others_can_look_into_is_refused(house: House) -> None:
    house.places.state.mkdir(mode=0o755)
    house.places.state.chmod(0o755)
    done = house.paddock("status")
    assert done.returncode == 69
    assert "chmod 700" in done.stderr
    house.places.state.chmod(0o700)


@pytest.mark.parametrize(
    "name", ["keeper/mover.lock", "keeper/keeper.sock", "paddock.db.lock", "instance", "daemon.log"]
)
def test_a_directory_in_place_of_a_file_is_told_in_one_line_and_left_alone(
    house: House, name: str
) -> None:
    """A keeper that met it died, and "connection reset by peer" was all that was said."""
    path = house.places.state / name
    for made in (house.places.state, *reversed(path.parents), path):
        made.mkdir(mode=0o700, exist_ok=True)
    (path / "mine").touch()
    done = house.paddock("daemon", "start")
    assert done.returncode == 69 and len(done.stderr.splitlines()) == 1
    assert f"{path} is a directory, where paddock keeps " in done.stderr
    assert "move it away, and start again" in done.stderr
    (path / "mine").unlink()
    path.rmdir()
    house.start()


def test_a_state_directory_emptied_under_the_daemon_comes_back(house: House) -> None:
    house.start()
    (taken,) = house.submit(shell("a", "sleep 15; exit 5")).runs
    until(lambda: is_running(house, taken.id), within_s=10)
    pid = house.daemon()["pid"]
    for path in house.places.state.iterdir():
        if path.is_file() or path.is_socket():
            path.unlink()
    until(lambda: house.places.socket.exists() and house.places.store.exists(), within_s=10)
    assert house.daemon()["pid"] == pid
    (view,) = house.ended([taken.id])
    assert view.exit_code == 5
