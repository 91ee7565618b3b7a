"""The connection to a keeper as the event loop sees it: asks without waiting, hears answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from paddock.drivers.local.keeper_client import KeeperClient, KeeperGone

Message = dict[str, Any]
Then = Callable[[Message], None]


class KeeperLine:
    """`heard` gets what nobody asked for, `gone` is called once, when the last word was heard."""

    def __init__(self, client: KeeperClient, *, heard: Then, gone: Callable[[], None]) -> None:
        self._client = client
        self._heard = heard
        self._gone = gone
        self._then: dict[int, Then] = {}
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._writing = False
        self._flushing = False
        self._loop.add_reader(client.fileno(), self._readable)

    def ask(self, do: str, then: Then | None = None, **asked: object) -> None:
        """Raises BadMessage for what is too long to be said."""
        if not self._open:
            return
        number = self._client.queue({"do": do, **asked}, answered=then is not None)
        if then is not None:
            self._then[number] = then
        if not self._flushing:  # once for all that is asked in this turn of the loop
            self._flushing = True
            self._loop.call_soon(self._flush)

    def say_now(self) -> None:
        """What was asked goes out before the caller's next step, as far as the keeper takes it. A
        line that turns out to be dead is dealt with in a turn of its own."""
        if self._open:
            with contextlib.suppress(KeeperGone):
                self._client.flush()

    def _flush(self) -> None:
        self._flushing = False
        if self._open:
            self._writable()

    def on_gone(self, gone: Callable[[], None]) -> None:
        self._gone = gone

    def close(self) -> None:
        """What was asked is said, as far as the keeper takes it now."""
        if self._open:
            self._open = False
            with contextlib.suppress(KeeperGone):
                self._client.flush()
            self._loop.remove_reader(self._client.fileno())
            self._loop.remove_writer(self._client.fileno())
            self._client.close()

    def _watch_writing(self) -> None:
        if self._client.wants_to_write and not self._writing:
            self._loop.add_writer(self._client.fileno(), self._writable)
        elif self._writing and not self._client.wants_to_write:
            self._loop.remove_writer(self._client.fileno())
        self._writing = self._client.wants_to_write

    def _writable(self) -> None:
        try:
            self._client.flush()
        except KeeperGone:
            self._readable()  # its last words first
            return
        self._watch_writing()

    def _readable(self) -> None:
        if not self._open:
            return
        messages: list[Message] = []
        over = False
        try:
            messages.extend(self._client.receive())
        except (KeeperGone, ValueError):  # gone, or no longer to be understood
            over = True
        for message in messages:
            self._handle(message)
        if over and self._open:
            self.close()
            self._gone()

    def _handle(self, message: Message) -> None:
        """One message that cannot be handled must not cost those after it."""
        try:
            if "event" in message:
                self._heard(message)
            elif (then := self._then.pop(message.get("id", 0), None)) is not None:
                then(message)
        except Exception as error:  # noqa: BLE001
            told = {"message": "a word of the keeper could not be handled", "exception": error}
            self._loop.call_exception_handler(told)
