"""The way to the daemon: how a command gets a client, and how refusals become exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Protocol

import click

from .exits import CommandError, ExitCode
from .printing import note, safe

if TYPE_CHECKING:
    from paddock.client import Client
    from paddock.client.errors import ClientError


class Door(Protocol):
    """The way to a daemon; `start` says whether one may be started for it."""

    def __call__(self, *, start: bool) -> AbstractContextManager[Client]: ...


@contextmanager
def connected(*, start: bool = True) -> Iterator[Client]:
    """A client of the daemon, which is started when none runs; what it refuses ends the command."""
    from paddock.client.errors import ClientError

    try:
        with door()(start=start) as client:
            yield client
    except ClientError as error:
        raise explained(error) from error


def door() -> Door:
    """Ask in the main thread: click's context is no other's."""
    context = click.get_current_context(silent=True)
    given: Door | None = context.find_root().obj if context else None
    return given or open_client


def open_client(*, start: bool) -> AbstractContextManager[Client]:
    from paddock.client import Client
    from paddock.config.places import find_places

    places = find_places()
    if start:
        from paddock.client.starting import ensure_daemon

        ensure_daemon(places)
    return Client(places, on_silence=_say_silent)


@cache
def _say_silent() -> None:
    """Once a command, instead of half a minute of nothing; the answer is still waited for."""
    note("the daemon does not answer; if it hangs, its keeper starts another after 30 s")


def explained(error: ClientError) -> CommandError:
    return CommandError(safe(str(error)), exit_code_of(error))


def exit_code_of(error: ClientError) -> ExitCode:
    from paddock.client.errors import BadRequest, NoDaemon, NotFound, Refused, Trouble

    if error.code == "ambiguous":
        return ExitCode.BAD_USAGE
    if error.code == "not_installed":
        return ExitCode.NO_SUCH_COMMAND
    if error.code in ("lost", "late"):  # it went away, or hangs
        return ExitCode.NO_DAEMON
    match error:
        case NoDaemon():
            return ExitCode.NO_DAEMON
        case BadRequest():
            return ExitCode.BAD_USAGE
        case NotFound():
            return ExitCode.NOT_FOUND
        # Trouble: the store cannot be written, so nothing new is taken; what runs is unharmed.
        case Refused() | Trouble():
            return ExitCode.REFUSED
        case _:
            return ExitCode.BUG
