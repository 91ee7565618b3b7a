"""Completion in real shells: commands, options and the names of runs."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.house import House, a_house

# The shell's own start-up, completion on, and no list of choices that asks before it is shown.
STARTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "bind 'set completion-query-items 0'; "),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u; "),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with a_house(tmp_path_factory.mktemp("house")) as house:
        house.env["PATH"] = f"{Path(sys.executable).parent}:{house.env['PATH']}"
        house.env["TERM"] = "dumb"
        submitted = house.paddock("submit", "--name", "review-of-payments", "--", "sleep", "600")
        assert submitted.returncode == 0, submitted.stderr
        yield house
        house.paddock("kill", "--all", "--force")


class Shell:
    """One with a terminal, typed into like a person does."""

    def __init__(self, house: House, name: str) -> None:
        words, before = STARTS[name]
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(house.home)
            os.execvpe(words[0], words, house.env)
        self.type(f'{before}eval "$(_PADDOCK_COMPLETE={name}_source paddock)"; echo re""ady\n')
        self.until("ready")

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def until(self, text: str, *, within_s: float = 60.0) -> str:
        shown, end_at = "", time.monotonic() + within_s
        while text not in shown:
            left_s = end_at - time.monotonic()
            assert left_s > 0, f"{text!r} was not shown: {shown!r}"
            if select.select([self._terminal], [], [], left_s)[0]:
                shown += os.read(self._terminal, 65536).decode(errors="replace")
        return shown

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.close(self._terminal)
        os.waitpid(self._pid, 0)


@pytest.mark.parametrize("name", sorted(STARTS))
def test_a_shell_completes_commands_and_names_of_runs(house: House, name: str) -> None:
    assert shutil.which(name), f"{name} is not installed: tools/needs"
    shell = Shell(house, name)
    try:
        shell.type("paddock agent-g\t--js\t\n")
        shell.until("agent-guide")
        shell.until('"text"')
        shell.type("paddock why review\t\n")
        shell.until("running for")
    finally:
        shell.close()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("paddock capa", "capacity"),
        ("paddock run --prio", "--priority"),
        ("paddock run --priority cri", "critical"),
        ("paddock why review", "review-of-payments"),
        ("paddock kill rev", "review-of-payments"),
    ],
)
def test_fish_completes_what_the_others_do(house: House, typed: str, found: str) -> None:
    assert shutil.which("fish"), "fish is not installed: tools/needs"
    script = f"_PADDOCK_COMPLETE=fish_source paddock | source; complete -C '{typed}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        env=house.env,
        cwd=house.home,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found in [line.split("\t")[0] for line in done.stdout.splitlines()], done
