"""Puts on one attempt: `python -m paddock.rehearsal.stage DIRECTORY AGENT -- PROGRAM…`.

It enters a network of its own, starts the stand-in beside it, and then becomes the program: to
paddock the attempt's main process is the real one, with its own signals, memory and exit code.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import Final

from .costumes import COSTUMES, PORT, dress
from .namespace import NoNamespace, enter

_PR_SET_PDEATHSIG: Final = 1
CANNOT: Final = 125  # as `paddock run` ends where paddock itself failed

# Everything else stays outside: no token of the user's is to be seen in a rehearsal.
_KEPT: Final = ("PATH", "LANG", "LANGUAGE", "TZ", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR")
_FAMILIES: Final = ("PADDOCK_", "LC_")


def main(arguments: list[str]) -> int:
    directory, agent, _, *program = arguments
    place = Path(directory)
    try:
        enter()
    except NoNamespace as error:
        return _refuse(str(error))
    environment = environment_of(place, agent, dict(os.environ))
    if not _start_stand_in(place, agent):
        return _refuse("the stand-in did not start")
    try:
        os.execvpe(program[0], program, environment)
    except OSError as error:
        return _refuse(f"{program[0]}: {error.strerror}")


def environment_of(place: Path, agent: str, given: dict[str, str]) -> dict[str, str]:
    """What the program sees: nothing of the user's but what it cannot do without."""
    keep = set((place / "keep").read_text(encoding="utf-8").split())
    return clean(given, keep=keep) | dress(COSTUMES[agent], place / "home")


def clean(environment: dict[str, str], *, keep: set[str]) -> dict[str, str]:
    """What a rehearsal may see of an environment; `keep` names what was asked for by name."""
    return {
        name: value
        for name, value in environment.items()
        if name in _KEPT or name in keep or name.startswith(_FAMILIES)
    }


def _start_stand_in(place: Path, agent: str) -> bool:
    """Once this returns true it listens, so the program's first request is answered."""
    heard, told = os.pipe()
    if os.fork() == 0:
        os.close(heard)
        _be_stand_in(place, agent, told)
    os.close(told)
    with os.fdopen(heard, "rb") as pipe:
        return pipe.read(1) == b"1"


def _be_stand_in(place: Path, agent: str, told: int) -> None:
    """Dies with the program, and holds nothing of its output open."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # The attempt is stopped by a signal to its group: the program decides how it ends, and
        # may want to tell its model so.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        from .ledger import Ledger
        from .script import from_json
        from .stand_in import StandIn
        from .thinking import Model

        ledger = Ledger(place / "ledger")
        script = from_json((place / "script.json").read_text(encoding="utf-8"))
        model = Model(script, ledger, directory=Path.cwd(), by_text=agent == "aider")
        with StandIn(model, ledger, port=PORT) as server:
            os.write(told, b"1")
            os.close(told)
            server.serve_forever()
        code = 0
    finally:
        os._exit(code)


def _refuse(text: str) -> int:
    sys.stderr.write(f"paddock rehearse: {text}\n")
    return CANNOT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
