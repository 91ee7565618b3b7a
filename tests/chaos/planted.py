"""Would the campaign notice? Defects planted in the daemon, each to be found by some round.

python -m tests.chaos.planted            all of them, with a table; ends with 1 if one is missed
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Final

from tests.kit.striking import ONLY_DAEMON

ROUNDS: Final = "10"  # it ends with the first that is found


@dataclass(frozen=True)
class Planted:
    """`text` runs in every daemon before it begins; `faults` are those of the rounds."""

    about: str
    text: str
    faults: tuple[str, ...]

    @property
    def code(self) -> str:
        return ONLY_DAEMON + "".join(f"    {line}\n" for line in self.text.strip().splitlines())


PLANTED: Final = {
    "lost-byte": Planted(
        "a byte of output is dropped when it is moved",
        """
import os
import paddock.drivers.local.drain as drain
moved = drain.move
drain.move = lambda fifo, segment, most: (os.read(fifo, 1), moved(fifo, segment, most))[1]
""",
        ("flood",),
    ),
    "wrong-code": Planted(
        "exit codes above 1 become 1",
        """
import paddock.drivers.local.telling as telling
told = telling.Telling._exit
def wrong(self, life, record):
    code = record.get("exit_code")
    return told(self, life, record | {"exit_code": min(code, 1) if code else code})
telling.Telling._exit = wrong
""",
        ("hold-pipe",),
    ),
    "no-adoption": Planted(
        "a new daemon does not take up what it finds running",
        """
import paddock.drivers.local.driver as driver
driver.LocalDriver.adopt = lambda self, tell: (self._keepers.listen(self), frozenset())[1]
""",
        ("kill-daemon",),
    ),
    "left-pipes": Planted(
        "pipes of ended attempts stay",
        """
import paddock.drivers.local.driver as driver
driver.remove = lambda path: None
driver.LocalDriver._clear_away = lambda self, life: self._lives.pop(life.attempt, None)
""",
        ("deaf",),
    ),
    "left-cgroups": Planted(
        "cgroups of ended attempts stay",
        """
from paddock.drivers.local.containment.cgroup import CgroupContainment
CgroupContainment.remove = lambda self, attempt: None
""",
        ("fill-pids",),
    ),
    "no-mending": Planted(
        "removed files of the store are not put back",
        """
from paddock.storage.errors import StoreFailed
from paddock.storage.sqlite import SqliteStore
def cannot(self):
    raise StoreFailed(self.path, "planted")
SqliteStore.mend = cannot
SqliteStore.missing = lambda self: False
""",
        ("removed-store",),
    ),
    "careless-clearing": Planted(
        "a workspace with work in it may go",
        """
import paddock.workspaces.clearing as clearing
from paddock.workspaces.keeping import Facts
clearing.gather = lambda record, path: Facts()
clearing._late_work = lambda spot: ""
""",
        ("chmod",),
    ),
    "no-saving": Planted(
        "what was not committed is not saved",
        """
from paddock.workspaces.room import Room
Room.save = lambda self, run, **more: None
""",
        ("leave-locks",),
    ),
    "settings-kill": Planted(
        "a mistake in the settings ends the daemon",
        """
import os
from paddock.daemon.configuration import Configuration
def read(self):
    try:
        self._take()
    except Exception:
        os._exit(1)
Configuration.read_again = read
""",
        ("settings",),
    ),
}


def main() -> int:
    missed = []
    for name, planted in PLANTED.items():
        only = [word for fault in planted.faults for word in ("--only", fault)]
        command = [sys.executable, "-m", "tests.chaos", "--plant", name, "--rounds", ROUNDS, *only]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = [line for line in done.stdout.splitlines() if line.startswith("VIOLATED")]
        told = found[0][:160] if found else f"missed ({done.stdout[-300:]}{done.stderr[-300:]})"
        sys.stdout.write(f"| {name} | {planted.about} | {told} |\n")
        sys.stdout.flush()
        missed += [] if found else [name]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
