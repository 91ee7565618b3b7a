"""A real terminal for benchmarks: tmux with a server of its own, and clients that are held.

What tmux draws is read from the terminal that its client is attached to, as it comes: nobody asks
again and again, so no look is added to what is measured.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from drawn import Drawn
from ground import Ground

COLUMNS, ROWS = 200, 50


class Screen:
    """A client of tmux on a pty: whatever is drawn on it, with the time at which it came."""

    def __init__(self, attach: list[str], env: dict[str, str], pid: int) -> None:
        self.pid = pid  # of the program inside, not of tmux
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._master = master
        self._client = subprocess.Popen(
            attach, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
        )
        os.close(slave)
        self._came: deque[tuple[float, bytes]] = deque()
        self._drawn = Drawn(COLUMNS, ROWS)
        self._new = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):
            while True:
                select.select([self._master], [], [])
                data = os.read(self._master, 1 << 16)
                while select.select([self._master], [], [], 0)[0]:  # a whole picture, as far as
                    data += os.read(self._master, 1 << 16)  # it is there
                with self._new:
                    self._came.append((time.monotonic(), data))
                    self._new.notify_all()

    def type(self, key: bytes) -> float:
        """When it was typed; what came before has been drawn."""
        self.text()
        at = time.monotonic()
        os.write(self._master, key)
        return at

    def seen(self, is_there: Callable[[Drawn], bool], within_s: float = 30.0) -> float:
        """When it came."""
        for at, drawn in self._drawings(within_s):
            if is_there(drawn):
                return at
        raise AssertionError(f"it never came; what did:\n{self._drawn}")

    def text(self) -> str:
        """What stands there now."""
        self.drawings(0.0)
        return str(self._drawn)

    def drawings(self, seconds: float) -> list[tuple[float, list[str]]]:
        """When something was drawn, and the rows that it changed."""
        return [
            (at, [drawn.row(row) for row in drawn.changed]) for at, drawn in self._drawings(seconds)
        ]

    def _drawings(self, seconds: float) -> Iterator[tuple[float, Drawn]]:
        until_at = time.monotonic() + seconds
        while True:
            with self._new:
                left_s = until_at - time.monotonic()
                if not self._came and left_s > 0:
                    self._new.wait(left_s)
                if not self._came:
                    if left_s > 0:
                        continue
                    return
                at, data = self._came.popleft()
            self._drawn.changed.clear()
            self._drawn.draw(data)
            yield at, self._drawn

    def leave(self) -> None:
        self._client.terminate()
        self._client.wait()
        os.close(self._master)


class Tmux:
    """A server on a socket in the ground's own directory, with nobody's settings."""

    def __init__(self, ground: Ground) -> None:
        self._home = str(ground.home)
        settings = ground.home / "tmux.conf"
        settings.write_text("set -g status off\n", encoding="ascii")  # all rows are the program's
        self._words = ["tmux", "-L", "bench", "-f", str(settings)]
        self._env = {name: text for name, text in ground.env.items() if name != "TMUX"}
        self._env |= {"TERM": "xterm-256color", "COLORTERM": "", "TMUX_TMPDIR": self._home}

    def ask(self, *words: str) -> str:
        done = subprocess.run(
            [*self._words, *words], env=self._env, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def version(self) -> str:
        return self.ask("-V").strip()

    @contextmanager
    def screen(self, name: str, *command: str) -> Iterator[Screen]:
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        self.ask("new-session", "-d", "-s", name, *size, "-c", self._home, "--", *command)
        pid = int(self.ask("list-panes", "-t", name, "-F", "#{pane_pid}"))
        screen = Screen([*self._words, "attach-session", "-t", name], self._env, pid)
        try:
            yield screen
        finally:
            screen.leave()


@contextmanager
def a_tmux(ground: Ground) -> Iterator[Tmux]:
    tmux = Tmux(ground)
    try:
        yield tmux
    finally:
        with suppress(subprocess.CalledProcessError):
            tmux.ask("kill-server")
