"""What is meant for one's own daemon: a socket that somebody else has laid hears nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
import asyncio, os, socket, sys
from pathlib import Path
from paddock.client import AsyncClient, Client, NoDaemon
from paddock.config.places import Places

LAYS, ASKS = map(int, sys.argv[2:])
places = Places(Path(sys.argv[1]))
os.chmod(places.state, 0o777)
os.setresuid(LAYS, LAYS, 0)
laid = socket.socket(socket.AF_UNIX)
laid.bind(str(places.socket))
laid.listen()
os.setresuid(0, 0, 0)
places.socket.chmod(0o777)
os.setresuid(ASKS, ASKS, ASKS)

def plainly():
    with Client(places) as client:
        client.status()

async def beside():
    async with AsyncClient(places) as client:
        await client.status()

laid.settimeout(0.2)
for ask in (plainly, lambda: asyncio.run(beside())):
    try:
        ask()
    except NoDaemon as error:
        print(error.message)
    while True:
        try:
            heard, _ = laid.accept()
        except TimeoutError:
            break
        print("heard", heard.recv(100))
"""
NOBODY, SOMEBODY = 65534, 65533


def said(place: Path, lays: int, asks: int) -> list[str]:
    """Root becomes both, one after the other."""
    command = [sys.executable, "-c", ASK, str(place), str(lays), str(asks)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.fixture
def open_place(tmp_path: Path) -> Path:
    """Where everybody may write."""
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    place = tmp_path / "state"
    place.mkdir()
    for above in tmp_path.parents:
        if above == Path("/tmp"):
            break
        above.chmod(0o755)
    tmp_path.chmod(0o755)
    return place


def test_a_socket_that_somebody_else_laid_hears_nothing(open_place: Path) -> None:
    by_whom = f"belongs to another user (user {NOBODY}, and we are {SOMEBODY})"
    told = f"the daemon at {open_place}/paddock.sock {by_whom}"
    assert said(open_place, NOBODY, SOMEBODY) == [told, "heard b''", told, "heard b''"]
