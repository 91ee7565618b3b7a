"""What may be asked of the keeper: by the newest daemon, and by visitors of the same user."""

# pathlib would cost 1.4 MB and contextlib 0.6 MB of memory.
# ruff: noqa: PTH123
from __future__ import annotations

import os
import signal
import time
from itertools import islice

from .children import STARTING
from .killing import Killing, Killings
from .members import Census, Process, harm_of, look_at, send, send_each
from .protocol import VERSION, Order, Refused, attempt_of, identities, number, path_of, stop_of
from .revival import Revival

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .children import Attempt, Children
    from .connection import Connection
    from .protocol import Message
    from .server import Server

# Visitors (rescue, doctor) come without a daemon: they may look and stop, not start or forget.
FOR_VISITORS = ("list", "members", "signal", "kill_all")
# What an older daemon decided and may never have remembered: the kill is noted with its reason.
FOR_THE_DEAD = ("forget", "kill_all")
LIST_AT_MOST = 1000  # some 500 KB, far below what a message may have
LATEST_LOOK_MS = 1000  # after a kill whose asker has struck already
POLITE = (signal.SIGUSR1, signal.SIGUSR2)
# A daemon's epoch is one more than its last, or than ours: whoever says much more is none, and
# would lock out all that come after it.
EPOCH_STEP = 1_000_000


class Requests:
    """Each `_do_…` answers at once, but `kill_all`, which answers from `go_on`."""

    def __init__(self, children: Children, server: Server) -> None:
        self.revival = Revival()
        self.retiring = False
        self.facts: Message = {}
        self._epoch = -1
        self._children = children
        self._server = server
        self._killings = Killings(children)
        self._census: Census | None = None

    def handle(self, connection: Connection, asked: Message, *, superseded: bool) -> Message | None:
        do = asked.get("do")
        if superseded and do not in FOR_THE_DEAD:
            # A spawn that a dead daemon had sent must not start beside the new daemon's.
            raise Refused("superseded", "a newer daemon has come")
        if do == "hello":
            return self._hello(connection, asked)
        if not connection.greeted:
            raise Refused("hello_first", "say hello first")
        action = getattr(self, f"_do_{do}", None) if isinstance(do, str) else None
        if action is None:
            raise Refused("unknown_request", f"this keeper (version {VERSION}) does not know it")
        if connection.epoch is None and do not in FOR_VISITORS:
            raise Refused("not_a_daemon", f"{do} needs a hello with an epoch")
        answer: Message | None = action(connection, asked)
        return answer

    def _hello(self, connection: Connection, asked: Message) -> Message:
        number(asked, "version", low=1)
        if asked.get("epoch") is not None:
            self._greet_daemon(connection, number(asked, "epoch", low=0), asked)
        connection.greeted = True
        return {"ok": True, "epoch": self._epoch, "restarts": self.revival.tries, **self.facts}

    def _greet_daemon(self, connection: Connection, epoch: int, asked: Message) -> None:
        """The same epoch again is the same daemon, come back after its connection was lost."""
        if epoch < self._epoch:
            text = f"a daemon of epoch {self._epoch} has been here"
            raise Refused("old_epoch", text, epoch=self._epoch)
        if 0 <= self._epoch < epoch - EPOCH_STEP:
            text = f"{epoch} is no epoch after {self._epoch}"
            raise Refused("far_epoch", text, epoch=self._epoch)
        for older in self._server.daemons():
            if older is not connection:
                self._server.hear_out(older)
        restart = asked.get("restart")
        if restart is not None and not isinstance(restart, dict):
            raise Refused("bad_request", "restart: an object is wanted")
        self.revival.learn(restart, time.monotonic(), pid=connection.peer[0])
        self._server.yield_output()
        self._epoch = connection.epoch = epoch
        self.retiring = False  # by a daemon that left it with something unforgotten

    def _do_spawn(self, _: Connection, asked: Message) -> Message:
        order = Order(asked)
        if self.retiring and order.attempt not in self._children.attempts:
            raise Refused("retiring", "this keeper leaves when its last attempt is forgotten")
        return {"ok": True, **self._children.spawn(order).record()}

    def _do_list(self, _: Connection, asked: Message) -> Message:
        """A page at a time, in order of birth, from after a number."""
        after = number(asked, "after", low=0, default=0)
        known = self._children.attempts.values()
        page = list(islice((one for one in known if one.number > after), LIST_AT_MOST))
        more = bool(page) and page[-1].number < max(one.number for one in known)
        return {"ok": True, "attempts": [one.record() for one in page], "more": more}

    def _do_forget(self, _: Connection, asked: Message) -> Message:
        """Drained and committed. What is not known is forgotten already."""
        attempt = self._children.attempts.get(attempt_of(asked))
        if attempt is None:
            return {"ok": True}
        if attempt.is_alive:
            raise Refused("alive", "an attempt that has not ended is not forgotten")
        self._server.let_go(attempt)
        self._children.forget(attempt.name)
        return {"ok": True}

    def _do_segment(self, _: Connection, asked: Message) -> Message:
        """Before the daemon writes into a new segment: where the keeper would go on."""
        attempt = self._known(asked)
        if attempt.outlet is not None:
            path, cap_bytes = path_of(asked, "segment"), number(asked, "cap_bytes", low=0)
            attempt.outlet.segment, attempt.outlet.cap_bytes = path, cap_bytes
        return {"ok": True}

    def _do_members(self, _: Connection, asked: Message) -> Message:
        members = self._members(self._known(asked))
        return {"ok": True, "members": [[one.pid, one.start] for one in members]}

    def _do_signal(self, _: Connection, asked: Message) -> Message:
        attempt = self._known(asked)
        what = number(asked, "signal", low=1, high=64)
        to = asked.get("to", "main")
        if attempt.state == STARTING and what in POLITE:
            raise Refused("starting", "the shim may not yet ignore it")
        if to != "main" and what in POLITE:
            raise Refused("bad_request", "the user signals are for the main process only")
        if to == "main":
            return self._signal_main(attempt, what)
        if to not in ("session", "members"):
            raise Refused("bad_request", "to: main, session or members")
        members = self._members(attempt)
        if to == "session":
            members = [one for one in members if one.session == attempt.pid]
        return {"ok": True, "sent": send_each(members, what)}

    def _signal_main(self, attempt: Attempt, what: int) -> Message:
        harm = harm_of(attempt.pid, what) if attempt.is_alive and what in POLITE else None
        if harm is not None:
            return {"ok": True, "sent": 0, "why": harm}
        alive = attempt.is_alive and send(attempt.pid, attempt.start, what)
        return {"ok": True, "sent": int(alive)}

    def _do_kill_all(self, connection: Connection, asked: Message) -> None:
        attempt, why = self._known(asked), stop_of(asked)
        if why is not None and why != attempt.stop:
            self._children.note_stop(attempt, why)
        after_s = number(asked, "after_ms", low=0, high=LATEST_LOOK_MS, default=0) / 1000
        killing = Killing(attempt.name, connection, asked.get("id"), after_s=after_s)
        killing.also = identities(asked, "also")
        self._killings.add(killing)

    def _do_ping(self, connection: Connection, asked: Message) -> Message:
        """From now on silence for that long means that this daemon does nothing any more."""
        connection.silent_at_most_s = number(asked, "within_ms", low=1, high=1 << 32) / 1000
        return {"ok": True}

    def _do_leave(self, _: Connection, __: Message) -> Message:
        self.revival.off()
        return {"ok": True}

    def _do_retire(self, _: Connection, __: Message) -> Message:
        self.retiring = True
        return {"ok": True}

    def _known(self, asked: Message) -> Attempt:
        attempt = self._children.attempts.get(attempt_of(asked))
        if attempt is None:
            raise Refused("unknown_attempt", "no such attempt here")
        return attempt

    def _members(self, attempt: Attempt) -> list[Process]:
        """One look for all that is asked in one turn: 300 agents are told to end in one breath."""
        if self._census is None:
            self._census = self._children.census()
        return self._census.members.get(attempt.name, [])

    def wait_s(self, now: float) -> float | None:
        return self._killings.wait_s(now)

    def go_on(self, now: float) -> None:
        self._census = None
        self._killings.go_on(now)


def own_facts() -> Message:
    """Who the keeper is, beyond a bare pid."""
    process = look_at(os.getpid())
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    return {
        "version": VERSION,
        "pid": os.getpid(),
        "start": process and process.start,
        "boot": boot,
    }
