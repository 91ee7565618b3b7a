"""A daemon in memory: what commands do is tested against it, by way of `FakeClient`."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import msgspec

from paddock.cli.connecting import Door
from paddock.client.errors import ClientError, NotFound
from paddock.core.units import GIB, MIB
from paddock.wire.views import (
    BreakerView,
    ClearedView,
    DiffView,
    MoveView,
    Otherwise,
    RunView,
    StepView,
    Submit,
    WorkspaceView,
)
from tests.unit.cli.fake_client import FakeClient

if TYPE_CHECKING:
    from paddock.client import Client


@dataclass(slots=True, kw_only=True)
class Life:
    """What a pretend run does: what it writes, how it ends, and whether it waits to be killed."""

    output: bytes = b""
    outcome: str = "succeeded"
    exit_code: int | None = 0
    because: str = "ended with exit code 0"
    signal: int | None = None
    endless: bool = False
    queued: bool = False
    gone: int = 0  # bytes of its output that are not kept any more
    written_at: float = 0.0


@dataclass(slots=True)
class FakeDaemon:
    """Runs move on by one state each time somebody looks."""

    lives: dict[str, Life] = field(default_factory=dict)
    runs: dict[str, RunView] = field(default_factory=dict)
    submits: list[Submit] = field(default_factory=list)
    killed: list[tuple[str, bool]] = field(default_factory=list)
    otherwise: Otherwise | None = None  # of the last retry
    stdin: bytes = b""
    beats: dict[str, float] = field(default_factory=dict)
    black_box: dict[str, str] | None = None
    moves: list[MoveView] = field(default_factory=list)  # the story of whatever is asked for
    steps_done: list[StepView] = field(default_factory=list)
    open_breakers: list[BreakerView] = field(default_factory=list)
    patch: DiffView = field(default_factory=lambda: DiffView(text=""))  # of whatever is asked for
    workspaces: list[WorkspaceView] = field(default_factory=list)
    merged: list[bool] = field(default_factory=list)
    cleared: list[ClearedView] = field(default_factory=list)
    large: bool = False  # its repositories are: it asks
    dry_runs: list[bool] = field(default_factory=list)
    trouble: str | None = None
    fails_with: ClientError | None = None
    max_agents: int | None = None
    running: bool = True
    starts: int = 0
    looks: int = 0
    chunk: int = 4
    breaks_at: list[int] = field(default_factory=list)  # bytes after which a stream is cut off
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def door(self) -> Door:
        def enter(*, start: bool) -> AbstractContextManager[Client]:
            if not self.running and start:
                self.running = True
                self.starts += 1
            return nullcontext(cast("Client", FakeClient(self)))

        return enter

    def life(self, run: str) -> Life:
        return self.life_of(self.runs[run].name)

    def life_of(self, name: str) -> Life:
        return self.lives.get(name, Life())

    def find(self, ref: str) -> RunView:
        found = [run for run in self.runs.values() if ref in (run.id, run.name)]
        found = found or [run for run in self.runs.values() if run.id.startswith(ref)]
        if not found:
            raise NotFound(f"there is no run {ref!r}", "not_found")
        return found[-1]

    def of_fleet(self, name: str) -> list[RunView]:
        found = self.in_fleet(name)
        if not found:
            raise NotFound(f"there is no fleet {name!r}", "not_found")
        return found

    def in_fleet(self, name: str) -> list[RunView]:
        """For a list, which may be empty."""
        names = {run.name for order in self.submits if order.fleet == name for run in order.runs}
        return [run for run in self.runs.values() if run.name in names]

    def change(self, run: str, **facts: Any) -> None:
        self.runs[run] = msgspec.structs.replace(self.runs[run], **facts)

    def move_on(self, run: str) -> None:
        view, life = self.runs[run], self.life(run)
        if view.state == "queued":
            needed = [self.runs[need] for need in view.needs if need in self.runs]
            if any(need.outcome not in (None, "succeeded") for need in needed):
                text = f"it needs {needed[0].name}, which ended as {needed[0].outcome}"
                self.change(run, state="ended", outcome="skipped", because=text)
            elif all(need.outcome == "succeeded" for need in needed):
                self.change(run, state="running", attempt=1, memory_bytes=64 * MIB, waits_for=None)
        elif view.state == "running" and not life.endless:
            self.end(run)

    def end(self, run: str) -> None:
        if self.runs[run].state == "ended":
            return
        life = self.life(run)
        facts = {"outcome": life.outcome, "exit_code": life.exit_code, "because": life.because}
        if any(killed == run for killed, _ in self.killed):
            facts = {"outcome": "cancelled", "exit_code": None, "because": "asked to stop"}
        self.change(run, state="ended", signal=life.signal, peak_bytes=128 * MIB, **facts)

    def add(self, name: str, **facts: Any) -> RunView:
        run = f"r{len(self.runs) + 1:04}"
        usual: dict[str, Any] = {
            "state": "running",
            "outcome": None,
            "exit_code": None,
            "priority": "normal",
            "group": name,
            "attempt": 1,
            "memory_bytes": 64 * MIB,
            "limit_bytes": GIB,
            "waits_for": None,
            "needs": (),
            "submitted_at": 1_000.0,
            "since_at": 1_001.0,
            "sentence": "running for 3 s",
        }
        self.runs[run] = RunView(id=run, name=name, **{**usual, **facts})
        return self.runs[run]
