"""The shim that was compiled and the one in shell text do the same, also when all goes wrong."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from paddock.drivers.local.keeper import shim
from paddock.drivers.local.keeper.protocol import Order

PATH = "/usr/bin:/bin"
SHOW = "echo $(pwd) $PWD ${OLDPWD-none}; umask; ulimit -Sn; cat /proc/self/oom_score_adj; echo $#"
IGNORED = "grep SigIgn /proc/self/status"


class Told(NamedTuple):
    code: int
    out: bytes
    fail: str | None
    notes: list[str]


def both(tmp_path: Path, argv: list[str], **asked: Any) -> list[Told]:
    (tmp_path / "here").mkdir(exist_ok=True)
    env = asked.pop("env", {"PATH": PATH, "PWD": "/elsewhere", "OLDPWD": "/before"})
    order = Order(
        {
            "attempt": "a",
            "argv": argv,
            "env": env,
            "cwd": str(tmp_path / "here"),
            "fifo": "/f",
            "segment": "/s",
            "cap_bytes": 0,
            **asked,
        }
    )
    started = shim.environment(order)
    report = tmp_path / "report"
    found = []
    for program, words in shim.commands(order, str(report)):
        done = subprocess.run(
            words, executable=program, env=started, capture_output=True, timeout=20, check=False
        )
        said = shim.Report(report.read_text() if report.exists() else "")
        report.unlink(missing_ok=True)
        found.append(Told(done.returncode, done.stdout, said.fail, said.notes))
    assert len(found) == 2, "make setup compiles it where there is a C compiler"
    return found


def alike(tmp_path: Path, argv: list[str], **asked: Any) -> Told:
    own, shell = both(tmp_path, argv, **asked)
    assert own == shell
    return own


def test_the_agent_begins_as_it_was_ordered(tmp_path: Path) -> None:
    asked = {"umask": 0o27, "nofile": 128, "oom_score_adj": 300}
    told = alike(tmp_path, ["sh", "-c", SHOW, "sh", "a b", "", "$x"], **asked)
    here = tmp_path / "here"
    assert told.out.decode().splitlines() == [f"{here} {here} none", "0027", "128", "300", "3"]
    assert (told.code, told.fail, told.notes) == (0, None, [])


def test_the_two_signals_are_ignored_and_no_other(tmp_path: Path) -> None:
    told = alike(tmp_path, ["sh", "-c", IGNORED])
    plain = subprocess.run(["sh", "-c", IGNORED], capture_output=True, check=True).stdout
    others = int(plain.split()[1], 16)  # of whoever runs the tests
    assert int(told.out.split()[1], 16) & ~others == (1 << 9 | 1 << 11) & ~others


def test_no_descriptor_and_no_variable_is_left_over(tmp_path: Path) -> None:
    told = alike(tmp_path, ["sh", "-c", "ls /proc/self/fd | wc -l"], cgroups=["/dev/null"])
    assert told.out.strip() == b"4"  # and that of ls
    own, shell = both(tmp_path, ["env"], env={"PATH": PATH, "A": "b"})
    here = bytes(tmp_path / "here")
    ours = [b"PADDOCK_ATTEMPT=a", b"PWD=%b" % here]
    assert own.out.splitlines() == [b"PATH=/usr/bin:/bin", b"A=b", *ours]
    assert set(own.out.splitlines()) <= set(shell.out.splitlines())


def test_it_writes_itself_into_every_cgroup_or_says_that_it_could_not(tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "t w o"]
    for file in files:
        file.touch()
    assert alike(tmp_path, ["true"], cgroups=list(map(str, files))).code == 0
    assert [file.read_text() for file in files] == ["0", "0"]
    told = alike(tmp_path, ["true"], cgroups=[str(tmp_path / "no/such")])
    assert (told.code, told.fail) == (125, "cgroup")


def test_what_is_not_given_is_noted_and_the_agent_begins_all_the_same(tmp_path: Path) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    told = alike(tmp_path, ["true"], nofile=most + 1, oom_score_adj=1000)
    assert (told.code, told.notes) == (0, ["nofile"])


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    told = alike(tmp_path, ["true"], cwd="/no/such/directory")
    assert (told.code, told.fail) == (125, "cwd")


def a_file(tmp_path: Path, text: str, mode: int) -> str:
    (tmp_path / "here").mkdir(exist_ok=True)
    path = tmp_path / "here/own-file"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (lambda _: ["no-such-command"], 127),
        (lambda _: ["/no/such/command"], 127),
        (lambda _: ["/etc/passwd/command"], 127),
        (lambda path: [a_file(path, "text", 0o644)], 126),
        (lambda path: [a_file(path, "#!/no/such/interpreter\n", 0o755)], 126),
        (lambda _: ["/usr"], 126),
    ],
)
def test_what_cannot_be_begun_is_no_exit_of_the_agent(
    tmp_path: Path, command: Callable[[Path], list[str]], code: int
) -> None:
    own, shell = both(tmp_path, command(tmp_path))
    assert own == (code, b"", "exec", [])
    assert shell.fail == "exec"


def test_an_agent_that_ends_so_itself_is_not_taken_for_one(tmp_path: Path) -> None:
    for code in (125, 126, 127):
        told = alike(tmp_path, ["sh", "-c", f"exit {code}"])
        assert (told.code, told.fail) == (code, None)


def test_a_script_without_its_first_line_is_run_by_the_shell(tmp_path: Path) -> None:
    path = a_file(tmp_path, 'echo "$# $1"\n', 0o755)
    for command in ([path, "a b"], ["./own-file", "a b"]):
        assert alike(tmp_path, command).out == b"1 a b\n"
    env = {"PATH": str(tmp_path / "here")}
    assert alike(tmp_path, ["own-file", "a b"], env=env).out == b"1 a b\n"


@pytest.mark.parametrize(
    "path", [f"/no/such:{PATH}", f"{'/x' * 3000}:{PATH}", f"{'y' * 9000}:{PATH}", f":{PATH}"]
)
def test_commands_are_searched_in_the_runs_own_path(tmp_path: Path, path: str) -> None:
    assert alike(tmp_path, ["true"], env={"PATH": path}).code == 0


def test_an_empty_place_in_the_path_is_the_working_directory(tmp_path: Path) -> None:
    a_file(tmp_path, "#!/bin/sh\necho here\n", 0o755)
    for path in (f":{PATH}", f"{PATH}:", "/no::/such"):
        assert alike(tmp_path, ["own-file"], env={"PATH": path}).out == b"here\n"


def test_without_a_path_the_usual_places_are_searched(tmp_path: Path) -> None:
    assert alike(tmp_path, ["true"], env={}).code == 0


def test_a_variable_that_no_shell_could_name_is_handed_on(tmp_path: Path) -> None:
    own, _ = both(tmp_path, ["env"], env={"PATH": PATH, "npm_config_@x:y": "1"})
    assert b"npm_config_@x:y=1" in own.out.splitlines()


def test_too_few_words_are_no_order(tmp_path: Path) -> None:
    for words in ([], ["r"], [str(tmp_path / "r"), "22", "-", "-", "/", "5", "/dev/null", "true"]):
        done = subprocess.run(
            [shim.FIRST_LINE, *words], executable=shim.PROGRAM, check=False, timeout=10
        )
        assert done.returncode == 125


def test_where_nothing_may_be_executed_the_shell_does_it(tmp_path: Path) -> None:
    from paddock.drivers.local.keeper.children import _spawned

    blocked = tmp_path / "shim-1"
    blocked.write_bytes(b"\x7fELF is not all of it")
    blocked.chmod(0o755)
    words = ["sh", "-c", "exit 7"]
    for first in (str(blocked), str(tmp_path), str(tmp_path / "none")):
        pid = _spawned([(first, ["x"]), ("/bin/sh", words)], {}, [])
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
