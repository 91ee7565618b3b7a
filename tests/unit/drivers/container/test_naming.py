"""What containers and files are called, and what is written down for the next daemon."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from paddock.core.run import Attempt, Outcome
from paddock.drivers.attempts import attempt_of
from paddock.drivers.container.naming import Box, Names
from paddock.ports import Launch, Stop

A = Attempt("a.b", 2)


def names(tmp_path: Path) -> Names:
    return Names(tmp_path / "output", tmp_path / "live", "0123456789abcdef")


def test_run_and_number_are_found_again_in_a_boxs_name(tmp_path: Path) -> None:
    box = names(tmp_path).box(A)
    assert attempt_of(box.home.name) == box.attempt == A
    assert attempt_of("holder.lock") is None
    assert attempt_of("..1") is None


def test_names_that_no_engine_takes_are_refused(tmp_path: Path) -> None:
    assert names(tmp_path).problem(A) is None
    assert "letters" in (names(tmp_path).problem(Attempt("a/b", 1)) or "")
    assert "too long" in (names(tmp_path).problem(Attempt("a" * 120, 1)) or "")


def test_a_box_is_closed_to_others_and_has_all_the_shim_needs(tmp_path: Path) -> None:
    box = names(tmp_path).box(A)
    box.make(held=True)
    inside = Path(box.inside)
    assert stat.S_IMODE(inside.stat().st_mode) == 0o700
    assert all((inside / name).is_fifo() for name in ("word", "bell", "out"))
    assert (inside / "shim").read_bytes().startswith(b"# The first process")
    box.note("begun", {"pid": 1})
    box.make(held=True)
    assert box.noted("begun") is None, "an earlier try's facts are of no use"
    box.remove()
    assert not box.home.exists()


def test_without_fifos_the_agent_writes_to_its_segment_itself(tmp_path: Path) -> None:
    box = names(tmp_path).box(A)
    box.make(held=False)
    box.share_output(names(tmp_path).segment(A))
    Path(box.file("out")).write_bytes(b"said")
    assert (tmp_path / "output/a.b/2.log").read_bytes() == b"said"


def test_a_stop_is_found_again_and_an_unknown_word_is_none(tmp_path: Path) -> None:
    box = names(tmp_path).box(A)
    box.make(held=True)
    assert box.noted_stop() is None
    why = Stop(Outcome.PREEMPTED, "made room")
    box.note_stop(why)
    assert box.noted_stop() == why
    box.note("stop", {"outcome": "vaporised", "because": "newer"})
    assert box.noted_stop() is None
    (box.home / "stop").write_text("{half", encoding="ascii")
    assert box.noted_stop() is None


def test_a_status_counts_only_when_it_is_whole_and_no_link(tmp_path: Path) -> None:
    box = names(tmp_path).box(A)
    box.make(held=True)
    assert box.status() == ""
    status = Path(box.file("status"))
    status.write_text("exit 1", encoding="ascii")
    assert box.status() == ""
    status.write_text("exit 1\n", encoding="ascii")
    assert box.status() == "exit 1"
    status.unlink()
    status.symlink_to("/etc/hostname")
    assert box.status() == ""
    status.unlink()
    os.mkfifo(status)
    assert box.status() == "", "a FIFO in its place must not make the daemon wait"


@pytest.mark.parametrize("kind", ["pipe", "link", "device", "directory", "endless"])
def test_whatever_an_agent_lays_in_place_of_the_shells_words_is_neither_followed_nor_waited_for(
    tmp_path: Path, kind: str
) -> None:
    """The loop itself reads them: in a pipe the whole daemon would wait."""
    box = Box(tmp_path / "run.1")
    box.make(held=True)
    secret, file = tmp_path / "secret", Path(box.file("shell"))
    secret.write_text("a secret of the host")
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "directory":
        file.mkdir()
    elif kind == "endless":
        file.write_bytes(b"x" * (1 << 20))
    else:
        file.symlink_to(secret if kind == "link" else "/dev/zero")
    assert box.shell_words() == ("x" * 500 if kind == "endless" else "it says nothing")


def test_files_that_are_no_box_are_passed_over(tmp_path: Path) -> None:
    live = tmp_path / "live"
    (live / "x.1").mkdir(parents=True)
    (live / "holder.lock").touch()
    (live / "y.1").symlink_to(live / "x.1")
    assert list(names(tmp_path).boxes()) == [Attempt("x", 1)]


def test_the_environment_is_the_submitters_without_another_paddocks(tmp_path: Path) -> None:
    given = {"KEY": "v", "PADDOCK_RUN": "forged", "PADDOCK_STATE": "/s"}
    launch = Launch(
        attempt=A,
        command=("x",),
        environment=given,
        directory=tmp_path,
        limit_bytes=1,
        name="n",
        resume=True,
    )
    found = names(tmp_path).environment(launch)
    assert (found["KEY"], found["PADDOCK_STATE"], found["PADDOCK_RUN"]) == ("v", "/s", "a.b")
    assert found["PADDOCK_RESUME"] == "1"
    assert found["PADDOCK_SOFT_TIMEOUT"].startswith(Box(tmp_path / "live/a.b.2").inside)
