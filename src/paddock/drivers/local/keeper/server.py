"""The keeper's loop: clients, endings, output and timers, on one epoll and one thread."""

from __future__ import annotations

import os
import select
import signal
import socket
import time

from .connection import Connection, hold, listen, same_user
from .liveness import Liveness
from .output import MoverLock, make_directories
from .protocol import LOCK_NAME, MOVER_LOCK_NAME, SOCKET_NAME, BadMessage, Refused, decode
from .requests import Requests
from .telling import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .children import Attempt, Children
    from .journal import Journal
    from .protocol import Message

MAX_CONNECTIONS = 64
# After a failed move (disk full), and the cap: looked at again this often, not spun on.
RETRY_S = 1.0
PAUSE_AFTER_A_BUG_S = 0.05  # one that comes back at every turn must not take a core
# Reads from a connection that ends. A socket holds some 200 KB; whoever still talks after 64 MB
# is alive, and is cut off.
MOST_LAST_WORDS = 1000


class Server:
    """Owns every descriptor that is watched. What requests mean is in `Requests`.

    `home` is the lock of the directory, which is ours as long as that is.
    """

    def __init__(
        self,
        directory: str,
        listener: socket.socket,
        children: Children,
        journal: Journal,
        *,
        home: int,
    ) -> None:
        self.splice_after_s = 1.0
        self._children = children
        self._journal = journal
        self._directory = directory
        self._listener = listener
        self._home = home
        self._connections: dict[int, Connection] = {}
        self._had_daemon = False
        self._requests = Requests(children, self)
        self._liveness = Liveness()
        self._lock = MoverLock(f"{directory}/{MOVER_LOCK_NAME}")
        self._moving = False
        self._outlets: dict[int, Attempt] = {}
        self._move_at: float | None = time.monotonic() + self.splice_after_s
        self._term = False
        self.is_homeless = False
        self._home_at = 0.0
        self._epoll = select.epoll()
        self._wake = self._watch_signals()
        for descriptor in (self._wake, listener.fileno()):
            self._epoll.register(descriptor, select.EPOLLIN)

    def introduce(self, facts: Message) -> None:
        self._requests.facts = facts

    def run(self) -> None:
        while not self._is_over():
            try:
                self._turn()
            except Exception as error:  # noqa: BLE001  the parent of every agent outlives its bugs
                log.bug(error)
                time.sleep(PAUSE_AFTER_A_BUG_S)

    def _turn(self) -> None:
        for descriptor, _ in self._epoll.poll(self._wait_s()):
            if descriptor == self._wake:
                self._woken()
            elif descriptor == self._listener.fileno():
                self._accept()
            elif descriptor in self._connections:
                self._converse(self._connections[descriptor])
            elif descriptor in self._outlets:
                self._move(self._outlets[descriptor])
        self._tick()

    # What requests ask of the server.

    def daemons(self) -> list[Connection]:
        return [c for c in self._connections.values() if c.epoch is not None and c.is_open]

    def yield_output(self) -> None:
        """Before a daemon is greeted: from now on it moves the bytes, and nobody else."""
        self._had_daemon = True
        self._move_at = None
        if self._moving:
            for descriptor in self._outlets:
                self._epoll.unregister(descriptor)
            self._outlets.clear()
            self._lock.leave()
            self._moving = False

    def let_go(self, attempt: Attempt) -> None:
        """Of its FIFO, which is about to be closed."""
        if attempt.outlet is not None and attempt.outlet.fifo_fd in self._outlets:
            del self._outlets[attempt.outlet.fifo_fd]
            self._epoll.unregister(attempt.outlet.fifo_fd)

    def hear_out(self, connection: Connection) -> None:
        """Everything an older daemon has said up to now, then the end."""
        for _ in range(MOST_LAST_WORDS):
            while connection.heard:
                self._answer(connection, connection.heard.popleft(), superseded=True)
            if not connection.is_open or not connection.receive():
                break
        connection.send({"event": "superseded"})
        connection.close()

    # Signals.

    def _watch_signals(self) -> int:
        """SIGTERM counts only while there is no attempt: with the keeper their exits are lost."""
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        return reader

    def _woken(self) -> None:
        try:
            woken_by = os.read(self._wake, 4096)
        except BlockingIOError:
            return
        if signal.SIGTERM in woken_by and not self._children.attempts:
            self._term = True
        self._reap()

    def _reap(self) -> None:
        for pid in self._children.reap():
            self._requests.revival.reaped(pid)

    # Clients.

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        if not same_user(sock):
            sock.close()
            return
        if len(self._connections) >= MAX_CONNECTIONS:
            self._make_room()
        connection = self._connections[sock.fileno()] = Connection(sock)
        connection.watched = select.EPOLLIN
        self._epoll.register(sock.fileno(), connection.watched)

    def _make_room(self) -> None:
        """A newcomer may be the next daemon: the one of the others that has been silent longest
        goes, first of those that never said hello."""
        idle = [one for one in self._connections.items() if one[1].epoch is None]
        descriptor, oldest = min(idle, key=lambda one: (one[1].greeted, one[1].spoke_at))
        del self._connections[descriptor]
        oldest.close()

    def _converse(self, connection: Connection) -> None:
        """As far as it reads our answers; the rest of what it said waits until it does."""
        connection.flush()
        if connection.is_open and connection.wants_to_read and not connection.heard:
            connection.receive()
        while connection.heard and connection.is_open and connection.wants_to_read:
            self._answer(connection, connection.heard.popleft())

    def _answer(self, connection: Connection, line: bytes, *, superseded: bool = False) -> None:
        asked: Message = {}
        try:
            asked = decode(line)
            reply = self._requests.handle(connection, asked, superseded=superseded)
        except BadMessage as error:
            reply = {"ok": False, "error": "bad_message", "message": str(error)}
        except Refused as refusal:
            reply = {"ok": False, "error": refusal.code, "message": str(refusal), **refusal.facts}
        except Exception as error:  # noqa: BLE001  one request, not the keeper
            log.bug(error)
            reply = {"ok": False, "error": "internal", "message": repr(error)}
        # Who asks without a number wants to hear only what went wrong.
        if reply is not None and ("id" in asked or not reply["ok"]):
            connection.send({"id": asked.get("id"), **reply})

    # Between events.

    def _tick(self) -> None:
        now = time.monotonic()
        self._children.look_at_starting(now)
        if self._children.is_in_doubt(now):
            self._reap()
        self._requests.go_on(now)
        daemons = self.daemons()
        if self._requests.revival.is_on:  # who would not be brought back is not ended
            self._liveness.look(now, daemons)
        for attempt in self._children.changed:
            for daemon in daemons:
                daemon.send({"event": "changed", **attempt.record()})
        self._children.changed.clear()
        self._sweep()
        if not self.daemons():
            self._alone(now)
        elif now >= self._home_at:
            self._home_at = now + RETRY_S
            self._settle_again()

    def _sweep(self) -> None:
        """Closed connections go; the others are watched for what they can do."""
        for descriptor, connection in list(self._connections.items()):
            connection.flush()
            if not connection.is_open:
                # A closed descriptor has left the epoll by itself.
                del self._connections[descriptor]
                continue
            reading = select.EPOLLIN if connection.wants_to_read else 0
            writing = select.EPOLLOUT if connection.wants_to_write else 0
            if connection.watched != reading | writing:
                connection.watched = reading | writing
                self._epoll.modify(descriptor, connection.watched)
        if self._had_daemon and not self.daemons():
            self._had_daemon = False
            now = time.monotonic()
            self._move_at = now + self.splice_after_s
            self._requests.revival.daemon_went(now)

    def _alone(self, now: float) -> None:
        self._journal.sync()
        self._requests.revival.act(now)
        if self._move_at is None or now < self._move_at:
            return
        self.is_homeless = not self._is_home()
        if not self.is_homeless:
            self._listen_again()
        self._moving = self._moving or self._lock.take()
        self._move_at = now + RETRY_S
        if self._moving:
            for attempt in self._children.attempts.values():
                self._watch_output(attempt)

    def _settle_again(self) -> None:
        """Somebody removed the state directory under a daemon. It makes its own part of it anew,
        and we ours: the next daemon must find us, and no second keeper."""
        if os.access(f"{self._directory}/{SOCKET_NAME}", os.F_OK):
            return
        try:
            make_directories(self._directory, 2)
        except OSError:
            return
        if self._is_home():
            self._listen_again()

    def _is_home(self) -> bool:
        """Whether the directory is ours still. Where nobody holds its lock, we do from now on:
        another keeper, in the same place, would end with our socket, or we with its."""
        try:
            found = os.stat(f"{self._directory}/{LOCK_NAME}")  # noqa: PTH116  costs 1.4 MB
            if os.path.samestat(found, os.fstat(self._home)):
                return True
        except OSError:
            pass
        try:
            home = hold(self._directory)
        except (FileNotFoundError, BlockingIOError):  # it is gone, or another's
            return False
        except OSError:
            return not self.is_homeless
        os.close(self._home)
        self._home = home
        return True

    def _listen_again(self) -> None:
        """Cleaners of /tmp and /run take sockets too; the next daemon would find nobody."""
        if os.access(f"{self._directory}/{SOCKET_NAME}", os.F_OK):
            return
        try:
            listener = listen(self._directory)
        except OSError:
            return
        self._listener.close()
        self._listener = listener
        self._epoll.register(listener.fileno(), select.EPOLLIN)
        self._children.write_again()

    def _watch_output(self, attempt: Attempt) -> None:
        outlet = attempt.outlet
        if outlet is not None and outlet.fifo_fd not in self._outlets and outlet.has_room():
            self._outlets[outlet.fifo_fd] = attempt
            self._epoll.register(outlet.fifo_fd, select.EPOLLIN)

    def _move(self, attempt: Attempt) -> None:
        assert attempt.outlet is not None
        try:
            has_room = attempt.outlet.move()
        except OSError:
            has_room = False
        if not has_room:  # not watched until there is: a full pipe would wake the loop for ever
            self.let_go(attempt)

    def _wait_s(self) -> float | None:
        now = time.monotonic()
        waits = [self._children.look_in_s(now), self._requests.wait_s(now)]
        daemons = self.daemons()
        if daemons and self._requests.revival.is_on:
            waits.append(self._liveness.wait_s(now, daemons))
        if not daemons:
            waits.append(None if self._move_at is None else max(0.0, self._move_at - now))
            waits.append(self._requests.revival.wait_s(now))
        return min((wait for wait in waits if wait is not None), default=None)

    def _is_over(self) -> bool:
        if self.is_homeless:  # nobody will find us again, to ask how anything ended
            return not any(attempt.is_alive for attempt in self._children.attempts.values())
        return (self._term or self._requests.retiring) and not self._children.attempts
