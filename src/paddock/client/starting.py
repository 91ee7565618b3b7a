"""Starting the daemon when there is none, as tmux does. Many who start one at once start one.

Not one each, of which all but the first leave again: 24 of them took 24 times the memory and 6 s,
and one that came late found the place free after a stop, and was a daemon that nobody wanted.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from paddock.config.places import Places, missing_home, plain_environment
from paddock.config.state_files import FILE, wrong_with

from .errors import ClientError, NoDaemon
from .reaching import reachable
from .synchronous import Client

WITHIN_S: Final = 60.0  # while it lives: on a machine that is nearly lost a start takes its time
LOOK_S: Final = 0.01
AFTER_ITS_END_S: Final = 1.0
LAST_WORDS: Final = 4096


def ensure_daemon(places: Places) -> None:
    """Returns when a daemon answers. NoDaemon says what kept it from starting."""
    if _listens(places):
        return
    began_at = _make_state(places)
    with _turn(places) as ours:
        if not ours:
            return
        life = _start(places)
        try:
            _await(places, life, began_at)
        finally:
            os.close(life)


@contextmanager
def _turn(places: Places) -> Iterator[bool]:
    """To start one. False: somebody else has done it meanwhile.

    By a lock on the directory itself, which ends with its holder; where there is no such thing
    (some network file systems) everybody starts one, and the store's own lock decides.
    """
    try:
        directory = os.open(places.state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(places, error) from None
    give_up_at = time.monotonic() + WITHIN_S
    try:
        while not _is_taken(directory):
            if _answers(places):
                break
            if time.monotonic() > give_up_at:
                other = "another command has been starting one for a minute"
                raise NoDaemon(f"no daemon answers, and {other} (see {places.log})")
            time.sleep(LOOK_S)
        yield not _listens(places)
    finally:
        os.close(directory)


def _is_taken(directory: int) -> bool:
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _await(places: Places, life: int, began_at: int) -> None:
    give_up_at = time.monotonic() + WITHIN_S
    while not _answers(places):
        ended, _, _ = select.select([life], [], [], LOOK_S)
        if ended:
            time.sleep(LOOK_S)
            # One that found another daemon in its place has ended, and that other one will answer.
            if not _is_held(places):
                give_up_at = min(give_up_at, time.monotonic() + AFTER_ITS_END_S)
        if time.monotonic() > give_up_at:
            raise NoDaemon(f"no daemon could be started: {_last_words(places, began_at)}")


def _is_held(places: Places) -> bool:
    """Whether some daemon has the store, though it may not answer yet."""
    try:
        lock = os.open(f"{places.store}.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _listens(places: Places) -> bool:
    """Somebody holds the socket; whether it answers is for the first request to see."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as attempt:
        attempt.settimeout(2.0)
        try:
            with reachable(places.socket) as name:
                attempt.connect(name)
        except PermissionError as error:
            whose = "belongs to another user, or the way there is closed to you"
            message = f"the daemon at {places.socket} {whose} ({error.strerror})"
            raise NoDaemon(message) from None
        except OSError:
            return False
    return True


def _answers(places: Places) -> bool:
    if not _listens(places):
        return False
    try:
        with Client(places) as client:
            client.daemon()
    except ClientError:
        return False
    return True


def _make_state(places: Places) -> int:
    """Where the daemon's log ends before it begins."""
    if (problem := missing_home(places.state)) is not None:
        raise NoDaemon(problem)
    try:
        places.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        return places.log.stat().st_size if places.log.exists() else 0
    except OSError as error:
        raise _unusable(places, error) from None


def _unusable(places: Places, error: OSError) -> NoDaemon:
    return NoDaemon(f"the state directory {places.state} cannot be used: {error.strerror}")


def _start(places: Places) -> int:
    """In a session of its own, with nothing of ours open but the pipe that is returned: it reads
    as ended when the daemon has. The marks of an agent stay with us."""
    import subprocess

    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    state, log_file = str(places.state), str(places.log)
    words = [sys.executable, "-P", "-m", "paddock", "daemon", "run", "--state", state]
    try:
        log = os.open(places.log, flags, 0o600)
    except OSError as error:
        unwritable = f"the log {places.log} cannot be written: {error.strerror}"
        problem = wrong_with(places.log, FILE, through_links=False)
        raise NoDaemon(problem or unwritable) from None
    life, held = os.pipe2(os.O_CLOEXEC)
    try:
        subprocess.run(
            # Through a shell that leaves at once, so that the daemon is nobody's child: started
            # inside an agent, it would otherwise be counted and killed as part of it.
            ["/bin/sh", "-c", '"$@" &', "paddock", *words, "--log", log_file],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=plain_environment(),
            start_new_session=True,
            pass_fds=(held,),
            check=False,
        )
    except OSError as error:
        os.close(life)
        raise NoDaemon(f"/bin/sh cannot be started: {error.strerror}") from None
    finally:
        os.close(log)
        os.close(held)
    return life


def _last_words(places: Places, began_at: int) -> str:
    try:
        with places.log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(began_at if began_at <= end else 0, end - LAST_WORDS))
            lines = file.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        lines = []
    said = lines[-1].removeprefix("paddock: ") if lines else "it said nothing"
    return f"{said} (see {places.log})"
