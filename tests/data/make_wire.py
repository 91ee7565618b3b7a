"""Wrote tests/data/wire/v1-*.json, once for each time shapes were added. Never write one anew.

`python -m tests.data.make_wire NAME` writes what today's shapes look like, all keys filled in.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from paddock.wire import views as v
from paddock.wire.run_request import HeartbeatRequest, RunRequest, Step

WIRE = Path(__file__).parent / "wire"

RUN = RunRequest(
    name="review",
    command=("./review.sh", "--all"),
    priority="high",
    memory_bytes=1 << 30,
    memory_high_percent=75.0,
    cpu=1.5,
    pids=64,
    timeout_s=90.0,
    soft_timeout_s=30.0,
    complexity="simple",
    repo="/work/shop",
    branch="main",
    shallow=True,
    sparse=("src/web",),
    submodules=True,
    any_size=True,
    ready_marker="tests green",
    role="quality",
    model="large",
    group="coder",
    needs=("implement",),
    retries=2,
    env={"CI": "1"},
    on_end="notify",
    driver="local",
    performance_profile="low",
    strict=True,
)
STEPPED = RunRequest(name="test", steps=(Step(name="unit", command=("pytest",)),), timeout_s="none")
AGENT = RunRequest(
    name="fix", agent="claude", prompt="Mend it", arguments=("--verbose",), program="/opt/claude"
)
THINKING = RunRequest(
    name="think",
    steps=(Step(name="plan", agent="plain", prompt="p", arguments=("echo",)),),
)
TAKEN = v.Taken(id="abcdefgh", name="review", state="queued", place=3, waits_for="2 GiB short")
BREAKER = v.BreakerView(group="coder", state="open", failures=3, retry_in_s=12.5, probe="abcdefgh")

SHAPES: dict[str, Any] = {
    "Problem": v.Problem(code="refused", message="the queue is full"),
    "Submit": v.Submit(
        key="0123456789abcdef",
        runs=(RUN, STEPPED, AGENT, THINKING),
        heartbeats=(HeartbeatRequest(every_s=30.0, run=RunRequest(name="h", command=("true",))),),
        fleet="payments",
        directory="/work",
        environment={"PATH": "/bin"},
        stdin="0123456789abcdef",
        profile="high",
        umask=18,
    ),
    "Submission": v.Submission(runs=(TAKEN,), heartbeats=("h",), notes=("one waits",)),
    "RunView": v.RunView(
        id="abcdefgh",
        name="review",
        state="ended",
        outcome="failed",
        exit_code=7,
        priority="normal",
        group="coder",
        attempt=2,
        memory_bytes=123,
        limit_bytes=456,
        waits_for="memory",
        needs=("bcdefghj",),
        place=1,
        sentence="failed: ended with exit code 7",
        because="ended with exit code 7",
        submitted_at=1.5,
        since_at=2.5,
        frozen="user",
        peak_bytes=789,
        expected_bytes=12,
        signal=9,
    ),
    "StatusView": v.StatusView(
        host=v.HostView(
            total_bytes=10,
            available_bytes=5,
            used_percent=50.0,
            ladder="calm",
            because="x",
            rungs={"queue": 80.0},
        ),
        fleet=v.FleetView(limit_bytes=8, expected_bytes=4, used_bytes=2, max_agents=5),
        counts={"queued": 1},
        queue=v.QueueView(waiting=1, depth=1000, first=(TAKEN,)),
        breakers=(BREAKER,),
        heartbeats=(
            v.HeartbeatView(
                name="h", every_s=30.0, next_in_s=1.0, beats=2, skipped_pressure=0, skipped_busy=1
            ),
        ),
        driver="local",
        trouble="no room left",
    ),
    "MemoryView": v.MemoryView(
        id="abcdefgh",
        name="review",
        group="coder",
        used_bytes=1,
        expected_bytes=2,
        limit_bytes=3,
        soft_limit_bytes=2,
        peak_bytes=2,
        cpu_s=1.5,
        recent_bytes=(1, 2),
    ),
    "LearnedView": v.LearnedView(
        group="coder", attempts=12, typical_bytes=5, peak_bytes=9, limit_bytes=10
    ),
    "BreakerView": BREAKER,
    "StepView": v.StepView(
        step=1,
        name="unit",
        at=1.5,
        attempt=1,
        exit_code=0,
        output_digest="sha256:00ff",
        commit="c0ffee",
    ),
    "MoveView": v.MoveView(at=1.5, state="running", attempt=1, because="started", moves=2),
    "WhyView": v.WhyView(sentence="waits", black_box={"wall": "its own"}),
    "DaemonView": v.DaemonView(
        pid=1,
        keeper_pid=2,
        version="0",
        socket="/s",
        uptime_s=1.5,
        state="/",
        listen="h:1",
        epoch=3,
    ),
    "Happening": v.Happening(
        n=1,
        at=1.5,
        run="abcdefgh",
        name="review",
        state="ended",
        attempt=1,
        because="x",
        outcome="failed",
        exit_code=7,
    ),
    "Kill": v.Kill(runs=("review",), all=True, force=True),
    "Killed": v.Killed(runs=("abcdefgh",), heartbeats=("h",)),
    "Again": v.Again(key="0123456789abcdef", environment={"A": "b"}),
    "SetPriority": v.SetPriority(priority="critical"),
    "ResetBreaker": v.ResetBreaker(group="coder"),
    "Await": v.Await(runs=("review",), timeout_s=5.0),
    "StopDaemon": v.StopDaemon(kill=True),
    "Uploaded": v.Uploaded(token="0123456789abcdef", size=5),
    "DiffView": v.DiffView(
        text="diff --git a/x b/x\n", cut=True, raw=b"diff", path="/w/abcdefgh", branch="paddock/a"
    ),
    "WorkspaceView": v.WorkspaceView(
        run="abcdefgh",
        name="review",
        path="/w/abcdefgh",
        repository="/work/shop",
        branch="paddock/abcdefgh",
        state="idle",
        idle_s=1.5,
        made_at=2.5,
    ),
    "RemoveWorkspace": v.RemoveWorkspace(run="review"),
    "ClearWorkspaces": v.ClearWorkspaces(dry_run=True),
    "ClearedView": v.ClearedView(
        path="/w/abcdefgh",
        run="abcdefgh",
        name="review",
        repository="/work/shop",
        done="kept",
        because="not committed: x",
    ),
}


def main(name: str) -> None:
    path = WIRE / f"{name}.json"
    if path.exists():
        raise SystemExit(f"{path} is history: it is never written again")
    WIRE.mkdir(exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(SHAPES), indent=1) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
