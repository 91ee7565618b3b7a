"""`paddock daemon run`: the daemon in the foreground; how it is born, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Final

import click

from paddock.config.mistakes import ConfigError
from paddock.config.places import Places, find_places

# The codes of cli.md; the command line's own room may not be imported from here.
DONE, BAD_USAGE, REFUSED, NO_DAEMON, BUG = 0, 2, 3, 69, 70
OURS: Final = "PADDOCK_"
STUCK_S: Final = 10.0


@click.command("run")
@click.option("--state", metavar="DIR", help="Where this paddock keeps its things.")
@click.option("--listen", metavar="HOST:PORT", help="Also on TCP, for clients that show the token.")
@click.option("--log", "log_file", metavar="FILE", help="Log to this file instead of stderr.")
@click.option("--verbose", is_flag=True, help="Log every step of the loop.")
def command(state: str | None, listen: str | None, log_file: str | None, verbose: bool) -> int:  # noqa: FBT001
    """Run the daemon here, until SIGTERM; its agents go on without it.

    Commands start a daemon when they need one, so this is for service managers and the curious.

    \b
    Example:
      paddock daemon run --listen 127.0.0.1:7070
    """
    if listen is not None:
        _check_listen(listen)
    places = find_places(state)
    shed_marks(places)
    return run(places, listen=listen, log_file=log_file, verbose=verbose)


def _check_listen(listen: str) -> None:
    from paddock.api.binding import CannotListen, split_address

    try:
        split_address(listen)
    except CannotListen:
        message = f"--listen: found {listen!r}; allowed: an address, as in 127.0.0.1:7070"
        raise click.UsageError(message) from None


def shed_marks(places: Places) -> None:
    """Started inside an agent the daemon would carry its mark, in /proc too, and die with it: only
    a new exec sheds it. What was said by variable is then said by option."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    if len(clean) == len(os.environ):
        return
    words = list(sys.orig_argv)
    if not any(word == "--state" or word.startswith("--state=") for word in words):
        words += ["--state", str(places.state)]
    os.execve(sys.executable, words, clean)


def run(places: Places, *, listen: str | None, log_file: str | None, verbose: bool) -> int:
    from paddock.daemon.beginning import AlreadyThere, CannotStart
    from paddock.daemon.birth import NotFit, be_born
    from paddock.daemon.life import live

    try:
        be_born(places, log_file=Path(log_file) if log_file else None, verbose=verbose)
        _collect_seldom()
        asyncio.run(_not_for_ever(live(places, listen=listen)))
    except AlreadyThere as error:
        click.echo(f"paddock: {error}", err=True)
        return REFUSED
    except ConfigError as error:
        click.echo(f"paddock: {error}", err=True)
        return BAD_USAGE
    except (CannotStart, NotFit) as error:
        click.echo(f"paddock: {error}", err=True)
        return NO_DAEMON
    return DONE


async def _not_for_ever(life: Coroutine[None, None, None]) -> None:
    """Python waits for every thread at its end, also for one that stands in a disk that is gone.
    Whatever they are about, the next daemon does: it might have been a SIGKILL just as well."""
    code = BUG
    try:
        await life
        code = DONE
    finally:
        end = threading.Timer(STUCK_S, os._exit, (code,))
        end.daemon = True
        end.start()


def _collect_seldom() -> None:
    """A run is some thirty objects that stay and no circles. Looking for those at every 700 new
    objects, and through all runs again and again, was a tenth of what a submission cost the loop.
    """
    gc.set_threshold(20_000, 20, 50)
