"""Kills of the daemon that hit a chosen moment: it ends itself, by SIGKILL, in the middle of it.

Planted from outside (`sitecustomize` of a house's own), so that paddock has no switch for it. A
point is armed by a file; the daemon that comes by first takes the file away, notes it and is gone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.kit.house import House

POINTS: Final = {
    "start": "a start is remembered, and the driver has not heard of it",
    "started": "the driver has asked the keeper for a start, and nobody has answered",
    "exit": "an exit was heard, and is not remembered",
    "commit": "all rows of a step are written, and nothing is committed",
    "kept": "a step is remembered, and nothing of it is done",
    "next-step": "a step's checkpoint is remembered, and the next step is not started",
    "log": "output was moved to its file, and is not accounted for",
    "recovery": "attempts of the last daemon were found, and are not taken up",
}
ONLY_DAEMON: Final = 'import sys\nif "daemon" in sys.orig_argv and "run" in sys.orig_argv:\n'
_CODE: Final = """
import functools, os, signal
import paddock.drivers.local.drain as drain
import paddock.storage.writing as writing
import paddock.supervisor.recovery as recovery
from paddock.drivers.local.driver import LocalDriver
from paddock.drivers.local.telling import Telling
from paddock.supervisor.hands import Hands
from paddock.supervisor.loop import Supervisor

def strike(point):
    try:
        os.unlink({armed!r} + point)
    except OSError:
        return
    with open({struck!r}, "a", encoding="ascii") as notes:
        notes.write(point + "\\n")
    os.kill(os.getpid(), signal.SIGKILL)

def before(owner, name, point, when=lambda *args: True):
    real = getattr(owner, name)
    @functools.wraps(real)
    def struck(*args, **more):
        if when(*args):
            strike(point)
        return real(*args, **more)
    setattr(owner, name, struck)

def after(owner, name, point):
    real = getattr(owner, name)
    @functools.wraps(real)
    def struck(*args, **more):
        done = real(*args, **more)
        strike(point)
        return done
    setattr(owner, name, struck)

before(LocalDriver, "start", "start")
after(LocalDriver, "start", "started")
before(Telling, "_exit", "exit")
after(writing, "write", "commit")
before(Supervisor, "kept", "kept")
before(Hands, "_start", "next-step", when=lambda hands, action, *_: (action.step or 0) > 0)
after(drain, "move", "log")
before(recovery, "_go_on", "recovery")
"""


def code(house: House) -> str:
    """For the `sitecustomize` of that house."""
    text = _CODE.format(armed=os.fspath(_armed(house, "")), struck=os.fspath(_struck(house)))
    return ONLY_DAEMON + "".join(f"    {line}\n" for line in text.strip().splitlines())


def plant(house: House) -> None:
    """Where nothing else is planted; before its daemon is started."""
    (house.home / "sitecustomize.py").write_text(code(house), encoding="ascii")
    house.env["PYTHONPATH"] = os.fspath(house.home)


def arm(house: House, point: str) -> None:
    assert point in POINTS
    _armed(house, point).touch()


def disarm(house: House, point: str) -> None:
    _armed(house, point).unlink(missing_ok=True)


def is_armed(house: House, point: str) -> bool:
    """Until it strikes."""
    return _armed(house, point).exists()


def struck(house: House) -> list[str]:
    """The points at which a daemon was killed, in their order."""
    notes = _struck(house)
    return notes.read_text(encoding="ascii").split() if notes.exists() else []


def _armed(house: House, point: str) -> Path:
    return house.home / f"armed-{point}"


def _struck(house: House) -> Path:
    return house.home / "struck"
