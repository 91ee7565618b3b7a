"""`paddock top` on a fleet of 300 talkers, in a terminal that this script holds (a pty, 200 × 50).

300 agents, a look a second, 10 MB/s of output together; one more writes ten stamped lines a second
and is the one whose log is shown. From key to repaint: `j` and `k` are pressed, and the time is
taken until the row of the next agent is drawn as the chosen one. From write to sight: from the
stamp in a line to its arrival on the terminal. Memory is the peak of the process (VmHWM). Between
the keys a program that only echoes is asked on a terminal of its own: what this machine does to
anybody just now.

Targets (UI-1, LOG-3): key to repaint under 100 ms (95 of 100), memory under 100 MB, write to sight
under 500 ms (99 of 100).
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ground import PADDOCK, Ground, a_ground, cpu_s, keep, verdict

from paddock.wire.run_request import RunRequest

AGENTS, BURST = 300, 33_333
COLUMNS, ROWS = 200, 50
KEYS = 200
KEY_EVERY_S = 0.1
WATCHED_S = 30.0
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
STAMP = re.compile(rb"@(\d+\.\d+) of a log")


ECHO = (
    "import os, tty; tty.setraw(0); os.write(1, b'ready')\nwhile True: os.write(1, os.read(0, 64))"
)


class Screen:
    """A terminal: whatever a program writes to it, with the time at which it came."""

    def __init__(self, ground: Ground, command: list[str]) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = ground.env | {"TERM": "xterm-256color", "COLORTERM": ""}
        self._master, self._command = master, command
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            cwd=ground.home,
            start_new_session=True,
        )
        os.close(slave)
        self._came: list[tuple[float, bytes]] = []
        self._new = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):
            while True:
                select.select([self._master], [], [])
                data = os.read(self._master, 1 << 16)
                with self._new:
                    self._came.append((time.monotonic(), data))
                    self._new.notify_all()

    def type(self, key: bytes) -> float:
        """When it was typed; what came before is forgotten."""
        with self._new:
            self._came.clear()
            os.write(self._master, key)
            return time.monotonic()

    def seen(self, what: bytes, within_s: float = 30.0) -> float:
        """When it came."""
        give_up_at = time.monotonic() + within_s
        with self._new:
            while True:
                whole = b""
                for at, data in self._came:
                    whole += data
                    if what in whole:
                        return at
                left_s = give_up_at - time.monotonic()
                assert left_s > 0, f"{what!r} never came"
                self._new.wait(left_s)

    def taken(self) -> list[tuple[float, bytes]]:
        with self._new:
            came, self._came = self._came, []
        return came

    def end(self) -> None:
        os.write(self._master, b"q")
        try:
            self.process.wait(20 if "top" in self._command else 0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._master)


@contextmanager
def a_screen(ground: Ground, *command: str) -> Iterator[Screen]:
    screen = Screen(ground, list(command))
    try:
        yield screen
    finally:
        screen.end()


def talkers(home: Path) -> list[RunRequest]:
    script = home / "talker.py"
    script.write_text(TALKER, encoding="utf-8")

    def talker(name: str, burst: int, pause_s: float) -> RunRequest:
        words = (sys.executable, "-S", "-E", str(script), str(burst), str(pause_s))
        return RunRequest(name=name, command=words, memory_bytes=16 << 20)

    speaker = talker("a-speaker", 200, 0.1)
    return [speaker, *(talker(f"talker-{n:03}", BURST, 1.0) for n in range(AGENTS))]


def sights(screen: Screen, seconds: float) -> list[float]:
    """Of every stamp, when it was first on the screen."""
    screen.taken()
    time.sleep(seconds)
    delays, known, held = [], set(), b""
    for at, data in screen.taken():
        held = held[-200:] + data
        for stamp in STAMP.findall(held):
            if stamp not in known:
                known.add(stamp)
                delays.append(at - float(stamp))
    return delays[len(delays) // 20 :]  # the first were on the screen before


def keys(screen: Screen, echo: Screen) -> tuple[list[float], list[float]]:
    """To the repaint, and to the echo."""
    delays, bare = [], []
    for n in range(KEYS):
        down = n // 100 % 2 == 0
        at = n % 100 + 1 if down else 99 - n % 100
        name = b"a-speaker" if at == 0 else b"talker-%03d" % (at - 1)
        typed_at = screen.type(b"j" if down else b"k")
        delays.append(screen.seen(b"\x1b[7m" + name) - typed_at)
        time.sleep(KEY_EVERY_S / 2)
        typed_at = echo.type(b"j")
        bare.append(echo.seen(b"j") - typed_at)
        time.sleep(KEY_EVERY_S / 2)
    return delays, bare


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
    bare: list[float]
    memory_mb: float
    cores: float


def look(ground: Ground, running: int) -> Looked:
    with (
        a_screen(ground, *PADDOCK, "top", "--no-mouse") as screen,
        a_screen(ground, sys.executable, "-S", "-c", ECHO) as echo,
    ):
        echo.seen(b"ready")
        screen.seen(b"talker-001", within_s=60.0)
        screen.type(b"s")
        screen.seen(b"Sort by")
        screen.type(b"7g")
        screen.seen(b"\x1b[7ma-speaker")
        time.sleep(WARM_UP_S)
        pid = screen.process.pid
        began, cpu_before = time.monotonic(), cpu_s(pid)
        seen = sights(screen, WATCHED_S)
        cores = (cpu_s(pid) - cpu_before) / (time.monotonic() - began)
        pressed, bare = keys(screen, echo)
        return Looked(running, seen, pressed, bare, peak_mb(pid), cores)


def figures_of(found: Looked) -> dict[str, object]:
    return {
        "agents": found.running,
        "output_mb_a_second": round(AGENTS * BURST / 1e6, 1),
        "key_to_repaint_ms": {
            **_ms(found.pressed, 0.5, 0.95),
            "worst": round(max(found.pressed) * 1000, 1),
        },
        "bare_echo_ms": _ms(found.bare, 0.5, 0.95),
        "write_to_sight_ms": {**_ms(found.seen, 0.5, 0.99), "lines": len(found.seen)},
        "memory_mb": round(found.memory_mb, 1),
        "cores": round(found.cores, 3),
    }


def _ms(values: list[float], *parts: float) -> dict[str, float]:
    return {f"p{part * 100:g}": round(share(values, part) * 1000, 1) for part in parts}


def main() -> int:
    with a_ground(CONFIG) as ground, ground.client() as client:
        client.submit(ground.order(talkers(ground.home)))
        give_up_at = time.monotonic() + 120
        while client.status().counts["running"] <= AGENTS and time.monotonic() < give_up_at:
            time.sleep(0.2)
        found = look(ground, client.status().counts["running"])
    figures = figures_of(found)
    for name, value in figures.items():
        print(f"{name}: {value}")
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
    sys.exit(main())
