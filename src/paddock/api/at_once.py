"""The short way for what is asked most: a small submission of our own client, on our own socket.

uvicorn's cycle, a task, the guard, the table of routes and the way back through a future are a
quarter of what a submission costs the loop. One that comes whole, in the very form our client
gives it, is taken where it arrives and answered where its commit is told. Everything else, and
whatever would have to wait for something else, goes the usual way and gets the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import msgspec

from paddock.core.actions import Refuse
from paddock.supervisor.early import EarlyAnswer
from paddock.wire.views import Submission, Submit

from . import submitting
from .alike import Alike
from .alone import alone
from .answering import declined_by
from .asking import decode
from .desk import Desk
from .direct import Direct
from .problems import raise_any, written
from .receipts import receipt_of_one

T = TypeVar("T")

LARGEST: Final = 64 * 1024
MOST_RUNS: Final = 20
_PLAIN: Final = re.compile(
    rb"POST /v1/runs HTTP/1\.1\r\nHost: localhost\r\nContent-Length: ([0-9]{1,6})\r\n\r\n"
)
_WHERE: Final = {"path": "/v1/runs"}
_encode: Final = msgspec.json.Encoder().encode


class Asker(Protocol):
    """The connection that it came from."""

    def answer(self, data: bytes) -> None:
        """Once, in the loop's thread: all of it, or what did not go directly."""

    def direct(self) -> Direct | None: ...


class AtOnce:
    """One for all connections."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._alike = Alike(desk)

    def take(self, data: bytes, asker: Asker) -> bool:
        """Whether it was taken: then it is answered once, now or when the disk has it."""
        head = _PLAIN.match(data)
        if head is None or len(data) > LARGEST or len(data) - head.end() != int(head[1]):
            return False
        try:
            body = decode(memoryview(data)[head.end() :], Submit)
            return self._submit(body, asker)
        except Exception as error:  # noqa: BLE001 - told to whoever asked, as everywhere
            asker.answer(_problem(error))
            return True

    def _submit(self, body: Submit, asker: Asker) -> bool:
        desk = self._desk
        many = len(body.runs) > MOST_RUNS or body.heartbeats
        if many or any(one.needs for one in body.runs) or body.key in desk.under_way:
            return False
        soon = _Soon(desk, body.key, asker)
        plan = self._alike.plan(body)
        if plan is None:
            return self._submit_another(body, soon)
        [spec] = plan.specs
        with soon:
            soon.make = partial(receipt_of_one, desk, spec.id, spec.name, plan.notes)
            submitting.put(desk, plan, answer=soon)
        return True

    def _submit_another(self, body: Submit, soon: _Soon) -> bool:
        """One that is not like the last one."""
        desk = self._desk
        _now(submitting.check(body))
        looked = submitting.look_here(desk, body)
        if looked is None:
            return False
        with soon:
            plan = _now(submitting.planned(desk, body, looked))
            soon.make = lambda: _now(submitting.answer_now(desk, body, looked, plan))
            submitting.put(desk, plan, answer=soon)
            self._alike.learn(body, looked, plan)
        return True


class _Soon(EarlyAnswer):
    """Takes the place of the future that others wait for; nobody has to be woken for it."""

    make: Callable[[], Submission]
    _whole: bytes | None = None
    _direct: Direct | None = None  # set last: the store's thread looks at it first
    _sent = 0  # bytes, directly

    def __init__(self, desk: Desk, key: str, asker: Asker) -> None:
        self._alone = alone(desk, key)
        self._asker: Asker | None = asker

    def __enter__(self) -> None:
        self._alone.begin()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.abandon()

    def done(self) -> bool:
        return self._asker is None

    def prepare(self) -> None:
        if self._asker is None or self._whole is not None:
            return
        with suppress(Exception):  # it is met again, where it can be told
            self._whole = self._made()
            self._direct = self._asker.direct()

    def give(self) -> None:
        direct, whole = self._direct, self._whole  # once: the loop may let go of it
        if direct is not None and whole is not None:
            self._sent = direct.send(whole)

    def set_result(self, refused: Sequence[Refuse]) -> None:
        try:
            raise_any(refused)
            whole = self._whole or self._made()
        except Exception as error:  # noqa: BLE001 - likewise
            self.set_exception(error)
        else:
            self._say(whole[self._sent :])

    def set_exception(self, error: BaseException) -> None:
        self._say(_problem(error))

    def abandon(self) -> None:
        """It was declined: that is said by others, and the same key may come again."""
        if self._asker is not None:
            self._asker = self._direct = None
            self._alone.end()

    def _made(self) -> bytes:
        return written("200 OK", _encode(self.make()))

    def _say(self, data: bytes) -> None:
        asker = self._asker
        self.abandon()
        if asker is not None:
            asker.answer(data)


def _now(work: Coroutine[Any, Any, T]) -> T:
    """What comes of it. It is so small that it never lets others have their turn."""
    try:
        work.send(None)
    except StopIteration as end:
        found: T = end.value
        return found
    work.close()
    raise RuntimeError("what should be done at once had to wait")


def _problem(error: BaseException) -> bytes:
    declined = declined_by(error, _WHERE)
    return written(f"{declined.status} {declined.code}", declined.body())
