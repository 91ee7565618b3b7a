"""The contract of every driver in a delegated scope: of the system's manager, and of a user's."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.vm.test_systemd import for_user

pytestmark = [pytest.mark.systemd, pytest.mark.timeout(600)]

SUITE = "tests/vm/scopes/contract.py"
PLUGINS = ("-p", "no:cacheprovider", "-p", "pytest_timeout")


# What a scope has a part in: the whole of it is run by root without one, and by a user in one.
OF_CGROUPS = "wall or strays or frozen or uses or many or deaf"


def run_suite(directory: Path, somebody: Sequence[str] = (), *, only: str = "") -> None:
    # Its own place for files: the usual one is below a directory that only root may enter.
    where = f"--basetemp={directory / 'suite'}"
    suite = (sys.executable, "-m", "pytest", "-q", *PLUGINS, where, "-k", only, SUITE)
    done = subprocess.run([*somebody, *suite], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert " passed" in done.stdout and " skipped" not in done.stdout, done.stdout


def test_in_a_scope_of_the_system(tmp_path: Path) -> None:
    run_suite(tmp_path, only=OF_CGROUPS)


def test_in_a_scope_of_a_lingering_user(tmp_path: Path, user: pwd.struct_passwd) -> None:
    os.chown(tmp_path, user.pw_uid, user.pw_gid)
    for above in (tmp_path, *tmp_path.parents[:3]):
        above.chmod(0o755)
    run_suite(tmp_path, for_user(user))
