"""Every request of the API, written once for both clients: each method says what to ask.

`call` and `stream` turn it into a plain method where the client is synchronous, and into a
coroutine or an async iterator where it is not; type checkers see the right one of the two.
"""

from __future__ import annotations

import functools
import uuid
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from paddock.wire import views as v
from paddock.wire.history_views import HistoryView
from paddock.wire.run_request import PriorityWord

from .asks import (
    ANSWER_S,
    LONG_S,
    LOOKING_S,
    QUIET_S,
    Ask,
    Record,
    StreamAsk,
    as_bytes,
    as_happenings,
    as_records,
    packed,
    path_of,
    with_query,
)

P = ParamSpec("P")
T = TypeVar("T")


class SyncSide(ABC):
    """What a synchronous client can do with an ask."""

    @abstractmethod
    def perform(self, ask: Ask[T]) -> T: ...

    @abstractmethod
    def follow(self, ask: StreamAsk[T]) -> Iterator[T]: ...


class AsyncSide(ABC):
    @abstractmethod
    async def perform(self, ask: Ask[T]) -> T: ...

    @abstractmethod
    def follow(self, ask: StreamAsk[T]) -> AsyncIterator[T]: ...


class call(Generic[P, T]):  # noqa: N801 - it is used as a decorator
    def __init__(self, plan: Callable[Concatenate[Any, P], Ask[T]]) -> None:
        self._plan = plan
        functools.update_wrapper(self, plan)  # type: ignore[arg-type]

    @overload
    def __get__(self, client: None, kind: type) -> Self: ...

    @overload
    def __get__(self, client: SyncSide, kind: type | None = None) -> Callable[P, T]: ...

    @overload
    def __get__(
        self, client: AsyncSide, kind: type | None = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, client: Any, kind: type | None = None) -> Any:
        if client is None:
            return self
        return functools.partial(self._do, client)

    def _do(self, client: Any, /, *words: P.args, **named: P.kwargs) -> Any:
        return client.perform(self._plan(client, *words, **named))


class stream(Generic[P, T]):  # noqa: N801 - likewise
    def __init__(self, plan: Callable[Concatenate[Any, P], StreamAsk[T]]) -> None:
        self._plan = plan
        functools.update_wrapper(self, plan)  # type: ignore[arg-type]

    @overload
    def __get__(self, client: None, kind: type) -> Self: ...

    @overload
    def __get__(self, client: SyncSide, kind: type | None = None) -> Callable[P, Iterator[T]]: ...

    @overload
    def __get__(
        self, client: AsyncSide, kind: type | None = None
    ) -> Callable[P, AsyncIterator[T]]: ...

    def __get__(self, client: Any, kind: type | None = None) -> Any:
        if client is None:
            return self
        return functools.partial(self._do, client)

    def _do(self, client: Any, /, *words: P.args, **named: P.kwargs) -> Any:
        return client.follow(self._plan(client, *words, **named))


class Endpoints:
    """{ref} is always an id, a name (the newest of it), or the beginning of an id."""

    @call
    def status(self) -> Ask[v.StatusView]:
        """Host, fleet, queue and breakers."""
        return Ask("GET", "/v1/status", v.StatusView)

    @call
    def daemon(self) -> Ask[v.DaemonView]:
        return Ask("GET", "/v1/daemon", v.DaemonView)

    @call
    def stop_daemon(self, *, kill: bool = False) -> Ask[v.DaemonView]:
        """Ask it to stop; with `kill` its agents end first. It is gone when its pid is."""
        return Ask("POST", "/v1/daemon/stop", v.DaemonView, packed(v.StopDaemon(kill=kill)))

    @call
    def submit(self, order: v.Submit) -> Ask[v.Submission]:
        return Ask("POST", "/v1/runs", v.Submission, packed(order), quiet_s=LOOKING_S)

    @call
    def runs(
        self,
        *,
        state: v.StateWord | None = None,
        all: bool = False,  # noqa: A002 - the word of the command line
        fleet: str | None = None,
        limit: int | None = None,
    ) -> Ask[list[v.RunView]]:
        """Those that have not ended; with `all` the ended too, newest first."""
        path = with_query("/v1/runs", state=state, all=all, fleet=fleet, limit=limit)
        return Ask("GET", path, list[v.RunView])

    @call
    def run(self, ref: str) -> Ask[v.RunView]:
        return Ask("GET", path_of(ref), v.RunView)

    @call
    def steps(self, ref: str) -> Ask[list[v.StepView]]:
        return Ask("GET", path_of(ref, "steps"), list[v.StepView])

    @call
    def story(self, ref: str) -> Ask[list[v.MoveView]]:
        return Ask("GET", path_of(ref, "story"), list[v.MoveView])

    @call
    def why(self, ref: str) -> Ask[v.WhyView]:
        return Ask("GET", path_of(ref, "why"), v.WhyView)

    @stream
    def log(
        self, ref: str, *, from_byte: int = 0, lines: int | None = None, follow: bool = False
    ) -> StreamAsk[bytes]:
        """What a run wrote, as far as it is kept: `log_records` says what is not."""
        begin = {"from": from_byte or None, "lines": lines, "follow": follow}
        return StreamAsk(with_query(path_of(ref, "log"), **begin), as_bytes)

    @stream
    def log_records(
        self,
        ref: str,
        *,
        from_byte: int = 0,
        lines: int | None = None,
        since_at: float | None = None,
        follow: bool = False,
    ) -> StreamAsk[Record]:
        """The same in records of at most 4 KiB, each with its place in the stream. Broken off
        (Failed, `lost`), it goes on from the `end` of the last one."""
        begin = {"from": from_byte or None, "lines": lines, "since": since_at, "follow": follow}
        return StreamAsk(with_query(path_of(ref, "log"), records=True, **begin), as_records)

    @call
    def diff(self, ref: str) -> Ask[v.DiffView]:
        """What a run changed in its workspace."""
        return Ask("GET", path_of(ref, "diff"), v.DiffView, answer_s=LONG_S, quiet_s=None)

    @call
    def retry(
        self,
        ref: str,
        *,
        environment: Mapping[str, str],
        from_start: bool = False,
        otherwise: v.Otherwise | None = None,
        key: str | None = None,
    ) -> Ask[v.Submission]:
        again = v.Again(
            key=key or uuid.uuid4().hex,
            environment=dict(environment),
            from_start=from_start,
            otherwise=otherwise or v.Otherwise(),
        )
        return Ask("POST", path_of(ref, "retry"), v.Submission, packed(again))

    @call
    def priority(self, ref: str, word: PriorityWord) -> Ask[v.RunView]:
        body = packed(v.SetPriority(priority=word))
        return Ask("POST", path_of(ref, "priority"), v.RunView, body)

    @call
    def freeze(self, ref: str) -> Ask[v.RunView]:
        return Ask("POST", path_of(ref, "freeze"), v.RunView)

    @call
    def thaw(self, ref: str) -> Ask[v.RunView]:
        return Ask("POST", path_of(ref, "thaw"), v.RunView)

    @call
    def kill(
        self,
        refs: Sequence[str] = (),
        *,
        all: bool = False,  # noqa: A002 - the word of the command line
        fleet: str | None = None,
        force: bool = False,
    ) -> Ask[v.Killed]:
        body = packed(v.Kill(runs=tuple(refs), fleet=fleet, all=all, force=force))
        return Ask("POST", "/v1/kill", v.Killed, body)

    @call
    def wait(
        self, refs: Sequence[str] = (), *, fleet: str | None = None, timeout_s: float = 25.0
    ) -> Ask[list[v.RunView]]:
        """Until all of them, or of the newest fleet of that name, have ended or the time is over;
        look at their states."""
        body = packed(v.Await(runs=tuple(refs), fleet=fleet, timeout_s=timeout_s))
        within_s, quiet_s = timeout_s + ANSWER_S, timeout_s + QUIET_S
        return Ask("POST", "/v1/wait", list[v.RunView], body, within_s, quiet_s)

    @stream
    def metrics(self) -> StreamAsk[bytes]:
        """All metrics in Prometheus' text format, in pieces."""
        return StreamAsk("/metrics", as_bytes, answer_s=ANSWER_S)

    @call
    def memory(self, *, recent: bool = False) -> Ask[list[v.MemoryView]]:
        """Use of each agent; `recent`: also in each second of the last minute."""
        return Ask("GET", with_query("/v1/memory", recent=recent), list[v.MemoryView])

    @call
    def learned(self) -> Ask[list[v.LearnedView]]:
        return Ask("GET", "/v1/learned", list[v.LearnedView])

    @call
    def history(
        self,
        *,
        since_at: float | None = None,
        until_at: float | None = None,
        step_s: int | None = None,
        groups: bool = False,
        ledger: bool = False,
    ) -> Ask[HistoryView]:
        """Host and fleet over time; a day of it, as fine as is kept, unless said otherwise."""
        when = {"since": since_at, "until": until_at, "step": step_s}
        path = with_query("/v1/history", **when, groups=groups, ledger=ledger)
        return Ask("GET", path, HistoryView, quiet_s=LOOKING_S)

    @call
    def breakers(self) -> Ask[list[v.BreakerView]]:
        return Ask("GET", "/v1/breakers", list[v.BreakerView])

    @call
    def reset_breaker(self, group: str) -> Ask[v.BreakerView]:
        body = packed(v.ResetBreaker(group=group))
        return Ask("POST", "/v1/breakers/reset", v.BreakerView, body)

    @call
    def workspaces(self) -> Ask[list[v.WorkspaceView]]:
        return Ask("GET", "/v1/workspaces", list[v.WorkspaceView], b"", LONG_S, None)

    @call
    def check_workspaces(self) -> Ask[list[v.ClearedView]]:
        """What keeps each from being removed."""
        return Ask("POST", "/v1/workspaces/check", list[v.ClearedView], b"", LONG_S, None)

    @call
    def remove_workspace(self, run: str) -> Ask[v.ClearedView]:
        """Now; what it had not committed is on its branch first."""
        body = packed(v.RemoveWorkspace(run=run))
        return Ask("POST", "/v1/workspaces/remove", v.ClearedView, body, LONG_S, None)

    @call
    def clear_workspaces(
        self, *, dry_run: bool = False, merged: bool = False
    ) -> Ask[list[v.ClearedView]]:
        """Those that were idle for long go, unless something is only there; or what is merged."""
        body = packed(v.ClearWorkspaces(dry_run=dry_run, merged=merged))
        return Ask("POST", "/v1/workspaces/gc", list[v.ClearedView], body, LONG_S, None)

    @call
    def upload_stdin(self, chunks: Iterable[bytes]) -> Ask[v.Uploaded]:
        """What a run is to read; its token goes into `Submit.stdin`."""
        return Ask("POST", "/v1/stdin", v.Uploaded, chunks, None, None)

    @stream
    def events(self, *, after: int | None = None) -> StreamAsk[v.Happening]:
        """What happens from now on, or after that n as far as it is kept; a gap in n is a loss."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        return StreamAsk("/v1/events", as_happenings, headers=headers)
