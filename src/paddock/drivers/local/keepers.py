"""Having a keeper: the first greeting, and another one when it dies. Knows no attempts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from paddock.drivers.local.keeper.members import DEAD_STATES, look_at
from paddock.drivers.local.keeper.output import MoverLock
from paddock.drivers.local.keeper.protocol import MOVER_LOCK_NAME, VERSION
from paddock.drivers.local.keeper_client import (
    KeeperClient,
    KeeperGone,
    KeeperRefused,
    Launch,
    launch_keeper,
)
from paddock.drivers.local.line import KeeperLine, Message, Then

CONNECT_TRIES: Final = 3
# An older daemon lets go as soon as it hears that it is superseded; a dead one already has.
LOCK_WITHIN_S: Final = 3.0
LOCK_AGAIN_S: Final = 0.02
# Keepers that die at once are not started for ever: something on this machine kills them.
MOST_DEATHS: Final = 5
DEATHS_WITHIN_S: Final = 60.0
FIRST_PAUSE_S: Final = 0.25
LONGEST_PAUSE_S: Final = 30.0

# The keeper ends a daemon that says nothing for so long, and starts it anew; under any load that it
# survives it comes to speak more often than that.
SILENT_AT_MOST_S: Final = 30.0
PINGS: Final = 6

log = logging.getLogger("paddock.local")


class DriverTrouble(Exception):
    """There is no keeper, or another daemon has it; says why and what to do.

    `epoch` is the newest that the keeper has seen, where that is why: a greater one is taken.
    """

    def __init__(self, text: str, *, epoch: int | None = None) -> None:
        super().__init__(text)
        self.epoch = epoch


class Listener(Protocol):
    """What the driver hears."""

    def record_came(self, record: Message) -> None: ...

    def keeper_came(self, *, the_same: bool) -> None: ...

    def keeper_died(self, facts: Message) -> None: ...

    def no_keeper(self, reason: str) -> None:
        """None can be started; it is tried again, but what waits for one should not."""

    def superseded(self) -> None:
        """A newer daemon has come: this one must not act any more."""


class Keepers:
    """`restart` tells the keeper how to bring back a daemon that died: argv, env, after_s."""

    def __init__(
        self, directory: Path, *, epoch: int, restart: Mapping[str, object] | None
    ) -> None:
        self.directory = directory
        self.silent_at_most_s = SILENT_AT_MOST_S
        self.facts: Message = {}
        self._epoch = epoch
        self._restart = restart
        self._listener: Listener | None = None
        self._met: KeeperClient | None = None  # greeted, and not yet listened to
        self._line: KeeperLine | None = None
        self._greeting: KeeperLine | None = None
        self._lock: MoverLock | None = None
        self._closed = False
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        self._pause_s = FIRST_PAUSE_S
        self._came_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._ping_timer: asyncio.TimerHandle | None = None
        self._launch_fd = -1
        self._launch: Launch | None = None

    @property
    def pid(self) -> int:
        """0 while there is none."""
        return int(self.facts.get("pid", 0)) if self._line or self._met else 0

    # -- the first greeting ---------------------------------------------------------------

    def connect(self) -> list[Message]:
        """Waits, and needs no event loop. All attempts that the keeper knows."""
        for _ in range(CONNECT_TRIES - 1):
            with contextlib.suppress(KeeperGone):
                return self._meet()
        try:
            return self._meet()
        except KeeperGone as error:
            raise DriverTrouble(str(error)) from None

    def listen(self, listener: Listener) -> None:
        """In the event loop, once: from now on the listener hears what the keeper says."""
        self._listener = listener
        client, self._met = self._met, None
        if client is not None:
            self._line = KeeperLine(client, heard=self._heard, gone=self._gone)
            for event in client.events:
                self._heard(event)
        self._ping()

    def _meet(self) -> list[Message]:
        client = self._reach()
        try:
            self.facts = client.hello(self._epoch, **self._hello())
            self._take_lock()
            records = list(client.attempts())
        except BaseException as error:
            client.close()
            if isinstance(error, KeeperRefused):
                newer = "another daemon has come since: " if error.code == "old_epoch" else ""
                raise DriverTrouble(f"{newer}{error}", epoch=error.epoch) from None
            raise
        self._met = client
        return records

    def _reach(self) -> KeeperClient:
        try:
            return KeeperClient(self.directory)
        except KeeperGone:
            launch_keeper(self.directory, **self._settings())
            return KeeperClient(self.directory)

    def _settings(self) -> dict[str, object]:
        return {"log": self.directory.with_name("keeper.log")}

    def _hello(self) -> Message:
        return {} if self._restart is None else {"restart": dict(self._restart)}

    def _take_lock(self) -> None:
        if self._lock is None:
            self._lock = MoverLock(str(self.directory / MOVER_LOCK_NAME))
        until = time.monotonic() + LOCK_WITHIN_S
        while not self._lock.take():
            if time.monotonic() > until:
                raise DriverTrouble(
                    "an older daemon still moves the agents' output: stop it first (see who holds "
                    f"{self.directory / MOVER_LOCK_NAME})"
                )
            time.sleep(LOCK_AGAIN_S)

    # -- talking --------------------------------------------------------------------------

    def ask(self, do: str, then: Then | None = None, **asked: object) -> bool:
        """False while there is no keeper: nothing was asked. BadMessage: too long to be said."""
        if self._line is None:
            return False
        self._line.ask(do, then, **asked)
        return True

    def say_now(self) -> None:
        """What was asked is with the keeper before anything else is done, even if we die of it."""
        if self._line is not None:
            self._line.say_now()

    def _ping(self) -> None:
        """Who says nothing for long is taken for dead, even if it only stands still."""
        if not self._closed:
            self.ask("ping", within_ms=int(self.silent_at_most_s * 1000))
            wait_s = self.silent_at_most_s / PINGS
            self._ping_timer = asyncio.get_running_loop().call_later(wait_s, self._ping)

    def close(self) -> None:
        self._closed = True
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        if self._met is not None:
            self._met.close()
            self._met = None
        for line in (self._line, self._greeting):
            if line is not None:
                line.close()
        self._line = self._greeting = None
        if self._timer is not None:
            self._timer.cancel()
        self._stop_waiting_for_launch()
        if self._launch is not None:
            with contextlib.suppress(KeeperGone):
                self._launch.done()  # some 50 ms; it serves whoever comes next
            self._launch = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _heard(self, event: Message) -> None:
        assert self._listener is not None
        if event["event"] == "changed":
            self._listener.record_came(event)
        elif event["event"] == "superseded":
            self._superseded()

    def _superseded(self) -> None:
        listener = self._listener
        self.close()
        if listener is not None:
            listener.superseded()

    # -- another keeper -------------------------------------------------------------------

    def _gone(self) -> None:
        """The connection ended. If the keeper itself lives, we come back to it."""
        assert self._listener is not None
        self._line = None
        if self._closed:
            return
        if not is_alive(self.facts):
            log.error("keeper %s is dead; another one is started", self.facts.get("pid"))
            self._listener.keeper_died(self.facts)
            self.facts = {}
        now = time.monotonic()
        self._deaths.append(now)
        if now - self._came_at > DEATHS_WITHIN_S:
            self._pause_s = FIRST_PAUSE_S
        often = len(self._deaths) == MOST_DEATHS
        if often and self._deaths[-1] - self._deaths[0] < DEATHS_WITHIN_S:
            self._despair(f"keepers die: {MOST_DEATHS} in the last minute")
            return
        self._again()

    def _despair(self, reason: str) -> None:
        assert self._listener is not None
        log.error("no keeper for %.2g s: %s", self._pause_s, reason)
        self._listener.no_keeper(reason)
        self._timer = asyncio.get_running_loop().call_later(self._pause_s, self._again)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def _again(self) -> None:
        self._timer = None
        if self._closed:
            return
        try:
            self._greet(KeeperClient(self.directory))
        except KeeperGone:
            self._begin_launch()

    def _begin_launch(self) -> None:
        try:
            self._launch = Launch(self.directory, **self._settings())
            self._launch_fd = self._launch.pidfd()
        except OSError as error:
            self._despair(f"a keeper cannot be started: {error}")
            return
        asyncio.get_running_loop().add_reader(self._launch_fd, self._launched)

    def _launched(self) -> None:
        self._stop_waiting_for_launch()
        launch, self._launch = self._launch, None
        assert launch is not None
        try:
            launch.done()
            self._greet(KeeperClient(self.directory))
        except KeeperGone as error:
            self._despair(str(error))

    def _stop_waiting_for_launch(self) -> None:
        if self._launch_fd >= 0:
            asyncio.get_running_loop().remove_reader(self._launch_fd)
            os.close(self._launch_fd)
            self._launch_fd = -1

    def _greet(self, client: KeeperClient) -> None:
        line = KeeperLine(client, heard=self._heard, gone=self._gone_before_it_answered)
        self._greeting = line
        line.ask(
            "hello",
            lambda reply: self._greeted(line, reply),
            version=VERSION,
            epoch=self._epoch,
            **self._hello(),
        )

    def _greeted(self, line: KeeperLine, reply: Message) -> None:
        assert self._listener is not None
        if not reply.get("ok"):
            self._superseded()
            return
        the_same = all(self.facts.get(name) == reply.get(name) for name in ("pid", "start"))
        if self.facts and not the_same:  # seen last in the middle of dying
            self._listener.keeper_died(self.facts)
        self._greeting = None
        line.on_gone(self._gone)
        self.facts, self._line = reply, line
        self._came_at = time.monotonic()
        self._list(line, 0, lambda: self._came(the_same=the_same))

    def _gone_before_it_answered(self) -> None:
        self._greeting = None
        if not self._closed:
            self._despair("a keeper died before it answered")

    def _came(self, *, the_same: bool) -> None:
        assert self._listener is not None
        self._listener.keeper_came(the_same=the_same)

    def _list(self, line: KeeperLine, after: int, then: Callable[[], None]) -> None:
        """All that it knows, page by page, as if it had just happened."""

        def page(reply: Message) -> None:
            assert self._listener is not None
            for record in reply.get("attempts", []):
                self._listener.record_came(record)
            if reply.get("more"):
                self._list(line, reply["attempts"][-1]["number"], then)
            else:
                then()

        line.ask("list", page, after=after)


def is_alive(facts: Message) -> bool:
    """That very keeper; a zombie that nobody reaps is none."""
    process = look_at(int(facts.get("pid", 0)))
    alive = process is not None and process.start == facts.get("start")
    return alive and process is not None and process.state not in DEAD_STATES
