"""Five real agent programs at once, in rehearsal: paddock and all of them together under 3 GB.

Claude Code, Codex, opencode, Gemini CLI and Aider, as `make test-agents` installs them in .agents,
each on the medium work of the matrix (ten files of a repository of its own edited, tested and
committed), against a stand-in for its model. Everything is counted: daemon, keeper, the programs
with what they start, and the stand-ins. "Held" is what the kernel charges to all of their cgroups
and cannot take back; "resident" adds up every process, so that shared pages count once for each.
The larger of the two is judged, at its highest of looks every 0.2 s. `small` or `large` as an
argument for other work, which is not kept.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from ground import keep

from paddock.bench.ceiling import Ceiling, a_ceiling
from paddock.bench.pen import Pen, a_pen
from paddock.bench.rehearsed import PROGRAMS, rehearsed
from paddock.bench.works import Scene
from paddock.config.layers import load_settings
from paddock.rescue.records import Records, read_home
from paddock.wire.run_request import RunRequest

AGENTS = Path(__file__).parents[1] / ".agents/bin"
MB, GIB = 1_000_000, 1 << 30
MOST_MB = 3000.0
CEILING_BYTES = 12 * GIB  # so that nothing of it touches the machine; half of it is for agents
LOOK_S = 0.2
WITHIN_S = 900.0
PAGE = os.sysconf("SC_PAGESIZE")
CONFIG = "performance_profile: host\nperformance: {max_concurrent_agents: 5}\n"


def request_of(name: str, scene: Scene) -> RunRequest:
    return RunRequest(
        name=name,
        command=scene.command,
        dir=str(scene.directory),
        env=dict(scene.env),
        memory_bytes=GIB,
        timeout_s="none",
    )


def resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * PAGE
    except (OSError, IndexError):
        return 0  # it has just ended


def watch(pen: Pen, ceiling: Ceiling, ids: list[str]) -> dict[str, Any]:
    home = read_home(Records(str(pen.places.state)))
    assert home is not None
    held = resident = at_once = 0
    began = time.monotonic()
    while True:
        held = max(held, ceiling.used_bytes())
        resident = max(resident, sum(map(resident_bytes, home.group.pids())))
        views = pen.views(ids, timeout_s=LOOK_S)
        at_once = max(at_once, sum(view.state == "running" for view in views))
        if all(view.state == "ended" for view in views):
            break
        assert time.monotonic() - began < WITHIN_S, views
    wrong = [f"{view.name}: {view.sentence}" for view in views if view.outcome != "succeeded"]
    assert not wrong, wrong
    return {
        "held_mb": round(held / MB, 1),
        "resident_mb": round(resident / MB, 1),
        "at_once": at_once,
        "seconds": round(time.monotonic() - began, 1),
        "peaks_mb": {view.name: round((view.peak_bytes or 0) / MB, 1) for view in views},
    }


def measure(task: str) -> dict[str, Any]:
    presets = load_settings(Path.cwd()).presets
    works = {name: rehearsed(name, task, presets) for name in PROGRAMS}
    with a_ceiling(CEILING_BYTES) as ceiling, a_pen(CONFIG, ceiling=ceiling) as pen:
        scenes = {}
        for name, work in works.items():
            (pen.home / name).mkdir()
            scenes[name] = work.scene(pen.home / name)
        requests = [request_of(name, scene) for name, scene in scenes.items()]
        found = watch(pen, ceiling, [run.id for run in pen.submit(requests).runs])
        undone = {name: said for name, scene in scenes.items() if (said := scene.wrong())}
    assert not undone, undone
    return found


def main() -> int:
    task = sys.argv[1] if len(sys.argv) > 1 else "medium"
    if not AGENTS.exists():
        print("the programs are not there: run tools/agents (make test-agents does)")
        return 1
    os.environ["PATH"] = f"{AGENTS}:{os.environ['PATH']}"
    found = measure(task)
    for name, peak in found["peaks_mb"].items():
        print(f"{name:>10}: {peak:6.0f} MB at its peak")
    worst = max(found["held_mb"], found["resident_mb"])
    missed = worst >= MOST_MB or found["at_once"] < len(PROGRAMS)
    print(
        f"{found['at_once']} at once in {found['seconds']:.0f} s, with paddock: held "
        f"{found['held_mb']:.0f} MB, resident {found['resident_mb']:.0f} MB "
        f"(below {MOST_MB:.0f} MB){'  MISSED' if missed else ''}"
    )
    if task == "medium":
        keep("five_agents", found)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
