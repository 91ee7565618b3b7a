"""What was not done, as it is told: a status, a word for programs and a sentence for people."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from paddock.core.actions import Refuse
from paddock.wire.views import Problem


class Declined(Exception):
    """A request that is not answered with what it asked for."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message

    def body(self) -> bytes:
        return msgspec.json.encode(Problem(code=self.code, message=self.message))


def written(status: str, body: bytes, more: str = "") -> bytes:
    """A whole answer, for those who send it themselves."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n"
    return f"{head}content-length: {len(body)}\r\n{more}\r\n".encode() + body


def bad_request(message: str) -> Declined:
    return Declined(400, "bad_request", message)


def not_found(message: str) -> Declined:
    return Declined(404, "not_found", message)


def refused(message: str) -> Declined:
    return Declined(409, "refused", message)


def large(message: str) -> Declined:
    """A question: asked again with an answer, it may be taken."""
    return Declined(409, "large", message)


def not_installed(message: str) -> Declined:
    """The program of a preset, on this host."""
    return Declined(409, "not_installed", message)


def has_ended(message: str) -> Declined:
    return Declined(409, "ended", message)


def ambiguous(text: str, candidates: Sequence[str]) -> Declined:
    listed = ", ".join(candidates[:5]) + (" and more" if len(candidates) > 5 else "")
    return Declined(409, "ambiguous", f"{text!r} could be {listed}: say more of it")


def too_large(message: str) -> Declined:
    return Declined(413, "too_large", message)


def trouble(message: str) -> Declined:
    return Declined(503, "trouble", message)


def raise_any(refusals: Sequence[Refuse], *, about: str = "") -> None:
    """The core's own sentence, with the word that fits it; `about`: the run that was asked for."""
    who = f"{about}: " if about else ""
    for refusal in refusals:
        if refusal.because == "it has already ended":
            raise has_ended(f"{who}{refusal.because}")
        if refusal.because.startswith("there is no "):
            raise not_found(f"{refusal.what}: {refusal.because}")
        raise refused(f"{who}{refusal.because}")
