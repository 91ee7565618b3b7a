"""Looks for what breaks a target, for so many seconds: `python -m tests.fuzz TARGET|all [SECONDS]`.

With atheris, which is no part of the environment (`pip install atheris`), by what its bytes reach;
else blindly, with a seed that it says. What it finds is written into the target's corpus, so that
the next `make test` fails on it until it is mended.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import secrets
import sys
import tempfile
import time
from functools import partial
from typing import Any

from .blind import Inputs
from .target import CORPUS, TARGETS, Target, run


def main(words: list[str]) -> int:
    if len(words) not in (1, 2):
        sys.stderr.write("usage: python -m tests.fuzz TARGET|all [SECONDS]\n")
        return 2
    atheris = _atheris()
    if atheris is None:
        importlib.import_module("tests.fuzz.every")
    else:
        with atheris.instrument_imports(include=["paddock"]):
            importlib.import_module("tests.fuzz.every")
    seconds = int(words[1]) if len(words) == 2 else 60
    names = list(TARGETS) if words[0] == "all" else [words[0]]
    broken = [name for name in names if _hunt_in_child(atheris, TARGETS[name], seconds)]
    sys.stdout.write(f"hunted {len(names)} for {seconds} s each; broken: {broken or 'none'}\n")
    return 1 if broken else 0


def _atheris() -> Any:
    try:
        return importlib.import_module("atheris")
    except ImportError:
        sys.stderr.write("blindly: atheris is not installed (.venv/bin/pip install atheris)\n")
        return None


def _hunt_in_child(atheris: Any, one: Target, seconds: int) -> bool:
    """libFuzzer ends its process, and so every target gets one of its own."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        found = True
        try:
            hunt = partial(_hunt, atheris) if atheris is not None else _hunt_blindly
            hunt(one, seconds)
            found = False
        finally:
            sys.stdout.flush()
            os._exit(found)
    return os.waitpid(child, 0)[1] != 0


def _fed(one: Target, data: bytes) -> None:
    try:
        run(one, data)
    except BaseException as error:
        name = f"{type(error).__name__.lower()}-{hashlib.sha256(data).hexdigest()[:12]}"
        (CORPUS / one.name / name).write_bytes(data)
        sys.stderr.write(f"{one.name}: {error!r}: kept as {CORPUS / one.name / name}\n")
        raise


def _hunt_blindly(one: Target, seconds: int) -> None:
    seed = secrets.randbits(32)
    inputs, until, many = Inputs(one, seed), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        _fed(one, inputs.next())
        many += 1
    sys.stdout.write(f"{one.name}: {many} inputs of seed {seed}\n")


def _hunt(atheris: Any, one: Target, seconds: int) -> None:
    until = time.monotonic() + seconds

    def feed(data: bytes) -> None:
        if time.monotonic() > until:
            os._exit(0)
        _fed(one, data)

    with tempfile.TemporaryDirectory() as found:
        options = [f"-max_total_time={seconds}", "-max_len=8192", "-verbosity=0"]
        options.append(f"-artifact_prefix={found}/")  # kept already, under a better name
        atheris.Setup(["fuzz", *options, found, str(CORPUS / one.name)], feed)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
