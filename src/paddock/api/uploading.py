"""What a run is to read from its stdin: kept in a file of its own until the run has ended."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import BinaryIO, Final

from paddock.wire.views import Uploaded

from .asking import Asked
from .bodies import MIB, Share
from .desk import Desk
from .problems import Declined

LARGEST: Final = 1024 * MIB
TOGETHER: Final = MIB // 4  # written at once: one visit to the disk's thread for many small pieces


async def upload(desk: Desk, asked: Asked) -> Uploaded:
    directory = desk.facts.places.stdin
    token = secrets.token_hex(16)
    file = await desk.aside(lambda: _new(directory, token))
    size = 0
    try:
        with file, Share(desk.bodies) as share:
            held = bytearray()
            async for piece in asked.chunks(most=LARGEST):
                held += piece
                size += len(piece)
                share.hold(len(held))
                if len(held) >= TOGETHER:
                    full, held = held, bytearray()
                    await desk.aside(lambda full=full: file.write(full), within_s=None)  # type: ignore[misc]
                    share.hold(0)
            await desk.aside(lambda: file.write(held), within_s=None)
    except BaseException as error:
        (directory / token).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise Declined(503, "trouble", f"stdin cannot be kept: {error.strerror}") from None
        raise
    return Uploaded(token=token, size=size)


def _new(directory: Path, token: str) -> BinaryIO:
    directory.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(directory / token, flags, 0o600), "wb", buffering=0)
