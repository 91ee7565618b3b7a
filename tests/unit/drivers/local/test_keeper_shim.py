"""What the shim is told, and what is made of what it says."""

from __future__ import annotations

import pytest

from paddock.drivers.local.keeper import shim
from paddock.drivers.local.keeper.protocol import Order


def an_order(**changes: object) -> Order:
    plain = {"attempt": "a", "argv": ["prog", "$x", "a b"], "env": {}, "cwd": "/tmp dir"}
    paths = {"fifo": "/f", "segment": "/s"}
    return Order({**plain, **paths, "cap_bytes": 0, **changes})


def test_everything_is_an_argument_and_nothing_is_pasted_into_the_text() -> None:
    order = an_order(cgroups=["/c 1", "/c2"], oom_score_adj=5, nofile=1024)
    *own, (shell, words) = shim.commands(order, "/report")
    assert (shell, *words[:4]) == ("/bin/sh", "/bin/sh", "-c", shim.TEXT, "paddock-shim")
    assert words[4:10] == ["/report", "22", "1024", "5", "/tmp dir", "2"]
    assert words[10:] == ["/c 1", "/c2", "prog", "$x", "a b"]
    assert own == [(shim.PROGRAM, [shim.FIRST_LINE, *words[4:]])], "make setup compiles it"


def test_what_was_not_asked_for_is_a_dash() -> None:
    for _, words in shim.commands(an_order(), "/r"):
        at = words.index("/r")
        assert words[at + 2 : at + 4] == ["-", "-"]


@pytest.mark.parametrize(
    ("text", "fail", "notes"),
    [
        ("", None, []),
        ("note oom_score_adj\n", None, ["oom_score_adj"]),
        ("note nofile\nfail exec\n", "exec", ["nofile"]),
        ("fail cgroup", "cgroup", []),
        ("\0garbage\nfail", "", []),
    ],
)
def test_a_report_is_read(text: str, fail: str | None, notes: list[str]) -> None:
    report = shim.Report(text)
    assert (report.fail, report.notes) == (fail, notes)


def test_between_two_programs_the_command_line_says_nothing() -> None:
    assert shim.is_still_shim(b"")
    assert shim.is_still_shim(b"/bin/sh\0-c\0" + shim.TEXT.encode())
    assert not shim.is_still_shim(b"sleep\x001000\0")


@pytest.mark.parametrize("name", ["a.b", "1x", "a-b", "ä", "BASH_FUNC_f%%"])
def test_a_variable_that_dash_would_drop_makes_bash_the_shell(name: str) -> None:
    assert not shim.is_shell_name(name)
    assert shim.is_shell_name("_x1")


def test_every_step_that_fails_has_its_sentence() -> None:
    order = an_order(cgroups=["/c"])
    assert shim.why_failed("cgroup", 125, order).endswith("joined: /c")
    assert shim.why_failed("cwd", 125, order).endswith("entered: /tmp dir")
    assert shim.why_failed("exec", 126, order) == "prog: not executable"
    assert shim.why_failed("exec", 127, order) == "prog: not found"
    assert "exit 2" in shim.why_failed("start", 2, order)
