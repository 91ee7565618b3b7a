"""A place of its own among systemd's cgroups: a delegated scope.

So that walls can be made in it, and the end of a login does not take the daemon along. Without
systemd, or where it says no, the daemon stays where it was started.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Final

from paddock.cgroups.home import could_hold, outermost
from paddock.cgroups.mounts import UNIFIED, directories_of
from paddock.cgroups.protection import kept_bytes

BOOTED: Final = Path("/run/systemd/system")  # as sd_booted(3) asks
ASK_S: Final = 5.0
LOOK_S: Final = 0.01
MANAGER: Final = (
    "org.freedesktop.systemd1",
    "/org/freedesktop/systemd1",
    "org.freedesktop.systemd1.Manager",
)


def settle(instance: str, wall_bytes: int) -> str | None:
    """Moves this process into a scope where that helps; why not, when it should and could not.
    `wall_bytes`: the fleet's, by which goes what the scope keeps for daemon and keeper."""
    if not BOOTED.is_dir():
        return None
    own = directories_of().get(UNIFIED)
    if own is None or outermost(own) is not None or could_hold(own):
        return None  # no v2; or brought back by the keeper; or a unit with `Delegate=yes`
    asks = shutil.which("busctl")
    if asks is None:
        return "systemd runs here, and busctl to ask it for a scope is not installed"
    scope = f"paddock-{instance[:8]}-{os.getpid()}.scope"
    trouble = _ask(asks, _order(scope))
    if trouble is not None:
        return f"systemd gave no scope: {trouble}"
    if not _moved(scope):
        return f"systemd did not move us into {scope}"
    # Asked for on its own: before 240 systemd knows no such property. Inside the scope all is ours
    # to write, but its own files are systemd's.
    keep = ["SetUnitProperties", "sba(sv)", scope, "true", "1", "MemoryMin", "t"]
    trouble = _ask(asks, [*keep, str(kept_bytes(wall_bytes))])
    return None if trouble is None else f"systemd keeps no memory for {scope}: {trouble}"


def _ask(asks: str, words: list[str]) -> str | None:
    """The manager; what was wrong with that."""
    whose = [] if os.geteuid() == 0 else ["--user"]
    try:
        asked = subprocess.run(
            [asks, *whose, "call", *MANAGER, *words],
            capture_output=True,
            text=True,
            timeout=ASK_S,
            check=False,
            env=_bus_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (asked.stderr.strip() or "it did not say why") if asked.returncode else None


def _order(scope: str) -> list[str]:
    """One transient unit with ourselves in it; gone when its last process is."""
    properties = [
        *("PIDs", "au", "1", str(os.getpid())),
        *("Delegate", "b", "true"),
        *("Description", "s", "paddock, its keeper and its agents"),
        *("CollectMode", "s", "inactive-or-failed"),
    ]
    return ["StartTransientUnit", "ssa(sv)a(sa(sv))", scope, "fail", "4", *properties, "0"]


def _bus_environment() -> dict[str, str]:
    """The daemon's environment may lack what leads to the user's manager."""
    given = dict(os.environ)
    given.setdefault("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}")
    return given


def _moved(scope: str) -> bool:
    give_up_at = time.monotonic() + ASK_S
    while scope not in directories_of().get(UNIFIED, ""):
        if time.monotonic() > give_up_at:
            return False
        time.sleep(LOOK_S)
    return True
