"""How a keeper comes into the world: alone, in a session of its own, with nothing inherited."""

# pathlib would cost 1.4 MB and contextlib 0.6 MB of memory.
# ruff: noqa: PTH102, PTH108, PTH116, PTH123, PTH208, SIM105
from __future__ import annotations

import ctypes
import os
import resource
import socket
import stat
import sys

from .cgroups import leave_agents_cgroups, leave_home
from .children import REPORT_PREFIX, Children
from .connection import hold, listen
from .journal import Journal
from .output import MoverLock
from .protocol import MOVER_LOCK_NAME, SOCKET_NAME, journal_name
from .requests import own_facts
from .server import Server
from .telling import log

PR_SET_CHILD_SUBREAPER = 36
OWN_OOM_SCORE_ADJ = -900
# For clients, the journal and short-lived files; every attempt needs one of its own.
SPARE_DESCRIPTORS = 128


class Busy(Exception):
    """Another keeper serves this directory."""


class Unfit(Exception):
    """The directory is not ours alone."""


def be_born(words: list[str]) -> None:
    shed_marks()
    directory, settings = words[0], dict(word.split("=", 1) for word in words[1:])
    os.closerange(3, 1 << 20)
    os.umask(0o077)
    for trouble in leave_agents_cgroups():
        log.say(trouble)
    listener, lock = claim(directory)
    if "foreground" not in settings:
        detach(settings.get("log", "/dev/null"))
    serve(directory, listener, lock, settings)
    leave_home()


def shed_marks() -> None:
    """Started inside an agent it would carry the agent's mark, in /proc too: only exec sheds it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PADDOCK_")}
    if len(clean) < len(os.environ):
        os.execve(sys.executable, sys.orig_argv, clean)


def claim(directory: str) -> tuple[socket.socket, int]:
    """The directory, for one keeper: the lock says who is alive, not the socket file."""
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    found = os.stat(directory)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise Unfit(f"{directory} must be yours and closed to others (chmod 700)")
    try:
        lock = hold(directory)
    except BlockingIOError:
        raise Busy(f"another keeper serves {directory}") from None
    for name in os.listdir(directory):
        if name.startswith(REPORT_PREFIX):  # of a keeper that was killed
            os.unlink(f"{directory}/{name}")
    # Now, while who started us can still be told what is wrong with it.
    MoverLock(f"{directory}/{MOVER_LOCK_NAME}").close()
    return listen(directory), lock


def detach(path: str) -> None:
    """Two forks: the first may leave a session it leads, the second can never have a terminal."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.setpgid(0, 0)
    os.chdir("/")
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    log.begin(path)


def serve(directory: str, listener: socket.socket, lock: int, settings: dict[str, str]) -> None:
    facts = own_facts()
    facts["subreaper"] = become_subreaper()
    journal = Journal(f"{directory}/{journal_name(facts)}", {"keeper": facts})
    journal.begin()
    children = Children(directory, journal)
    children.usual_nofile = raise_nofile()
    children.most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_DESCRIPTORS
    children.usual_oom_score_adj = shun_the_oom_killer()
    server = Server(directory, listener, children, journal, home=lock)
    server.introduce(facts)
    server.splice_after_s = float(settings.get("splice_after_s", server.splice_after_s))
    server.run()
    if server.is_homeless:
        return  # what lies there is another's
    for name in (SOCKET_NAME, journal_name(facts)):
        try:
            os.unlink(f"{directory}/{name}")
        except OSError:
            pass


def become_subreaper() -> bool:
    """What an agent orphans comes back to the keeper. ctypes costs 0.7 MB, and is the only way."""
    libc = ctypes.CDLL(None)
    return bool(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def raise_nofile() -> int | None:
    """A descriptor an agent: 1,024 are too few. Agents get the old limit back (select breaks)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        return None
    return None if soft == resource.RLIM_INFINITY else soft


def shun_the_oom_killer() -> int | None:
    """May fail without rights; agents get back what was there before."""
    path = "/proc/self/oom_score_adj"
    try:
        with open(path, encoding="ascii") as file:
            before = int(file.read())
        with open(path, "w", encoding="ascii") as file:
            file.write(str(OWN_OOM_SCORE_ADJ))
    except OSError:
        return None
    return before
