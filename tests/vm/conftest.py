"""Tests that need cgroup v2 and root: run here if this machine has them, else by tests/guest."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.guest import USER
from tests.kit.guest_place import runs_here
from tests.vm.cgroup import Cgroup

ZRAM = Path("/sys/block/zram0")
BUSYBOX = "/run/busybox"


def pytest_report_header() -> str | None:
    if runs_here(set()):
        return None
    return "tests/vm: needs cgroup v2 and root; `pytest -s tests/guest` runs it in a guest"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselected, not skipped: in the same run tests/guest runs these in a guest."""
    elsewhere = [item for item in items if _is_ours(item) and not runs_here(_marks(item))]
    for item in elsewhere:
        # On a host with systemd of its own nothing boots a second one.
        if _marks(item) >= {"guest", "systemd"}:
            raise pytest.UsageError(f"{item.nodeid} is marked both guest and systemd; choose one")
    config.hook.pytest_deselected(items=elsewhere)
    items[:] = [item for item in items if item not in elsewhere]


def _is_ours(item: pytest.Item) -> bool:
    return item.nodeid.startswith("tests/vm/")


def _marks(item: pytest.Item) -> set[str]:
    return {mark.name for mark in item.iter_markers()}


@pytest.fixture
def cgroup() -> Iterator[Cgroup]:
    """A fresh one with every controller; all in it is killed and removed at the end."""
    made = Cgroup.fresh()
    yield made
    made.remove()


@pytest.fixture
def user() -> pwd.struct_passwd:
    """Somebody who is not root: the guest's user, or on a host of one's own who called sudo."""
    for name in (USER, os.environ.get("SUDO_USER", "nobody")):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("there is no user but root here; run this in a guest or with sudo")


@pytest.fixture
def swap_in_memory() -> Iterator[None]:
    """256 MiB, for tests with the mark `guest`."""
    (ZRAM / "disksize").write_text("256M", encoding="ascii")
    subprocess.run([BUSYBOX, "mkswap", "/dev/zram0"], check=True, capture_output=True)
    subprocess.run([BUSYBOX, "swapon", "/dev/zram0"], check=True)
    yield
    subprocess.run([BUSYBOX, "swapoff", "/dev/zram0"], check=True)
    (ZRAM / "reset").write_text("1", encoding="ascii")
