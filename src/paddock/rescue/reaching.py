"""Whether the daemon answers, found out in two seconds at most and without its client."""

from __future__ import annotations

import os
import socket
import time

ANSWERS, SILENT, ABSENT = "answers", "silent", "absent"
WITHIN_S = 2.0
AGAIN_S = 0.02
LONGEST_PATH = 107  # bytes of a socket's path that the kernel takes
_ASK = b"GET /v1/daemon HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def daemon_is(path: str, *, within_s: float = WITHIN_S) -> str:
    """SILENT: there is one, and it hangs. ABSENT: there is none. One that refuses is just being
    restarted by its keeper, and is given the time. Another user's answers: it will say so."""
    give_up_at = time.monotonic() + within_s
    while True:
        left_s = max(0.001, give_up_at - time.monotonic())
        try:
            return _ask(path, left_s)
        except FileNotFoundError:
            return ABSENT
        except PermissionError:
            return ANSWERS
        except TimeoutError:
            return SILENT
        except OSError:
            if time.monotonic() > give_up_at:
                return ABSENT
        time.sleep(AGAIN_S)


def _ask(path: str, within_s: float) -> str:
    directory = -1
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
        wire.settimeout(within_s)
        try:
            if len(os.fsencode(path)) > LONGEST_PATH:
                folder, _, name = path.rpartition("/")
                directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                path = f"/proc/self/fd/{directory}/{name}"
            wire.connect(path)
        finally:
            if directory >= 0:
                os.close(directory)
        wire.sendall(_ASK)
        if not wire.recv(64):
            raise ConnectionResetError("it hung up")
    return ANSWERS
