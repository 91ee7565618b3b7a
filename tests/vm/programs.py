"""Small programs that tests start inside a cgroup."""

from __future__ import annotations

import pwd
import sys

STAY = ("/bin/sleep", "300")


def by(user: pwd.struct_passwd, *command: str) -> tuple[str, ...]:
    """The command with this user's rights and no others."""
    ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
    return ("setpriv", *ids, *command)


def _python(code: str, *arguments: object) -> tuple[str, ...]:
    # Without site and the environment Python starts in a third of the time under emulation.
    return (sys.executable, "-I", "-S", "-c", code, *map(str, arguments))


def holding(megabytes: int) -> tuple[str, ...]:
    """Takes memory bit by bit, says so and keeps it."""
    return _python(
        "import sys, time\n"
        "held = [bytearray(b'x' * 2**20) for _ in range(int(sys.argv[1]))]\n"
        "print('holding', flush=True)\n"
        "time.sleep(300)\n",
        megabytes,
    )


def counting(file: object) -> tuple[str, ...]:
    """Writes a growing number, for ever."""
    return (
        *("/bin/sh", "-c"),
        'n=0; while :; do n=$((n + 1)); echo $n >"$0"; done',
        str(file),
    )


def forking(children: int) -> tuple[str, ...]:
    """Forks until it is refused; prints how many it got and why there are no more."""
    return _python(
        "import os, sys, time\n"
        "for number in range(int(sys.argv[1])):\n"
        "    try:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(300)\n"
        "            os._exit(0)\n"
        "    except OSError as refused:\n"
        "        print(number, type(refused).__name__, flush=True)\n"
        "        break\n"
        "time.sleep(300)\n",
        children,
    )
