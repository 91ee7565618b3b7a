"""`paddock top` on a fleet of 300 talkers, in a real terminal: tmux, 200 × 50, with a client on it.

300 agents, a look a second, 10 MB/s of output together; one more writes ten stamped lines a second
and is the one whose log is shown. From key to repaint: `j` and `k` are typed into the terminal that
tmux is attached to, and the time is taken until the row of the next agent is drawn there as the
chosen one. From write to sight: from the stamp in a line to its arrival on that terminal. Memory is
the peak of the process (VmHWM). Between the keys a program that only echoes is asked in another
session of the same tmux: what this machine, and tmux, do to anybody just now. The keys are pressed
once more beside a flood, an agent that writes as much as it is let: that is told and not judged.

Targets (UI-1, LOG-3): key to repaint under 100 ms (95 of 100), memory under 100 MB, write to sight
under 500 ms (99 of 100). `--quick` looks for some seconds and keeps nothing.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from drawn import Drawn
from ground import PADDOCK, Ground, a_ground, cpu_s, keep, verdict
from terminal import Screen, a_tmux

from paddock.client import Client
from paddock.wire.run_request import RunRequest

AGENTS, BURST = 300, 33_333
KEYS, WATCHED_S = 200, 30.0
QUICK_KEYS, QUICK_S = 40, 5.0
KEY_EVERY_S = 0.1
WARM_UP_S = 5.0
CONFIG = """\
performance_profile: host
sandbox:
  containment: none
queue:
  admission: learned
"""
# The last line of each burst says when it was written: that is the one which is on the screen then.
TALKER = """\
import os, sys, time
burst, pause_s = int(sys.argv[1]), float(sys.argv[2])
line = b"%s of a log that says what an agent usually says in a line\\n"
filler = (line % b"and so on") * (burst // 60 + 1)
while True:
    last = line % (b"@%.6f" % time.monotonic())
    os.write(1, filler[: max(0, burst - len(last))].rpartition(b"\\n")[0] + b"\\n" + last)
    time.sleep(pause_s)
"""
STAMP = re.compile(r"@(\d+\.\d+) of a log")
ECHO = (
    "import os, tty; tty.setraw(0); os.write(1, b'ready')\nwhile True: os.write(1, os.read(0, 64))"
)


def talkers(home: Path) -> list[RunRequest]:
    script = home / "talker.py"
    script.write_text(TALKER, encoding="utf-8")

    def talker(name: str, burst: int, pause_s: float) -> RunRequest:
        words = (sys.executable, "-S", "-E", str(script), str(burst), str(pause_s))
        return RunRequest(name=name, command=words, memory_bytes=16 << 20)

    speaker = talker("a-speaker", 200, 0.1)
    return [speaker, *(talker(f"talker-{n:03}", BURST, 1.0) for n in range(AGENTS))]


def sights(screen: Screen, seconds: float, written: Callable[[], str]) -> list[float]:
    """Of every stamp, when it was first on the screen."""
    before = set(STAMP.findall(screen.text()))
    first: dict[str, float] = {}
    for at, rows in screen.drawings(seconds):
        for stamp in STAMP.findall("\n".join(rows)):
            first.setdefault(stamp, at)
    # tmux draws digit by digit: one that was half drawn was never written.
    real = set(STAMP.findall(written())) - before
    return [at - float(stamp) for stamp, at in first.items() if stamp in real]


def has_chosen(name: str) -> Callable[[Drawn], bool]:
    return lambda drawn: any(row.startswith(name) for row in drawn.chosen())


def keys(screen: Screen, echo: Screen, count: int) -> tuple[list[float], list[float]]:
    """To the repaint, and to the echo: down by half of them, and up again."""
    delays, bare, half = [], [], count // 2
    for n in range(2 * half):
        down = n < half
        at = n + 1 if down else 2 * half - 1 - n
        name = "a-speaker" if at == 0 else f"talker-{at - 1:03}"
        typed_at = screen.type(b"j" if down else b"k")
        delays.append(screen.seen(has_chosen(name)) - typed_at)
        time.sleep(KEY_EVERY_S / 2)
        sign = "xo"[n % 2]
        typed_at = echo.type(f"\r{sign}".encode())
        bare.append(echo.seen(lambda drawn, sign=sign: drawn.row(0)[0] == sign) - typed_at)
        time.sleep(KEY_EVERY_S / 2)
    return delays, bare


def keys_beside_a_flood(
    client: Client, ground: Ground, screen: Screen, *, echo: Screen, count: int
) -> list[float]:
    # Last in the list by its name: the others stay where they are.
    flood = RunRequest(name="zz-flood", command=("yes", "x" * 99), memory_bytes=16 << 20)
    [loud] = client.submit(ground.order([flood])).runs
    while client.run(loud.id).state != "running":
        time.sleep(0.1)
    time.sleep(WARM_UP_S)
    return keys(screen, echo, count)[0]


def said_by(client: Client, name: str) -> str:
    return b"".join(client.log(name)).decode()


def peak_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no memory")


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


@dataclass(frozen=True)
class Looked:
    """What was found while somebody looked, in seconds."""

    running: int
    seen: list[float]
    pressed: list[float]
    flooded: list[float]
    bare: list[float]
    memory_mb: float
    cores: float
    tmux: str


def look(ground: Ground, client: Client, *, watched_s: float, count: int) -> Looked:
    running = client.status().counts["running"]
    with (
        a_tmux(ground) as tmux,
        tmux.screen("top", *PADDOCK, "top", "--no-mouse") as screen,
        tmux.screen("echo", sys.executable, "-S", "-c", ECHO) as echo,
    ):
        echo.seen(lambda drawn: "ready" in drawn)
        screen.seen(lambda drawn: "talker-001" in drawn, within_s=60.0)
        screen.type(b"s")
        screen.seen(lambda drawn: "Sort by" in drawn)
        screen.type(b"7g")
        screen.seen(has_chosen("a-speaker"))
        time.sleep(WARM_UP_S)
        began, cpu_before = time.monotonic(), cpu_s(screen.pid)
        seen = sights(screen, watched_s, lambda: said_by(client, "a-speaker"))
        cores = (cpu_s(screen.pid) - cpu_before) / (time.monotonic() - began)
        pressed, bare = keys(screen, echo, count)
        flooded = keys_beside_a_flood(client, ground, screen, echo=echo, count=count)
        memory_mb = peak_mb(screen.pid)
        return Looked(running, seen, pressed, flooded, bare, memory_mb, cores, tmux.version())


def figures_of(found: Looked) -> dict[str, object]:
    return {
        "terminal": found.tmux,
        "agents": found.running,
        "output_mb_a_second": round(AGENTS * BURST / 1e6, 1),
        "key_to_repaint_ms": _keys_ms(found.pressed),
        "beside_a_flood_ms": _keys_ms(found.flooded),
        "bare_echo_ms": _ms(found.bare, 0.5, 0.95),
        "write_to_sight_ms": {**_ms(found.seen, 0.5, 0.99), "lines": len(found.seen)},
        "memory_mb": round(found.memory_mb, 1),
        "cores": round(found.cores, 3),
    }


def _keys_ms(values: list[float]) -> dict[str, float]:
    return {**_ms(values, 0.5, 0.95), "worst": round(max(values) * 1000, 1)}


def _ms(values: list[float], *parts: float) -> dict[str, float]:
    return {f"p{part * 100:g}": round(share(values, part) * 1000, 1) for part in parts}


def main(*, quick: bool) -> int:
    seconds, count = (QUICK_S, QUICK_KEYS) if quick else (WATCHED_S, KEYS)
    with a_ground(CONFIG) as ground, ground.client() as client:
        client.submit(ground.order(talkers(ground.home)))
        give_up_at = time.monotonic() + 120
        while client.status().counts["running"] <= AGENTS and time.monotonic() < give_up_at:
            time.sleep(0.2)
        found = look(ground, client, watched_s=seconds, count=count)
    figures = figures_of(found)
    for name, value in figures.items():
        print(f"{name}: {value}")
    if not quick:
        keep("tui", figures)
    return verdict(
        [
            ("agents at work", found.running, AGENTS),
            ("100 ms / key to repaint, 95 of 100", 0.1 / share(found.pressed, 0.95), 1.0),
            ("500 ms / write to sight, 99 of 100", 0.5 / share(found.seen, 0.99), 1.0),
            ("100 MB / memory of top", 100 / found.memory_mb, 1.0),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(quick="--quick" in sys.argv[1:]))
