"""What a daemon has before it lives: its store, the walls of its agents, a way back from death."""

from __future__ import annotations

import logging
import sys
from typing import Final

from paddock.config.places import Places, plain_environment
from paddock.core.policy import Policy
from paddock.daemon.birthplace import settle
from paddock.daemon.left_notes import keep_ladder
from paddock.drivers.attempts import instance_of
from paddock.drivers.local.containment import Containment
from paddock.drivers.local.containment.choosing import Wanted, choose
from paddock.ports import Store
from paddock.storage.errors import StoreError, StoreInUse
from paddock.storage.sqlite import open_store

REVIVE_AFTER_S: Final = 1.0

log = logging.getLogger("paddock.daemon")


class AlreadyThere(Exception):
    """Another daemon has the store: this one is not needed."""


class CannotStart(Exception):
    """Says why in one line; running agents are unharmed."""


def make_walls(places: Places, policy: Policy, wanted: Wanted) -> Containment:
    """After the store is ours: only one daemon makes itself at home."""
    instance = instance_of(places.state)
    if wanted != "none" and (trouble := settle(instance, policy.wall_bytes)) is not None:
        log.warning("%s", trouble)
    keep_ladder(places, policy)
    walls, why = choose(places.keeper, instance, wall_bytes=policy.wall_bytes, wanted=wanted)
    log.info("agents live in: %s", why)
    return walls


def open_own_store(places: Places) -> Store:
    try:
        return open_store(places.store)
    except StoreInUse as error:
        raise AlreadyThere(f"a daemon is already running: {error}") from None
    except StoreError as error:
        raise CannotStart(str(error)) from None


def how_to_restart(places: Places, listen: str | None) -> dict[str, object]:
    """How the keeper brings back a daemon that died."""
    words = [sys.executable, "-P", "-m", "paddock", "daemon", "run", "--state", str(places.state)]
    words += ["--log", str(places.log)]
    words += ["--listen", listen] if listen else []
    return {"argv": words, "env": plain_environment(), "after_s": REVIVE_AFTER_S}
