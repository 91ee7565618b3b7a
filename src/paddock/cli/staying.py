"""Asking a daemon over a long time: a restart of it in between is waited out, not reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .connecting import Door

if TYPE_CHECKING:
    from paddock.client import Client, Record
    from paddock.client.errors import ClientError
    from paddock.wire.views import RunView

Answer = TypeVar("Answer")

# The keeper restarts a dead daemon at once. After GRACE_S we start one ourselves; a daemon that
# was stopped on purpose has taken its socket with it, and is given up on instead.
GRACE_S: Final = 2.0
PATIENCE_S: Final = 15.0
PAUSE_S: Final = 0.1
ASK_S: Final = 25.0


class Staying:
    """One conversation, for one thread. Ask only what may be asked twice."""

    def __init__(self, door: Door, *, stopped: Callable[[], bool] | None = None) -> None:
        self._door = door
        self._stopped = stopped or was_stopped
        self._client: Client | None = None
        self._open = ExitStack()

    def __enter__(self) -> Staying:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()

    def ask(self, question: Callable[[Client], Answer]) -> Answer:
        """The answer, after as many tries as a restart takes."""
        from paddock.client.errors import ClientError

        patience = _Patience()
        while True:
            try:
                return question(self._connected(patience))
            except ClientError as error:
                self._gone(error)
                patience.wait(error)

    def records(
        self, run: str, *, lines: int | None = None, since_at: float | None = None
    ) -> Iterator[Record]:
        """All that a run writes until it has ended, each byte once; or only the last of it."""
        from paddock.client.errors import ClientError

        at: int | None = None  # how far it was read; before that, where to begin is theirs to find
        patience = _Patience()
        while True:
            before = at
            begin: dict[str, Any] = {"lines": lines, "since_at": since_at}
            if at is not None:
                begin = {"from_byte": at}
            try:
                client = self._connected(patience)
                for record in client.log_records(run, follow=True, **begin):
                    at = record.end
                    patience = _Patience()
                    yield record
            except ClientError as error:
                self._gone(error)
                patience.wait(error)
                continue
            # A daemon that leaves may end the stream in good order before the run has ended.
            if at == before and self.ended(run):
                return

    def ended(self, run: str, *, within_s: float = ASK_S) -> bool:
        return self.view(run, within_s=within_s).state == "ended"

    def view(self, run: str, *, within_s: float = 0.0) -> RunView:
        return self.ask(lambda client: client.wait((run,), timeout_s=within_s)[0])

    def hang_up(self) -> None:
        self._client = None
        self._open.close()

    def _connected(self, patience: _Patience) -> Client:
        if self._client is None:
            start = patience.may_start and not self._stopped()
            self._client = self._open.enter_context(self._door(start=start))
        return self._client

    def _gone(self, error: ClientError) -> None:
        """Only for a daemon that went away; whatever it said itself is an answer."""
        from paddock.client.errors import NoDaemon

        if not isinstance(error, NoDaemon) and error.code != "lost":
            raise error
        self.hang_up()


class _Patience:
    """Begins with the first time that nobody answered."""

    def __init__(self) -> None:
        self._since: float | None = None

    @property
    def may_start(self) -> bool:
        return self._since is not None and time.monotonic() - self._since > GRACE_S

    def wait(self, error: Exception) -> None:
        """A moment; or the error, once there were enough of them."""
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since > PATIENCE_S:
            raise error
        time.sleep(PAUSE_S)


def was_stopped() -> bool:
    from paddock.config.places import find_places

    return not find_places().socket.exists()
