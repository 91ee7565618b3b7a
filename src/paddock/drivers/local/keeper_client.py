"""The daemon's side of the keeper: starts one, speaks with it without waiting, reads its journal.

Made for an event loop: watch `fileno()` for reading, and for writing while `wants_to_write`. `call`
waits, and is for start-up, tools and tests.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from paddock.drivers.local.keeper.journal import read_journal
from paddock.drivers.local.keeper.protocol import (
    JOURNAL_SUFFIX,
    MAX_MESSAGE_BYTES,
    SOCKET_NAME,
    VERSION,
    BadMessage,
    Lines,
    decode,
    encode,
)

KEEPER = Path(__file__).parent / "keeper"
READ_BYTES = 1 << 16
STARTED, ALREADY_THERE = 0, 3
# Of the daemon's environment the keeper needs little, and keeps it for as long as agents live:
# whatever secrets there are in the rest are not for it.
PASSED_ON = frozenset({"HOME", "PATH", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR"})
PASSED_ON_BEGINNINGS = ("LC_", "XDG_", "PYTHON", "LD_")

AT_THE_DOOR_S = 0.3  # the loop waits there, too


class KeeperGone(ConnectionError):
    """The keeper closed the connection, or there is none."""


class KeeperRefused(Exception):
    """The keeper answered no; `code` is for programs."""

    def __init__(self, code: str, text: str, epoch: int | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.epoch = epoch  # the newest that the keeper has seen, if that is why


class Launch:
    """A keeper on its way: for an event loop, which watches `pidfd` and then asks `done`."""

    def __init__(self, directory: Path, **settings: object) -> None:
        command = [sys.executable, "-I", "-S", "-E", "-X", "utf8", str(KEEPER), str(directory)]
        command += [f"{name}={value}" for name, value in settings.items()]
        # Not a pipe: that would have to be watched too.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                command,
                env=environment_of(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
            )
        except OSError:
            self._said.close()
            raise

    def pidfd(self) -> int:
        return os.pidfd_open(self._process.pid)

    def done(self) -> bool:
        """Waits for it. It is listening then; False if there was one already."""
        code = self._process.wait()
        with self._said:
            self._said.seek(0)
            said = self._said.read(4096).decode(errors="replace").strip()
        if code not in (STARTED, ALREADY_THERE):
            raise KeeperGone(f"the keeper did not start: {said or f'exit code {code}'}")
        return code == STARTED


def environment_of(daemon: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in daemon.items()
        if name in PASSED_ON or name.startswith(PASSED_ON_BEGINNINGS)
    }


def launch_keeper(directory: Path, **settings: object) -> bool:
    """A keeper that outlives us; it is listening on return. False if one was there already."""
    return Launch(directory, **settings).done()


class KeeperClient:
    """One connection. Requests go out in order; replies carry their number, events have none."""

    def __init__(self, directory: Path) -> None:
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError as error:  # no descriptor left: whoever asked asks again
            raise KeeperGone(f"no line to a keeper: {error}") from error
        # Before: a keeper that stands still has a full line at its door, and nobody waits for ever.
        self._socket.setblocking(False)  # noqa: FBT003
        try:
            _connect(self._socket, directory)
        except OSError as error:
            self._socket.close()
            raise KeeperGone(f"no keeper listens in {directory}: {error}") from error
        self._lines = Lines()
        self._out = bytearray()
        self._number = 0
        self._replies: dict[int, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    @property
    def wants_to_write(self) -> bool:
        return bool(self._out)

    def ask(self, do: str, **asked: object) -> int:
        """Queue a request and send what can be sent now; its number comes back in the reply."""
        number = self.queue({"do": do, **asked})
        self.flush()
        return number

    def queue(self, asked: dict[str, object], *, answered: bool = True) -> int:
        """To be sent with the next `flush`. Without an answer only a refusal comes back.

        BadMessage for what the keeper would not take: it hangs up on who says too much.
        """
        number = {"id": self._number + 1} if answered else {}
        message = _encoded({**number, **asked})
        if len(message) > MAX_MESSAGE_BYTES:
            raise BadMessage(f"a message of more than {MAX_MESSAGE_BYTES} bytes")
        self._number += 1
        self._out += message
        return self._number

    def flush(self) -> None:
        try:
            while self._out:
                del self._out[: self._socket.send(self._out)]
        except BlockingIOError:
            return
        except OSError as error:
            raise KeeperGone(f"the keeper is gone: {error}") from error

    def receive(self) -> Iterator[dict[str, Any]]:
        """All messages that have come, replies and events; KeeperGone once there are no more."""
        came = False
        while True:
            try:
                data = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                raise KeeperGone(f"the keeper is gone: {error}") from error
            if not data and came:
                return  # the end is told by the next call, when these have been looked at
            if not data:
                raise KeeperGone("the keeper closed the connection")
            came = True
            yield from map(_decode, self._lines.feed(data))
            if len(data) < READ_BYTES:
                return  # all there was; what comes now, the end too, is seen by who watches

    def hello(self, epoch: int | None, **more: object) -> dict[str, Any]:
        """As the daemon of an epoch, or as a visitor (None)."""
        return self.answer_to(self.ask("hello", version=VERSION, epoch=epoch, **more))

    def call(self, do: str, *, within_s: float = 10.0, **asked: object) -> dict[str, Any]:
        """Ask and wait for the answer; events that come meanwhile are kept in `events`."""
        return self.answer_to(self.ask(do, **asked), within_s=within_s)

    def answer_to(self, number: int, *, within_s: float = 10.0) -> dict[str, Any]:
        until = time.monotonic() + within_s
        while number not in self._replies:
            self.pump(until - time.monotonic())
            if time.monotonic() > until:
                raise TimeoutError("the keeper did not answer in time")
        reply = self._replies.pop(number)
        if not reply.get("ok") and "error" in reply:
            raise KeeperRefused(
                str(reply["error"]), str(reply.get("message", "")), _epoch_in(reply)
            )
        return reply

    def attempts(self) -> Iterator[dict[str, Any]]:
        """All that the keeper knows, page by page, in order of birth."""
        after, more = 0, True
        while more:
            page = self.call("list", after=after)
            yield from page["attempts"]
            more = page["more"]
            after = page["attempts"][-1]["number"] if more else after

    def pump(self, wait_s: float = 0.0) -> None:
        """Wait until something can be done, and do it."""
        poll = select.poll()
        poll.register(self, select.POLLIN | (select.POLLOUT if self._out else 0))
        poll.poll(max(0.0, wait_s) * 1000)
        self.flush()
        for message in self.receive():
            if "event" in message:
                self.events.append(message)
            elif isinstance(number := message.get("id"), int):  # else nobody has asked for it
                self._replies[number] = message


def journals(directory: Path) -> dict[Path, list[dict[str, Any]]]:
    """What every keeper of this directory, dead ones too, wrote about endings; header first."""
    found = sorted(directory.glob(f"*{JOURNAL_SUFFIX}"))
    return {path: read_journal(str(path)) for path in found}


def _epoch_in(reply: dict[str, Any]) -> int | None:
    epoch = reply.get("epoch")
    return epoch if isinstance(epoch, int) else None


def _encoded(message: dict[str, object]) -> bytes:
    """As `encode`, in a tenth of its time; what is no UTF-8 is left to that one."""
    try:
        return msgspec.json.encode(message) + b"\n"
    except UnicodeEncodeError:
        return encode(message)


def _decode(line: bytes) -> dict[str, Any]:
    """As `decode`, in a sixth of its time; bytes that are no UTF-8 are left to that one."""
    try:
        return _message(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode(line)


_message = msgspec.json.Decoder(dict[str, Any]).decode


def _connect(sock: socket.socket, directory: Path) -> None:
    """Through the directory's descriptor: a socket's path may be no longer than 107 bytes."""
    handle = os.open(directory, os.O_PATH | os.O_CLOEXEC)
    give_up_at = time.monotonic() + AT_THE_DOOR_S
    try:
        while True:
            try:
                return sock.connect(f"/proc/self/fd/{handle}/{SOCKET_NAME}")
            except BlockingIOError:  # a line at its door, which a keeper that lives lets in
                if time.monotonic() > give_up_at:
                    raise
                time.sleep(0.01)
    finally:
        os.close(handle)
