"""The shim, under every shell that is here, without a container."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.drivers.container.naming import SHIM
from paddock.drivers.container.telling import exit_in

SHELLS = [shell for shell in (["dash"], ["busybox", "sh"], ["bash"]) if shutil.which(shell[0])]


class Shimmed:
    """One shim with its FIFOs held, as the driver holds them."""

    def __init__(self, directory: Path, shell: list[str], *command: str, stdin: str = "") -> None:
        self.directory = directory
        for name in ("word", "bell", "out"):
            os.mkfifo(directory / name)
        held = [os.open(directory / name, os.O_RDWR) for name in ("word", "bell", "out")]
        self.word, self.bell, self.out = held
        words = [str(directory), "held", "0027", stdin or "/dev/null", *command]
        environment = {"PATH": "/usr/bin:/bin"}
        self.process = subprocess.Popen([*shell, str(SHIM), *words], env=environment)

    def say(self, word: str) -> None:
        os.write(self.word, f"{word}\n".encode())

    def hear(self) -> str:
        """Waits for the bell."""
        said = b""
        while not said.endswith(b"\n"):
            said += os.read(self.bell, 1)
        return said.decode().strip()

    def status(self) -> str:
        return (self.directory / "status").read_text(encoding="ascii").strip()

    def end(self) -> int:
        self.say("leave")
        return self.process.wait(10)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for descriptor in (self.word, self.bell, self.out):
            os.close(descriptor)


@pytest.fixture(params=SHELLS, ids=lambda shell: shell[0])
def shell(request: pytest.FixtureRequest) -> list[str]:
    return list(request.param)


@pytest.fixture
def made() -> Iterator[list[Shimmed]]:
    shims: list[Shimmed] = []
    yield shims
    for shim in shims:
        shim.close()


def ended(shim: Shimmed) -> str:
    shim.say("go")
    assert shim.hear() == "running"
    return shim.hear()


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 0", "exit 0"),
        ("exit 7", "exit 7"),
        ("exit 137", "exit 137"),
        ("kill -KILL $$", "signal 9"),
        ("kill -TERM $$", "signal 15"),
        ("kill -SEGV $$", "signal 11"),
        ("kill -PIPE $$", "signal 13"),
    ],
)
def test_a_code_is_told_apart_from_a_signal(
    tmp_path: Path, shell: list[str], made: list[Shimmed], script: str, status: str
) -> None:
    made.append(shim := Shimmed(tmp_path, shell, "/bin/sh", "-c", script))
    assert ended(shim) == shim.status() == status
    assert exit_in(status) is not None


def test_it_waits_for_leave_to_go_and_to_leave(
    tmp_path: Path, shell: list[str], made: list[Shimmed]
) -> None:
    ran = tmp_path / "ran"
    made.append(shim := Shimmed(tmp_path, shell, "/bin/sh", "-c", f": >{ran}"))
    shim.say("something else")
    assert not (tmp_path / "status").exists()
    assert ended(shim) == "exit 0"
    assert ran.exists()
    shim.say("go")  # said again by a daemon that did not know
    assert shim.process.poll() is None
    assert shim.end() == 0


@pytest.mark.parametrize("missing", ["no-such-command", "exit", "/no/such/file", "/usr"])
def test_what_is_no_program_is_never_run(
    tmp_path: Path, shell: list[str], made: list[Shimmed], missing: str
) -> None:
    made.append(shim := Shimmed(tmp_path, shell, missing))
    shim.say("go")
    assert shim.hear() == shim.status() == "missing"


def test_words_stdin_umask_and_output_arrive_and_nothing_of_the_shells(
    tmp_path: Path, shell: list[str], made: list[Shimmed]
) -> None:
    given = tmp_path / "given"
    given.write_bytes(b"input\n")
    script = 'cat; umask; echo "$1|$2"; echo err >&2; kill -KILL $$'
    words = ("/bin/sh", "-c", script, "x", "two words", "* $HOME")
    made.append(shim := Shimmed(tmp_path, shell, *words, stdin=str(given)))
    assert ended(shim) == "signal 9"
    assert os.read(shim.out, 4096) == b"input\n0027\ntwo words|* $HOME\nerr\n"


def test_polite_signals_are_ignored_unless_asked_for(
    tmp_path: Path, shell: list[str], made: list[Shimmed]
) -> None:
    script = "kill -USR1 $$; kill -USR2 $$; exit 4"
    made.append(shim := Shimmed(tmp_path, shell, "/bin/sh", "-c", script))
    assert ended(shim) == "exit 4"


def test_the_agent_does_not_get_the_fifos_it_is_watched_by(
    tmp_path: Path, shell: list[str], made: list[Shimmed]
) -> None:
    made.append(shim := Shimmed(tmp_path, shell, "/bin/ls", "-l", "/proc/self/fd"))
    assert ended(shim) == "exit 0"
    listed = os.read(shim.out, 4096).decode()
    assert "/out" in listed
    assert "/word" not in listed and "/bell" not in listed


def test_a_stdin_that_cannot_be_read_ends_it_with_the_reason_written_down(
    tmp_path: Path, shell: list[str], made: list[Shimmed]
) -> None:
    made.append(shim := Shimmed(tmp_path, shell, "true", stdin=str(tmp_path / "none")))
    assert shim.process.wait(10) != 0
    assert "none" in (tmp_path / "shell").read_text(encoding="utf-8")


def test_alone_it_needs_no_fifo(tmp_path: Path, shell: list[str]) -> None:
    words = [str(tmp_path), "alone", "0022", "/dev/null", "/bin/sh", "-c", "echo hi; exit 3"]
    done = subprocess.run([*shell, str(SHIM), *words], env={"PATH": "/bin"}, check=False)
    assert done.returncode == 3
    assert (tmp_path / "status").read_text(encoding="ascii") == "exit 3\n"
    assert (tmp_path / "out").read_bytes() == b"hi\n"


def test_what_is_no_status_is_no_exit() -> None:
    assert exit_in("") is None
    assert exit_in("running") is None
    assert exit_in("exit x") is None
    assert exit_in("exit 256") is None
    assert exit_in("signal 0") is None
    found = exit_in("signal 9")
    assert found is not None and found.signal == signal.SIGKILL
