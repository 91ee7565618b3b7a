"""Before the daemon lives: its directory, its log, its place among the machine's processes."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import stat
from pathlib import Path
from typing import Final

from paddock.config.places import Places, missing_home
from paddock.config.state_files import what_is_wrong

LOG_BYTES: Final = 5_000_000
LOGS_KEPT: Final = 2
OOM_SCORE_ADJ: Final = -900  # the last the kernel would kill, as far as rights allow


class NotFit(Exception):
    """The state directory cannot be used; says why and what to do."""


def be_born(places: Places, *, log_file: Path | None, verbose: bool) -> None:
    os.umask(0o077)
    os.chdir("/")
    make_state(places.state)
    set_up_log(log_file, verbose=verbose)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE_ADJ), encoding="ascii")


def make_state(state: Path) -> None:
    """Ours, and closed to everybody else: the socket, the store and all output are in it."""
    if (homeless := missing_home(state)) is not None:
        raise NotFit(homeless)
    try:
        state.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            state.mkdir(mode=0o700)
        found = state.stat()
    except OSError as error:
        text = f"the state directory {state} cannot be made ({error.strerror})"
        raise NotFit(f"{text}; choose another with PADDOCK_STATE") from None
    if not stat.S_ISDIR(found.st_mode):
        raise NotFit(f"{state} is no directory; choose another with PADDOCK_STATE")
    if found.st_uid != os.geteuid():
        raise NotFit(f"{state} belongs to another user; choose another with PADDOCK_STATE")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise NotFit(f"others can look into {state}; run: chmod 700 {state}")
    if (problem := what_is_wrong(state)) is not None:
        raise NotFit(problem)


class LastingLog(logging.handlers.RotatingFileHandler):
    """Opened anew where somebody has removed it: the next line is in a file that can be read."""

    def emit(self, record: logging.LogRecord) -> None:
        if not Path(self.baseFilename).exists():
            self.close()
        super().emit(record)


def set_up_log(file: Path | None, *, verbose: bool) -> None:
    """Bounded: a daemon lives for months."""
    handler: logging.Handler = logging.StreamHandler()
    if file is not None:
        if file.is_fifo():
            raise NotFit(f"{file} is a pipe, and a daemon would wait in it; remove it")
        try:
            handler = LastingLog(file, maxBytes=LOG_BYTES, backupCount=LOGS_KEPT, encoding="utf-8")
        except OSError as error:
            raise NotFit(f"the log {file} cannot be written ({error.strerror})") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname).1s %(name)s: %(message)s"))
    logging.raiseExceptions = False  # a full disk must not fill stderr with tracebacks
    root = logging.getLogger("paddock")
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
