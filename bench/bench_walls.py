"""What walls cost and how soon they act: starts, looks and kills, beside bare processes in one run.

Targets: a start with walls, through the keeper's own shim, takes at most twice a bare `Popen`; a
hog is dead within 1 s of touching its wall of 64 MiB (what it takes to get there is the machine's);
15 processes are gone within 0.1 s of a kill, which strikes the cgroup first, as the driver does.

On the machine itself the worst of the rounds is judged; then, where it has no cgroup v2, all of it
once more in an emulated guest that does. There it is the median: its two cores are threads of a
busy host, and one that is put aside for 0.1 s says nothing of a wall.
"""

from __future__ import annotations

import json
import os
import platform
import select
import signal
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ground import from_a_guest, keep, verdict

from paddock.cgroups.group import Group, Walls
from paddock.cgroups.home import Home, find_home
from paddock.cgroups.v1 import SLACK_BYTES
from paddock.cgroups.v2 import Group2
from paddock.core.run import Attempt, Priority
from paddock.drivers.local.containment import Place
from paddock.drivers.local.containment.cgroup import CgroupContainment
from paddock.drivers.local.keeper import shim
from paddock.drivers.local.keeper.protocol import Order

ROUNDS = 60
DEATHS = 9
AGENTS = (300, 1000)
WALLS = Walls(limit_bytes=64 << 20, pids=64)
MANY = 15
REPORT = Path("/run/guest/walls.json")
BUSYBOX = "/run/busybox"

Figures = dict[str, Any]


@contextmanager
def a_home() -> Iterator[Home]:
    home = find_home(f"bench-{uuid.uuid4().hex[:8]}")
    home.group.ensure()
    if home.version == 2:
        Group2(home.group.path.rpartition("/")[0]).hand_down()
    for group in (home.group, home.fleet):
        group.ensure()
        group.hand_down()
    try:
        yield home
    finally:
        home.group.kill()
        while not home.group.remove():
            time.sleep(0.01)


def bare() -> float:
    began = time.perf_counter()
    subprocess.run(["/bin/true"], check=True)
    return time.perf_counter() - began


def begun(place: Place, *command: str) -> subprocess.Popen[bytes]:
    """As the keeper does it: its shim joins, and becomes the agent."""
    env = {"PATH": os.environ["PATH"]}
    order = Order(
        {
            "attempt": "bench",
            "argv": list(command),
            "env": env,
            "cwd": "/",
            "fifo": "/f",
            "segment": "/s",
            "cap_bytes": 0,
            "cgroups": list(place.procs),
            "oom_score_adj": place.oom_score_adj,
        }
    )
    program, words = next(shim.commands(order, "/dev/null"))
    return subprocess.Popen(words, executable=program, env=env, stderr=subprocess.DEVNULL)


def walled(walls: CgroupContainment, n: int) -> float:
    attempt = Attempt(f"r{n}", 1)
    began = time.perf_counter()
    place = walls.prepare(attempt, WALLS, priority=Priority.NORMAL)
    assert begun(place, "/bin/true").wait() == 0
    took = time.perf_counter() - began
    walls.remove(attempt)
    return took


def started(
    walls: CgroupContainment, name: str, *command: str
) -> tuple[Attempt, subprocess.Popen[bytes]]:
    attempt = Attempt(name, 1)
    place = walls.prepare(attempt, WALLS, priority=Priority.NORMAL)
    return attempt, begun(place, *command)


def hog_s(walls: CgroupContainment, group: Group, n: int) -> float:
    """From the first look that finds it at its wall until it is reaped; from its start, if both
    came between two looks or the kernel keeps no peak."""
    since = time.perf_counter()
    attempt, hog = started(
        walls, f"hog{n}", "dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"
    )
    has_touched = False
    while (code := hog.poll()) is None:
        if not has_touched and is_at_its_wall(group):
            has_touched, since = True, time.perf_counter()
        time.sleep(0.0005)
    took = time.perf_counter() - since
    assert code == -signal.SIGKILL and walls.toll(attempt, failed=True).oom, (
        "it did not die at its wall"
    )
    walls.remove(attempt)
    return took


def is_at_its_wall(group: Group) -> bool:
    assert WALLS.limit_bytes is not None
    return (group.peak_bytes() or 0) > WALLS.limit_bytes - SLACK_BYTES


def written_s() -> float:
    """Without any wall, as much as fits before it: what of a hog's time is only the machine's."""
    began = time.perf_counter()
    words = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1"]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def kill_s(walls: CgroupContainment, group: Group, n: int) -> float:
    attempt, main = started(walls, f"many{n}", *crowd())
    while len(walls.pids(attempt)) < MANY:
        time.sleep(0.005)
    with empty(group) as wait_until_it_is:
        began = time.perf_counter()
        walls.kill(attempt)
        wait_until_it_is()
        took = time.perf_counter() - began
    assert not walls.pids(attempt)
    main.wait()
    walls.remove(attempt)
    return took


def crowd() -> list[str]:
    """In the guest of a program that lies in memory: its other files come over 9p, and each that a
    dying process closes is a question to the host. With such, 15 took 72 ms instead of 30."""
    box = f"{BUSYBOX} " if os.environ.get("PADDOCK_GUEST") else ""
    script = f"for i in 1 2 3 4 5 6 7; do {box}setsid {box}sleep 60 & {box}sleep 60 & done; wait"
    return [*box.split(), "sh", "-c", script]


@contextmanager
def empty(group: Group) -> Iterator[Callable[[], None]]:
    """v2 says when the last has left. Who looks again and again instead takes one of two cores
    from those that die, and in emulation a single look takes milliseconds."""
    if not isinstance(group, Group2):
        yield lambda: _look_until_empty(group)
        return
    events = os.open(f"{group.path}/cgroup.events", os.O_RDONLY)
    poll = select.poll()
    poll.register(events, select.POLLPRI)

    def wait() -> None:
        while b"populated 1" in os.pread(events, 100, 0):
            poll.poll(1000)

    try:
        os.pread(events, 100, 0)  # what was before is known: only news wakes us
        yield wait
    finally:
        os.close(events)


def _look_until_empty(group: Group) -> None:
    while group.pids():
        time.sleep(0.0005)


def look_ms(walls: CgroupContainment, many: int) -> float:
    attempts = [Attempt(f"look{n}", 1) for n in range(many)]
    for attempt in attempts:
        walls.prepare(attempt, WALLS, priority=Priority.NORMAL)
    walls.look()
    looks = []
    for _ in range(20):
        began = time.thread_time()
        walls.look()
        looks.append(time.thread_time() - began)
    for attempt in attempts:
        walls.remove(attempt)
    return statistics.median(looks) * 1e3


def measured() -> Figures:
    with a_home() as home:
        walls = CgroupContainment(home)
        leaf = home.fleet.child
        pairs = [(bare(), walled(walls, n)) for n in range(ROUNDS)]
        ratio = statistics.median(other / one for one, other in pairs)
        written = statistics.median(written_s() for _ in range(5))
        hog = [hog_s(walls, leaf(f"hog{n}.1"), n) for n in range(DEATHS)]
        kill = [kill_s(walls, leaf(f"many{n}.1"), n) for n in range(DEATHS)]
        looks = {many: look_ms(walls, many) for many in AGENTS}
        walls.close()
    start_ms = [statistics.median(each) * 1e3 for each in zip(*pairs, strict=True)]
    print(f"cgroup v{home.version}, kernel {platform.release()}, load {os.getloadavg()[0]:.1f}")
    print(f"start          bare {start_ms[0]:.2f} ms, walled {start_ms[1]:.2f} ms")
    print(
        f"hog at 64 MiB  dead {in_ms(hog)} ms after it touched its wall; without one, "
        f"{written * 1e3:.0f} ms for 64 MiB"
    )
    print(f"{MANY} processes   gone after {in_ms(kill)} ms")
    for many, took in looks.items():
        print(f"one look       {took:.2f} ms for {many:,} agents")
    word, counts = ("median", statistics.median) if is_emulated() else ("worst", max)
    figures: Figures = {"version": home.version, "kernel": platform.release(), "judged": word}
    figures |= {"start": round(ratio, 2), "written_s": round(written, 3)}
    figures |= {"hog_s": round(counts(hog), 3), "worst_hog_s": round(max(hog), 3)}
    figures |= {"kill_s": round(counts(kill), 4), "worst_kill_s": round(max(kill), 4)}
    return figures | {f"look_ms_{many}": round(took, 2) for many, took in looks.items()}


def told(figures: Figures) -> int:
    keep(f"walls-v{figures['version']}", figures)
    word = f"v{figures['version']}, {figures['judged']}"
    return verdict(
        [
            (f"2 / (walled start / bare) ({word})", 2 / figures["start"], 1),
            (f"1 s / death of a hog ({word})", 1 / figures["hog_s"], 1),
            (f"0.1 s / end of {MANY} processes ({word})", 0.1 / figures["kill_s"], 1),
        ]
    )


def main() -> int:
    if os.environ.get("PADDOCK_GUEST"):
        REPORT.write_text(json.dumps(measured()), encoding="utf-8")
        return 0
    here = measured()
    code = told(here)
    if here["version"] == 2:
        return code
    found = from_a_guest(__file__, REPORT.name, within_s=900)
    return code if found is None else max(code, told(found))


def in_ms(took: list[float]) -> str:
    return f"{statistics.median(took) * 1e3:.1f} (worst {max(took) * 1e3:.1f})"


def is_emulated() -> bool:
    """A processor that qemu pretends to be, without KVM below it: it says so itself."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        return "QEMU TCG" in file.read()


if __name__ == "__main__":
    sys.exit(main())
