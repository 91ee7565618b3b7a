"""A keeper's log stays small, whatever it has to say for months."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from paddock.drivers.local.keeper.telling import MOST_BYTES

TALKER = """
import sys
from paddock.drivers.local.keeper.telling import log

log.begin(sys.argv[1])
"""


def said(path: Path, code: str) -> str:
    """In a process of its own: it is about stdout and stderr."""
    subprocess.run([sys.executable, "-c", TALKER + code, str(path)], check=True, timeout=60)
    return path.read_text(encoding="utf-8")


def test_a_log_that_has_grown_is_set_aside_and_the_one_before_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "keeper.log"
    assert said(path, f"for n in range(40):\n log.say('x' * {MOST_BYTES // 10})").endswith("x\n")
    sizes = {each.name: each.stat().st_size for each in tmp_path.iterdir()}
    assert sizes.keys() == {"keeper.log", "keeper.log.1"}
    assert all(size <= MOST_BYTES * 1.2 for size in sizes.values()), sizes


def test_what_an_earlier_keeper_left_is_set_aside_at_birth(tmp_path: Path) -> None:
    path = tmp_path / "keeper.log"
    path.write_bytes(b"x" * (MOST_BYTES + 1))
    assert said(path, "log.say('here')") == "paddock keeper: here\n"
    assert (tmp_path / "keeper.log.1").stat().st_size == MOST_BYTES + 1


def test_a_bug_of_every_turn_is_told_once_and_another_one_as_well(tmp_path: Path) -> None:
    told = said(
        tmp_path / "keeper.log",
        """
for turn in range(100):
    try:
        [][0]
    except IndexError as error:
        log.bug(error)
try:
    {}[0]
except KeyError as error:
    log.bug(error)
""",
    )
    assert told.count("IndexError: ") == 1
    assert told.count("KeyError: ") == 1


def test_without_a_path_stderr_is_somebody_elses_and_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"x" * (MOST_BYTES + 1))
    code = "from paddock.drivers.local.keeper.telling import log\nlog.say('here')"
    with theirs.open("ab") as err:
        subprocess.run([sys.executable, "-c", code], stderr=err, check=True, timeout=60)
    assert theirs.read_bytes().endswith(b"xpaddock keeper: here\n")
    assert [each.name for each in tmp_path.iterdir()] == ["theirs"]
