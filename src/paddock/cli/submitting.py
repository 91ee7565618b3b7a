"""What goes along with a submission: where it was made, its environment, its umask, its stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from .here import here_directory
from .printing import note

if TYPE_CHECKING:
    from paddock.client import Client
    from paddock.wire.run_request import HeartbeatRequest, RunRequest
    from paddock.wire.views import Submission, Submit

_CHUNK: Final = 256 * 1024


def submit_of(
    runs: Sequence[RunRequest],
    *,
    heartbeats: Sequence[HeartbeatRequest] = (),
    fleet: str | None = None,
    stdin: str | None = None,
) -> Submit:
    from paddock.wire.views import Submit

    return Submit(
        key=os.urandom(16).hex(),
        runs=tuple(runs),
        heartbeats=tuple(heartbeats),
        fleet=fleet,
        directory=str(here_directory()),
        environment=environment(),
        stdin=stdin,
        profile=os.environ.get("PADDOCK_PROFILE") or None,
        umask=_umask(),
    )


def submit(client: Client, order: Submit) -> Submission:
    """Until it is taken or refused: a question about a large repository is asked in between."""
    from paddock.client.errors import Refused

    while True:
        try:
            return _submit_once(client, order)
        except Refused as error:
            if error.code != "large":
                raise
            from .large import answered

            order = answered(order, error)


def _submit_once(client: Client, order: Submit) -> Submission:
    """As the client does it; a profile that was chosen by a variable is called by its name."""
    from paddock.client.errors import BadRequest

    try:
        return client.submit(order)
    except BadRequest as error:
        option = "--performance-profile: "
        said = order.profile and f"the unknown profile {order.profile[:40]!r}"
        by_option = any(run.performance_profile == order.profile for run in order.runs)
        if not said or by_option or not error.message.startswith(f"{option}found {said}"):
            raise
        message = f"PADDOCK_PROFILE: {error.message.removeprefix(option)}"
        raise BadRequest(message, error.code) from error


def environment() -> dict[str, str]:
    """Ours, as it goes along; what cannot is named."""
    from paddock.client.environment import environment as ours

    kept, odd = ours()
    if odd:
        shown = ", ".join(name.encode(errors="replace").decode() for name in odd)
        note(f"left out of the environment, because they are no UTF-8 text: {shown}")
    return kept


def upload(client: Client) -> str:
    """All of stdin, before the run is submitted; the token that names it."""
    return client.upload_stdin(_chunks()).token


def say_notes(answer: Submission) -> None:
    """What was taken differently than asked, on stderr."""
    for text in answer.notes:
        note(text)


def _chunks() -> Iterator[bytes]:
    while chunk := os.read(sys.stdin.fileno(), _CHUNK):
        yield chunk


def _umask() -> int:
    """The only way to read it portably is to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
