"""What may happen to a daemon: killed, twice at once, its keeper killed, the clock set, the machine
restarted. Nothing is lost, and nothing is made up.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from paddock.wire.run_request import RunRequest
from tests.kit import leaks
from tests.kit.house import PADDOCK, House, a_house, is_running, shell
from tests.kit.waiting import until

# -- stops and starts ---------------------------------------------------------------------------


def test_sigterm_stops_the_daemon_and_leaves_its_agents(house: House) -> None:
    house.start()
    go = house.home / "go"
    script = f"echo one; until [ -e {go} ]; do sleep 0.1; done; echo two; exit 5"
    (taken,) = house.submit(shell("a", script)).runs
    until(lambda: is_running(house, taken.id), within_s=10)
    pid = house.daemon()["pid"]
    os.kill(pid, signal.SIGTERM)
    until(lambda: not leaks.is_alive(pid), within_s=10)
    assert leaks.marked(taken.id)
    time.sleep(1.5)  # the keeper would have brought back one that died
    assert house.paddock("daemon", "status").returncode == 69
    go.touch()
    until(lambda: not leaks.marked(taken.id), within_s=30)
    house.start()
    (view,) = house.ended([taken.id])
    assert view.exit_code == 5
    assert house.output(taken.id) == b"one\ntwo\n"


def test_a_killed_daemon_is_brought_back_by_the_keeper(house: House) -> None:
    house.start()
    (taken,) = house.submit(shell("a", "sleep 3; exit 5")).runs
    until(lambda: is_running(house, taken.id), within_s=10)
    before = house.daemon()
    os.kill(before["pid"], signal.SIGKILL)
    (view,) = house.ended([taken.id])
    assert view.exit_code == 5
    after = house.daemon()
    assert after["pid"] != before["pid"]
    assert after["keeper_pid"] == before["keeper_pid"]
    assert after["epoch"] > before["epoch"]


def test_stopped_with_kill_it_ends_its_agents_and_keeps_what_waits(tmp_path: Path) -> None:
    with a_house(tmp_path, config="performance: {max_concurrent_agents: 1}\n") as house:
        house.start()
        first, second = house.submit(shell("a", "sleep 60"), shell("b", "exit 0")).runs
        until(lambda: is_running(house, first.id), within_s=10)
        assert house.paddock("daemon", "stop", "--kill").returncode == 0
        assert house.processes() == {}
        house.start()
        views = {view.name: view for view in house.ended([first.id, second.id])}
        assert views["a"].outcome == "cancelled"
        assert views["b"].outcome == "succeeded"


def test_two_daemons_started_at_once_are_one(house: House) -> None:
    command = [*PADDOCK, "daemon", "start", "--json"]
    both = [
        subprocess.Popen(command, env=house.env, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    told = [each.communicate(timeout=30)[0] for each in both]
    assert [each.returncode for each in both] == [0, 0, 0, 0]
    pids = {text.split('"pid": ')[1].split(",")[0] for text in told}
    assert len(pids) == 1
    again = house.paddock("daemon", "run")
    assert again.returncode == 3
    assert "already running" in again.stderr


def test_a_changed_configuration_counts_without_a_restart(house: House) -> None:
    house.start()
    config = house.home / "config/paddock/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("queue: {depth: 7}\n", encoding="utf-8")
    until(lambda: house.told("status")["queue"]["depth"] == 7, within_s=10)
    config.write_text("queue: {depth: none of it}\n", encoding="utf-8")
    until(lambda: "is as before" in house.log(), within_s=10)
    assert house.told("status")["queue"]["depth"] == 7


def test_a_daemon_that_was_told_to_listen_does_so_again_after_its_death(house: House) -> None:
    house.start()
    house.paddock("daemon", "stop")
    command = [*PADDOCK, "daemon", "run", "--listen", "127.0.0.1:0"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        command[-1] = f"127.0.0.1:{free.getsockname()[1]}"
    with subprocess.Popen(command, env=house.env, stderr=subprocess.DEVNULL) as first:
        until(house.places.socket.exists, within_s=10)
        until((house.places.state / "listen").exists, within_s=10)
        first.kill()
    house.start()
    assert house.told("daemon", "status")["listen"] == command[-1]
    house.paddock("daemon", "stop")
    house.start()
    assert house.told("daemon", "status")["listen"] is None


# -- files --------------------------------------------------------------------------------------


def test_daemon_and_keeper_carry_nobodys_secrets(house: House) -> None:
    secrets = ("ANTHROPIC_API_KEY", "USER_PASSWORD", "DOCKER_PASSWORD", "CONTAINER_PASSPHRASE")
    house.env |= dict.fromkeys(secrets, "sk-secret")
    house.start()
    facts = house.daemon()
    for pid in (facts["pid"], facts["keeper_pid"]):
        assert b"sk-secret" not in Path(f"/proc/{pid}/environ").read_bytes()


# -- the keeper ---------------------------------------------------------------------------------


def test_when_the_keeper_is_killed_its_agents_are_found_and_their_end_is_not_made_up(
    house: House,
) -> None:
    house.start()
    ended, lives = house.submit(
        shell("ended", "exit 0"), shell("lives", "echo one; sleep 3; echo two; exit 0")
    ).runs
    house.ended([ended.id])
    until(lambda: is_running(house, lives.id), within_s=10)
    os.kill(house.daemon()["keeper_pid"], signal.SIGKILL)
    (view,) = house.ended([lives.id])
    assert (view.outcome, view.exit_code) == ("lost", None)
    assert "keeper" in (view.because or "")
    assert house.output(lives.id) == b"one\ntwo\n"
    (new,) = house.submit(shell("new", "exit 3")).runs
    assert house.ended([new.id])[0].exit_code == 3


def test_keeper_and_daemon_killed_together_lose_no_agent_and_no_output(house: House) -> None:
    house.start()
    (taken,) = house.submit(shell("a", "echo one; sleep 12; echo two")).runs
    until(lambda: is_running(house, taken.id), within_s=10)
    both = house.daemon()
    os.kill(both["pid"], signal.SIGKILL)
    os.kill(both["keeper_pid"], signal.SIGKILL)
    house.start()
    assert is_running(house, taken.id)
    (view,) = house.ended([taken.id])
    assert (view.outcome, view.exit_code) == ("lost", None)
    assert house.output(taken.id) == b"one\ntwo\n"


# -- the machine --------------------------------------------------------------------------------


def test_after_a_reboot_what_died_with_the_machine_is_run_again(house: House) -> None:
    house.start()
    text = 'echo "attempt $PADDOCK_ATTEMPT_NUMBER"; [ $PADDOCK_ATTEMPT_NUMBER -gt 1 ] || sleep 60'
    (taken,) = house.submit(shell("a", text)).runs
    until(lambda: is_running(house, taken.id), within_s=10)
    house.lose_power()
    house.start()
    (view,) = house.ended([taken.id], within_s=30)
    assert (view.outcome, view.attempt) == ("succeeded", 2)
    assert house.output(taken.id) == b"attempt 1\nattempt 2\n"


SET_CLOCK = """
import time
from pathlib import Path
real, file = time.time, Path({when!r})
time.time = lambda: real() + float(file.read_text(encoding="ascii"))
"""


def test_the_clock_set_an_hour_forth_and_back_ends_no_run(house: House) -> None:
    """The machine's own clock is not ours to set: the daemon's interpreter gets another one."""
    when = house.home / "when"
    when.write_text("0", encoding="ascii")
    text = SET_CLOCK.format(when=str(when))
    (house.home / "sitecustomize.py").write_text(text, encoding="ascii")
    house.env["PYTHONPATH"] = str(house.home)
    house.start()
    (taken,) = house.submit(
        RunRequest(name="a", command=("sleep", "300"), memory_bytes=64 << 20, timeout_s=60.0)
    ).runs
    until(lambda: is_running(house, taken.id), within_s=10)
    for step_s in (3600, -3600, 7200):
        when.write_text(str(step_s), encoding="ascii")
        time.sleep(1.2)  # for a tick
        assert is_running(house, taken.id)
        house.kill_daemon()  # the next one starts with the clock as it is now
        house.start()
        assert is_running(house, taken.id), house.told("why", taken.id)
    house.paddock("kill", taken.id)
    (view,) = house.ended([taken.id])
    assert view.outcome == "cancelled"


def test_a_daemon_started_from_inside_an_agent_does_not_live_in_its_cgroup(house: House) -> None:
    own = Path("/proc/self/cgroup").read_text(encoding="ascii")
    path = next((line.split(":")[2] for line in own.splitlines() if ":memory:" in line), None)
    root = Path("/sys/fs/cgroup/memory")
    if path is None or not os.access(root / path.lstrip("/"), os.W_OK):
        pytest.skip("no memory cgroup (v1) that we may write")
    top = root / path.lstrip("/") / f"paddock-test-{os.getpid()}"
    leaf = top / "fleet/agent"
    leaf.mkdir(parents=True)
    try:
        enter = f"echo $$ > {leaf}/cgroup.procs; exec {' '.join(PADDOCK)} daemon start"
        env = {**house.env, "PADDOCK_ATTEMPT": "an-agent.1"}
        subprocess.run(["sh", "-c", enter], env=env, check=True, capture_output=True)
        facts = house.daemon()
        for pid in (facts["pid"], facts["keeper_pid"]):
            where = Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii")
            assert f"{top.name}/supervisor" in where
            assert b"PADDOCK_" not in Path(f"/proc/{pid}/environ").read_bytes()
        house.go_home()
        until(lambda: house.processes() == {}, within_s=10)
    finally:
        for directory in (leaf, top / "fleet", top / "supervisor", top):
            if directory.exists():
                directory.rmdir()


# -- another user -------------------------------------------------------------------------------


def test_another_user_can_neither_look_nor_stop_anything(house: House) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    house.start()
    (taken,) = house.submit(shell("a", "echo private; sleep 60")).runs
    until(lambda: is_running(house, taken.id), within_s=10)
    for above in (house.home, *list(house.home.parents)[:3]):
        above.chmod(above.stat().st_mode | 0o055)  # all but the state directory lies open
    log = next(house.places.output.glob("*/1.log"))
    until(lambda: log.read_bytes() == b"private\n", within_s=5)
    connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    pids = list(leaks.marked(taken.id))
    for words in (
        ("/usr/bin/python3", "-c", connect, str(house.places.socket)),
        ("cat", str(log)),
        ("ls", str(house.places.state)),
        ("cat", str(house.places.store)),
        ("kill", "-9", *map(str, pids)),
        ("cat", f"/proc/{pids[0]}/environ"),
    ):
        done = subprocess.run(
            words, user=65534, group=65534, extra_groups=[], check=False, capture_output=True
        )
        assert done.returncode != 0, words
        assert b"private" not in done.stdout
    assert is_running(house, taken.id)
