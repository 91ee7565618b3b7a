"""What can go wrong when the daemon is asked: one type each, with the daemon's own sentence."""

from __future__ import annotations

from paddock.wire.one_line import safe


class ClientError(Exception):
    """`code` is the daemon's word for programs, or one of ours: no_daemon, lost, late, version."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class NoDaemon(ClientError):
    """Nobody answers at the socket, and none could be started."""

    def __init__(self, message: str, code: str = "no_daemon") -> None:
        super().__init__(message, code)


class BadRequest(ClientError):
    """What was asked for cannot be understood, or is not allowed."""


class Refused(ClientError):
    """Understood and not done: no capacity, ambiguous, ended already."""


class NotFound(ClientError):
    """There is no such run, group or heartbeat."""


class Trouble(ClientError):
    """The daemon's store cannot be written: nothing new is taken for now."""


class Failed(ClientError):
    """The daemon broke off (`lost`), did not answer in time (`late`), or met a bug."""


def not_understood(why: object) -> Failed:
    return Failed(
        f"the daemon's answer is not understood ({safe(str(why))}); is it of another version?",
        "version",
    )


def of_status(status: int, code: str, message: str) -> ClientError:
    kinds: dict[int, type[ClientError]] = {404: NotFound, 409: Refused, 503: Trouble}
    if status in kinds:
        return kinds[status](message, code)
    return (BadRequest if 400 <= status < 500 else Failed)(message, code)
