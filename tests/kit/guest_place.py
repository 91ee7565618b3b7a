"""Where the tests of tests/vm can run: on this machine, or only in a guest."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

from tests.kit.guest import Pid1

ROOT = Path("/sys/fs/cgroup")
NEEDED_FILES = ("cgroup.kill", "cgroup.freeze", "memory.max", "memory.reclaim", "pids.max")


def in_a_guest() -> bool:
    return "PADDOCK_GUEST" in os.environ


@cache
def has_cgroup2() -> bool:
    """Tried, not guessed: a container may show a v2 tree that hands out no controllers."""
    try:
        probe = Path(tempfile.mkdtemp(prefix="paddock-test-probe-", dir=ROOT))
    except OSError:
        return False
    try:
        return os.geteuid() == 0 and all((probe / name).exists() for name in NEEDED_FILES)
    finally:
        probe.rmdir()


def has_systemd() -> bool:
    """As sd_booted(3) tells it."""
    return Path("/run/systemd/system").is_dir()


def left_for_guests() -> list[tuple[Pid1, str]]:
    """The guests to boot, each with the mark expression of what must run in it."""
    if not has_cgroup2():
        return [("plain", "not systemd"), ("systemd", "systemd")]
    if not has_systemd():
        return [("plain", "guest"), ("systemd", "systemd")]
    return [("plain", "guest")]


def runs_here(marks: set[str]) -> bool:
    """Whether a test with these marks can run where we are."""
    if in_a_guest():
        return True
    return has_cgroup2() and "guest" not in marks and ("systemd" not in marks or has_systemd())
