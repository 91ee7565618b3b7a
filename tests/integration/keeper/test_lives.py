"""How attempts begin and end: exit codes, signals, failures to start, what the agent is given."""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from tests.kit.keeping import PYTHON, Keeping
from tests.kit.waiting import until


@pytest.mark.parametrize("code", [0, 1, 7, 125, 126, 127, 255])
def test_an_exit_code_is_the_agents_own(kept: Keeping, code: int) -> None:
    kept.spawn("a", ["sh", "-c", f"exit {code}"])
    ended = kept.ended("a")
    assert (ended["state"], ended["exit_code"], ended["signal"]) == ("exited", code, None)


def test_death_by_a_signal_is_told_from_an_exit_code(kept: Keeping) -> None:
    kept.spawn("a", ["sleep", "1000"])
    kept.running("a")
    assert kept.client.call("signal", attempt="a", signal=signal.SIGTERM)["sent"] == 1
    ended = kept.ended("a")
    assert (ended["exit_code"], ended["signal"]) == (None, signal.SIGTERM)


def test_an_exit_while_no_daemon_is_there_is_told_to_the_next(kept: Keeping) -> None:
    busy = "import sys\nfor _ in range(10**6): pass\nx = b'x' * (60 << 20)\nsys.exit(3)"
    pid = kept.spawn("a", [*PYTHON, "-c", busy])["pid"]
    kept.client.close()
    until(lambda: not Path(f"/proc/{pid}").exists())
    kept.connect()
    ended = kept.known("a")
    assert (ended["state"], ended["exit_code"]) == ("exited", 3)
    assert ended["max_rss_bytes"] > 60 << 20
    assert 0 < ended["user_s"] + ended["system_s"] < 60
    assert ended["ended_at"] >= ended["spawned_at"]


@pytest.mark.parametrize(
    ("argv", "more", "reason", "code"),
    [
        (["no-such-command"], {}, "no-such-command: not found", 127),
        (["/no/such/file"], {}, "/no/such/file: not found", 127),
        (["/etc/passwd"], {}, "/etc/passwd: not executable", 126),
        (["/"], {}, "/: not executable", 126),
        (["true"], {"cwd": "/no/such/place"}, "directory cannot be entered: /no/such/place", 125),
        (["true"], {"cgroups": ["/no/cgroup.procs"]}, "joined: /no/cgroup.procs", 125),
        (["true"], {"cgroups": ["/dev/full"]}, "joined: /dev/full", 125),
        (["true"], {"stdin": "/no/such/file"}, "/no/such/file: No such file", None),
        (["true"], {"stdin": "/dev/zero"}, "stdin must be a regular file", None),
        (["true"], {"fifo": "/no/such/place/fifo"}, "/no/such: No such file", None),
        (["true", "x" * 200_000], {}, "Argument list too long", None),
    ],
)
def test_a_failure_to_start_is_no_exit(
    kept: Keeping, argv: list[str], more: dict[str, object], reason: str, code: int | None
) -> None:
    # A name that no shell could give makes bash the shim's shell, where exec fails otherwise.
    for attempt, env in (("sh", {}), ("bash", {"no.name": ""})):
        kept.spawn(attempt, argv, env=env, **more)
        ended = kept.ended(attempt)
        assert ended["state"] == "spawn_failed"
        assert reason in ended["reason"]
        assert "could not be started" not in ended["reason"], "who tells of it says that"
        assert ended["exit_code"] == code
    told = [(event["attempt"], event["state"]) for event in kept.client.events]
    assert told == [("sh", "spawn_failed"), ("bash", "spawn_failed")], "never said to be running"


def test_an_agent_is_said_to_run_before_it_is_said_to_have_ended(kept: Keeping) -> None:
    kept.spawn("a", ["sleep", "0.2"])
    kept.ended("a")
    assert [event["state"] for event in kept.client.events] == ["running", "exited"]


def test_the_same_attempt_twice_is_started_once(kept: Keeping) -> None:
    first = kept.spawn("a", ["sleep", "1000"])
    again = kept.spawn("a", ["sh", "-c", "echo a second life"])
    assert (again["pid"], again["start"]) == (first["pid"], first["start"])
    kept.client.call("kill_all", attempt="a")
    kept.ended("a")
    assert kept.spawn("a", ["true"])["state"] == "exited"
    kept.client.call("forget", attempt="a")
    assert kept.known("a") == {}
    kept.client.call("forget", attempt="a")


def test_an_attempt_that_lives_is_not_forgotten(kept: Keeping) -> None:
    kept.spawn("a", ["sleep", "1000"])
    number = kept.client.ask("forget", attempt="a")
    with pytest.raises(Exception, match="not ended"):
        kept.client.answer_to(number)


LOOK = r"""
import os, sys
print(sorted(os.listdir('/proc/self/fd'))[:-1], os.getsid(0) == os.getpid(), oct(os.umask(0)))
status = open('/proc/self/status').read()
print([line for line in status.splitlines() if line.startswith(('SigBlk', 'SigIgn'))])
print(sorted(os.environ))
print(os.getcwd(), sys.stdin.read())
"""


def test_an_agent_gets_what_was_ordered_and_nothing_else(kept: Keeping, tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("hello", encoding="utf-8")
    env = {"report": "mine", "LANG": "C.UTF-8"}
    kept.spawn("a", [*PYTHON, "-c", LOOK], env=env, cwd="/usr", umask=0o027, stdin=str(words))
    kept.ended("a")
    kept.client.close()
    shown = until(lambda: kept.written("a").decode()).splitlines()
    assert shown[0] == "['0', '1', '2'] True 0o27"
    # SIGUSR1 and SIGUSR2; SIGPIPE and SIGXFSZ are Python's own, 32 and 33 glibc's.
    ignored = int(shown[1].split("SigIgn:\\t")[1][:16], 16) & ~(0x180000000 | 1 << 12 | 1 << 24)
    assert ignored == 1 << signal.SIGUSR1 - 1 | 1 << signal.SIGUSR2 - 1
    assert "SigBlk:\\t0000000000000000" in shown[1]
    assert shown[2] == str(sorted([*env, "PATH", "PADDOCK_ATTEMPT", "PADDOCK_RUN", "PWD"]))
    assert shown[3] == "/usr hello"


def test_variables_that_no_shell_could_name_reach_the_agent(kept: Keeping) -> None:
    env = {"npm_config_@x:registry": "one", "a.b": "two", "BASH_ENV": "/etc/passwd"}
    kept.spawn("a", ["env"], env={**env, "raw": os.fsdecode(b"\xff\xfe")})
    assert kept.ended("a")["exit_code"] == 0
    kept.client.close()
    shown = until(lambda: kept.written("a")).split(b"\n")
    assert {b"npm_config_@x:registry=one", b"a.b=two", b"raw=\xff\xfe"} <= set(shown)
    assert not any(b"POSIX" in line for line in shown)


def test_the_shim_writes_itself_into_every_cgroup_before_the_agent_begins(
    kept: Keeping, tmp_path: Path
) -> None:
    groups = [tmp_path / "cgroup one", tmp_path / "$(two)"]
    for group in groups:
        group.touch()
    kept.spawn("a", ["cat", *map(str, groups)], cgroups=[str(group) for group in groups])
    assert kept.ended("a")["exit_code"] == 0
    kept.client.close()
    assert until(lambda: kept.written("a")) == b"00"


def test_an_oom_score_that_cannot_be_set_is_noted_and_the_agent_runs(kept: Keeping) -> None:
    kept.spawn("a", ["cat", "/proc/self/oom_score_adj"], oom_score_adj=321)
    assert "notes" not in kept.ended("a")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    kept.spawn("b", ["sh", "-c", "exit 4"], nofile=hard + 1)
    assert (kept.ended("b")["notes"], kept.known("b")["exit_code"]) == (["nofile"], 4)
    kept.client.close()
    assert until(lambda: kept.written("a")) == b"321\n"


READY = "echo ready; "
SURVIVORS = {
    "sh": (["sh", "-c", READY + "while :; do sleep 1000; done"], None),
    "sleep": (["sh", "-c", READY + "exec sleep 1000"], None),
    "python": ([*PYTHON, "-uc", "import time; print('ready'); time.sleep(1000)"], None),
    "node": (["node", "-e", "console.log('ready'); setTimeout(() => {}, 1e6)"], "Node"),
    "careless": (["sh", "-c", READY + "exec env --default-signal=USR1,USR2 sleep 1000"], "die"),
}


@pytest.mark.parametrize("program", SURVIVORS)
def test_a_program_that_never_heard_of_them_survives_both_user_signals(
    kept: Keeping, program: str
) -> None:
    argv, why_not = SURVIVORS[program]
    pid = kept.spawn("a", argv)["pid"]
    kept.running("a")
    kept.client.close()
    until(lambda: kept.written("a") == b"ready\n")
    status = Path(f"/proc/{pid}/status")
    name = {"careless": "sleep"}.get(program, program)
    until(lambda: status.read_text(encoding="utf-8").startswith(f"Name:\t{name}"))
    kept.connect()
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        reply = kept.client.call("signal", attempt="a", signal=number)
        assert reply["sent"] == (why_not is None)
        assert (why_not or "") in reply.get("why", "")
    until(lambda: "SigPnd:\t0000000000000000" in status.read_text(encoding="utf-8"))
    assert kept.known("a")["state"] == "running"


def test_a_program_that_handles_a_user_signal_gets_it(kept: Keeping) -> None:
    listen = "import os, signal; signal.signal(10, lambda *_: os._exit(5)); print('ready')"
    listen += "; signal.pause()"
    kept.spawn("a", [*PYTHON, "-uc", listen])
    kept.running("a")
    kept.client.close()
    until(lambda: kept.written("a") == b"ready\n")
    kept.connect()
    assert kept.client.call("signal", attempt="a", signal=signal.SIGUSR1)["sent"] == 1
    assert kept.ended("a")["exit_code"] == 5


def test_a_signal_that_the_shim_may_not_yet_ignore_is_refused(
    kept: Keeping, tmp_path: Path
) -> None:
    # The shim hangs where it would join its cgroup: at a FIFO that nobody reads.
    os.mkfifo(tmp_path / "stuck")
    kept.spawn("a", ["true"], cgroups=[str(tmp_path / "stuck")])
    number = kept.client.ask("signal", attempt="a", signal=signal.SIGUSR1)
    with pytest.raises(Exception, match="not yet ignore"):
        kept.client.answer_to(number)
    assert kept.known("a")["state"] == "starting"
    reader = os.open(tmp_path / "stuck", os.O_RDONLY)
    assert kept.ended("a")["exit_code"] == 0
    os.close(reader)


def test_orphans_come_back_to_the_keeper_and_are_reaped(kept: Keeping) -> None:
    orphan = "import os, time\nif os.fork(): os._exit(0)\ntime.sleep(0.1)"
    kept.spawn("a", [sys.executable, "-c", orphan])
    kept.ended("a")
    children = Path(f"/proc/{kept.pid}/task/{kept.pid}/children")
    until(lambda: children.read_text(encoding="utf-8") == "")


def test_fifty_agents_at_once(kept: Keeping) -> None:
    numbers = [
        kept.client.ask("spawn", **kept.order(f"a{n}", ["sh", "-c", f"exit {n}"]))
        for n in range(50)
    ]
    for number in numbers:
        kept.client.answer_to(number)
    for n in range(50):
        assert kept.ended(f"a{n}")["exit_code"] == n


def test_whether_anything_is_left_is_said_with_the_end_and_when_it_changes(
    kept: Keeping, tmp_path: Path
) -> None:
    kept.spawn("clean", ["true"])
    assert kept.ended("clean")["empty"]
    stays = f"until test -e {tmp_path}/go; do sleep 0.02; done"
    kept.spawn("haunted", ["sh", "-c", f"setsid -f sh -c '{stays}'"])
    assert not kept.ended("haunted")["empty"]
    kept.spawn("other", ["true"])
    # Whose stray it is makes the difference; in the middle of its exec that is not to be seen.
    until(lambda: kept.ended("other")["empty"])
    (tmp_path / "go").touch()
    until(lambda: kept.known("haunted")["empty"])
    told = [
        one["empty"] for one in kept.client.events if one["attempt"] == "haunted" and "empty" in one
    ]
    assert told == [False, True]


def test_one_that_leaves_its_session_for_another_program_is_never_overlooked(kept: Keeping) -> None:
    """In the middle of its exec it can be known by nothing: 8 of 300 were, on a busy machine."""
    for n in range(40):
        kept.spawn(f"a{n}", ["sh", "-c", "setsid -f sleep 1000"])
        assert not kept.ended(f"a{n}")["empty"]
        assert kept.client.call("kill_all", attempt=f"a{n}")["left"] == []
        until(lambda n=n: kept.known(f"a{n}")["empty"])  # type: ignore[misc]


def test_an_orphan_without_mark_and_session_is_nobodys(kept: Keeping) -> None:
    """The one way out: parent, session and environment left all at once."""
    kept.spawn("a", ["sh", "-c", "setsid -f env -i sleep 0.3"])
    assert kept.ended("a")["state"] == "exited"
    until(lambda: kept.known("a")["empty"])


@pytest.mark.parametrize(
    ("argv", "more", "permanent"),
    [
        (["no-such-command"], {}, True),
        (["/etc/passwd"], {}, True),
        (["true"], {"cwd": "/no/such/place"}, True),
        (["true"], {"stdin": "/no/such/file"}, True),
        (["true"], {"cgroups": ["/no/cgroup.procs"]}, False),
    ],
)
def test_it_is_said_whether_the_same_start_would_fail_again(
    kept: Keeping, argv: list[str], more: dict[str, object], *, permanent: bool
) -> None:
    kept.spawn("a", argv, **more)
    assert kept.ended("a")["permanent"] is permanent
