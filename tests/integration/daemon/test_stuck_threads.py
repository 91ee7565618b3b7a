"""A daemon's process ends with its life, also where a thread stands in a disk that is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Stands for a life in which such a thread was left behind: a disk that hangs cannot be had here.
SCRIPT = """
import asyncio, sys, threading
from concurrent.futures import ThreadPoolExecutor
from paddock.config.places import find_places
from paddock.daemon import life, main

async def lived(places, *, listen):
    threads = None if sys.argv[2] == "usual" else ThreadPoolExecutor(1)
    asyncio.get_running_loop().run_in_executor(threads, threading.Event().wait)
    await asyncio.sleep(0.01)
    print("lived", flush=True)

life.live, main.STUCK_S = lived, 0.2
sys.exit(main.run(find_places(sys.argv[1]), listen=None, log_file=None, verbose=False))
"""


@pytest.mark.parametrize("threads", ["usual", "own"])
def test_nobody_waits_for_a_thread_that_does_not_come_back(tmp_path: Path, threads: str) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "state"), threads]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, "lived\n"), done.stderr
