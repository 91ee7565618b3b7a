"""The methods of the real client, of a daemon in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from paddock.client.asks import Record
from paddock.client.errors import Failed, NoDaemon, NotFound, Refused
from paddock.core.units import GIB, MIB
from paddock.wire.history_views import HistoryView
from paddock.wire.views import (
    BreakerView,
    ClearedView,
    DaemonView,
    DiffView,
    FleetView,
    Happening,
    HeartbeatView,
    HostView,
    Killed,
    LearnedView,
    MemoryView,
    MoveView,
    Otherwise,
    QueueView,
    RunView,
    StatusView,
    StepView,
    Submission,
    Submit,
    Taken,
    Uploaded,
    WhyView,
    WorkspaceView,
)

if TYPE_CHECKING:
    from tests.unit.cli.fake_daemon import FakeDaemon

PID = 4_999_999  # above what any kernel gives out


class FakeClient:
    """The methods of `paddock.client.Client`; a test holds their signatures against it."""

    def __init__(self, daemon: FakeDaemon) -> None:
        self._there = daemon

    @property
    def _daemon(self) -> FakeDaemon:
        if not self._there.running:
            raise NoDaemon("no daemon answers", "no_daemon")
        if self._there.fails_with is not None:
            raise self._there.fails_with
        return self._there

    def submit(self, order: Submit) -> Submission:
        daemon = self._daemon
        submit = order
        if daemon.large:
            for run in (*submit.runs, *(beat.run for beat in submit.heartbeats)):
                if run.repo and not (run.any_size or run.shallow or run.sparse):
                    raise Refused(f"{run.name}: the working tree has 6 GiB (--yes)", "large")
        daemon.submits.append(submit)
        ids = {
            run.name: f"r{len(daemon.runs) + n:04}" for n, run in enumerate(submit.runs, start=1)
        }
        for run in submit.runs:
            needs = tuple(ids.get(need, need) for need in run.needs)
            waits = bool(needs) or daemon.life_of(run.name).queued
            facts: dict[str, Any] = {"attempt": 0, "memory_bytes": None, "place": 3}
            facts |= {"waits_for": "at place 3 in the queue", "sentence": "at place 3"}
            state = {"state": "queued", **facts} if waits else {}
            daemon.add(run.name, priority=run.priority, needs=needs, **state)
        for beat in submit.heartbeats:
            daemon.beats[beat.run.name] = beat.every_s
        views = list(daemon.runs.values())[-len(submit.runs) :] if submit.runs else []
        taken = tuple(_taken(view) for view in views)
        beats = tuple(beat.run.name for beat in submit.heartbeats)
        return Submission(runs=taken, heartbeats=beats)

    def runs(
        self,
        *,
        state: str | None = None,
        all: bool = False,  # noqa: A002
        fleet: str | None = None,
        limit: int | None = None,
    ) -> tuple[RunView, ...]:
        known = self._daemon.runs.values() if fleet is None else self._daemon.in_fleet(fleet)
        found = [run for run in known if all or run.state != "ended"]
        return tuple([run for run in found if state is None or run.state == state][:limit])

    def run(self, ref: str) -> RunView:
        return self._daemon.find(ref)

    def story(self, ref: str) -> tuple[MoveView, ...]:
        self._daemon.find(ref)
        if self._daemon.moves:
            return tuple(self._daemon.moves)
        return (
            MoveView(at=1_000.0, state="queued", attempt=0, because="submitted"),
            MoveView(at=1_001.0, state="starting", attempt=1, because="it fits"),
            MoveView(at=1_004.5, state="ended", attempt=1, because="ended with exit code 0"),
        )

    def steps(self, ref: str) -> tuple[StepView, ...]:
        self._daemon.find(ref)
        return tuple(self._daemon.steps_done)

    def why(self, ref: str) -> WhyView:
        run = self._daemon.find(ref)
        return WhyView(sentence=run.because or run.sentence, black_box=self._daemon.black_box)

    def log(
        self,
        ref: str,
        *,
        from_byte: int = 0,
        lines: int | None = None,
        follow: bool = False,
    ) -> Iterator[bytes]:
        daemon = self._daemon
        run, life = daemon.find(ref).id, daemon.life(daemon.find(ref).id)
        data = life.output
        if lines is not None:
            data = b"".join(data.splitlines(keepends=True)[-lines:] if lines else [])
        for at in range(from_byte, len(data), daemon.chunk):
            if daemon.breaks_at and at >= daemon.breaks_at[0]:
                daemon.breaks_at.pop(0)
                raise Failed("the daemon broke off", "lost")
            yield data[at : at + daemon.chunk]
        if follow:
            if life.endless:
                daemon.stopping.wait(100)
            daemon.end(run)

    def log_records(
        self,
        ref: str,
        *,
        from_byte: int = 0,
        lines: int | None = None,
        since_at: float | None = None,
        follow: bool = False,
    ) -> Iterator[Record]:
        """What the first `gone` bytes held is not kept; all of the rest came at `written_at`."""
        life = self._daemon.life(self._daemon.find(ref).id)
        at = from_byte
        if since_at is not None and life.written_at < since_at:
            at = len(life.output)
        if lines is not None:
            last = life.output.splitlines(keepends=True)[-lines:] if lines else []
            at = max(at, len(life.output) - len(b"".join(last)))
        if at < life.gone:
            lost = life.output[at : life.gone]
            yield Record(life.gone, b"", len(lost), lost.count(b"\n"))
            at = life.gone
        for chunk in self.log(ref, from_byte=at, follow=follow):
            yield Record(at, chunk)
            at += len(chunk)

    def wait(
        self, refs: Iterable[str] = (), *, fleet: str | None = None, timeout_s: float = 25
    ) -> tuple[RunView, ...]:
        daemon = self._daemon
        daemon.looks += 1
        ids = [daemon.find(ref).id for ref in refs]
        if fleet is not None:
            ids = [run.id for run in daemon.of_fleet(fleet)]
        if timeout_s > 0:
            for run in ids:
                daemon.move_on(run)
        return tuple(daemon.runs[run] for run in ids)

    def kill(
        self,
        refs: Iterable[str] = (),
        *,
        all: bool = False,  # noqa: A002
        fleet: str | None = None,
        force: bool = False,
    ) -> Killed:
        daemon = self._daemon
        if fleet is not None:
            refs = [run.id for run in daemon.of_fleet(fleet)]
        refs = [run.id for run in daemon.runs.values() if run.state != "ended"] if all else refs
        beats = [ref for ref in refs if daemon.beats.pop(ref, None) is not None]
        runs = [daemon.find(ref) for ref in refs if ref not in beats]
        runs = [run for run in runs if run.state != "ended"]  # that is no mistake
        daemon.killed += [(run.id, force) for run in runs]
        for run in runs:
            if run.state == "queued" or daemon.life(run.id).endless:
                daemon.end(run.id)
        daemon.stopping.set()
        return Killed(runs=tuple(run.id for run in runs), heartbeats=tuple(beats))

    def retry(
        self,
        ref: str,
        *,
        environment: Mapping[str, str],
        from_start: bool = False,
        otherwise: Otherwise | None = None,
        key: str | None = None,
    ) -> Submission:
        self._daemon.otherwise = otherwise
        old = self._daemon.find(ref)
        if old.state != "ended":
            raise Refused(f"{old.name} has not ended", "refused")
        del environment, from_start, key
        return Submission(runs=(_taken(self._daemon.add(old.name)),))

    def priority(self, ref: str, word: str) -> RunView:
        run = self._daemon.find(ref).id
        self._daemon.change(run, priority=word)
        return self._daemon.runs[run]

    def freeze(self, ref: str) -> RunView:
        run = self._daemon.find(ref).id
        self._daemon.change(run, frozen="user", sentence="running, frozen by user")
        return self._daemon.runs[run]

    def thaw(self, ref: str) -> RunView:
        run = self._daemon.find(ref).id
        self._daemon.change(run, frozen=None, sentence="running for 9 s")
        return self._daemon.runs[run]

    def status(self) -> StatusView:
        daemon = self._daemon
        counts: dict[str, int] = {}
        for run in daemon.runs.values():
            word = run.outcome or run.state
            counts[word] = counts.get(word, 0) + 1
        beats = tuple(
            HeartbeatView(
                name=name,
                every_s=every,
                next_in_s=2.0,
                beats=4,
                skipped_pressure=1,
                skipped_busy=0,
            )
            for name, every in daemon.beats.items()
        )
        return StatusView(
            host=HostView(
                total_bytes=16 * GIB, available_bytes=12 * GIB, used_percent=25.0, ladder="calm"
            ),
            fleet=FleetView(
                limit_bytes=8 * GIB,
                expected_bytes=2 * GIB,
                used_bytes=GIB,
                max_agents=daemon.max_agents,
                max_agents_by="by the profile medium" if daemon.max_agents else "",
            ),
            counts=counts,
            queue=QueueView(waiting=counts.get("queued", 0), depth=1000),
            breakers=tuple(daemon.open_breakers),
            heartbeats=beats,
            driver="local",
            trouble=daemon.trouble,
        )

    def metrics(self) -> Iterator[bytes]:
        yield b"# TYPE paddock_runs_waiting gauge\n"
        yield b"paddock_runs_waiting 0\n"

    def memory(self, *, recent: bool = False) -> tuple[MemoryView, ...]:  # noqa: ARG002
        return tuple(
            MemoryView(
                id=run.id,
                name=run.name,
                group=run.group,
                used_bytes=run.memory_bytes or 0,
                expected_bytes=256 * MIB,
                limit_bytes=run.limit_bytes,
                peak_bytes=128 * MIB,
            )
            for run in self._daemon.runs.values()
            if run.state == "running"
        )

    def history(
        self,
        *,
        since_at: float | None = None,
        until_at: float | None = None,
        step_s: int | None = None,
        groups: bool = False,
        ledger: bool = False,
    ) -> HistoryView:
        """Of a daemon that has seen nothing yet."""
        del groups, ledger
        return HistoryView(since_at=since_at or 0.0, until_at=until_at or 0.0, step_s=step_s or 60)

    def learned(self) -> tuple[LearnedView, ...]:
        groups = {run.group: run.name for run in self._daemon.runs.values()}
        return tuple(
            LearnedView(
                group=group,
                attempts=3,
                typical_bytes=None,
                peak_bytes=128 * MIB,
                limit_bytes=GIB,
                last_run=name,
                histogram=((64 * MIB, 90.0), (128 * MIB, 10.0)),
            )
            for group, name in groups.items()
        )

    def diff(self, ref: str) -> DiffView:
        self._daemon.find(ref)
        return self._daemon.patch

    def workspaces(self) -> list[WorkspaceView]:
        return self._daemon.workspaces

    def check_workspaces(self) -> list[ClearedView]:
        return self._daemon.cleared

    def clear_workspaces(self, *, dry_run: bool = False, merged: bool = False) -> list[ClearedView]:
        self._daemon.merged.append(merged)
        self._daemon.dry_runs.append(dry_run)
        return self._daemon.cleared

    def remove_workspace(self, run: str) -> ClearedView:
        self._daemon.find(run)
        return ClearedView(path="/w", run=run, done="removed", because="all is committed")

    def breakers(self) -> tuple[BreakerView, ...]:
        return tuple(self._daemon.open_breakers)

    def reset_breaker(self, group: str) -> BreakerView:
        known = [breaker.group for breaker in self._daemon.open_breakers]
        if group not in known:
            raise NotFound(f"there is no group {group!r}", "not_found")
        return BreakerView(group=group, state="closed")

    def upload_stdin(self, chunks: Iterable[bytes]) -> Uploaded:
        self._daemon.stdin = b"".join(chunks)
        return Uploaded(token="upload-1", size=len(self._there.stdin))

    def daemon(self) -> DaemonView:
        return self._view()

    def stop_daemon(self, *, kill: bool = False) -> DaemonView:
        view = self._view()
        if kill:
            self.kill(all=True)
        self._daemon.running = False
        return view

    def events(self, *, after: int | None = None) -> Iterator[Happening]:
        del after
        return iter(())

    def _view(self) -> DaemonView:
        assert self._daemon is not None
        return DaemonView(
            pid=PID,
            keeper_pid=4712,
            version="0.1.0",
            socket="/run/paddock.sock",
            uptime_s=75.0,
        )


def _taken(view: RunView) -> Taken:
    return Taken(
        id=view.id, name=view.name, state=view.state, place=view.place, waits_for=view.waits_for
    )
