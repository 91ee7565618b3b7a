"""Starting a step: in a process group of its own, and ended by the kernel if the relay dies."""

# ruff: noqa: PTH113
from __future__ import annotations

import os

from .ends import NOT_EXECUTABLE, NOT_FOUND, Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Mapping

    from .spec import Step
else:
    import _signal

# PR_SET_PDEATHSIG outlives an exec and not a fork: it ends the command, its wall takes the rest.
SETPRIV = "/usr/bin/setpriv"
ACK_DESCRIPTOR = 3
OURS = ("PADDOCK_STAGE", "PADDOCK_STREAM_", "PADDOCK_CHUNK", "PADDOCK_ACK_FD")
# Python ignores these for itself, and what is ignored stays so in what we run.
AS_FOUND = (_signal.SIGPIPE, _signal.SIGXFSZ)


def start(step: Step, facts: Mapping[str, object], descriptors: Mapping[int, int]) -> int:
    """`descriptors`: what takes which place; `facts` are for its environment."""
    program = find_program(step)
    words = [program, *step.command[1:]]
    if os.access(SETPRIV, os.X_OK):
        words = [SETPRIV, "--pdeathsig", "KILL", "--", *words]
    env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    env |= {name: str(value) for name, value in facts.items()}
    env["PADDOCK_STEP"] = step.name
    places = [(os.POSIX_SPAWN_DUP2, descriptors[place], place) for place in sorted(descriptors)]
    try:
        return _spawn(words, env, places)
    except OSError as error:
        raise Trouble(
            NOT_EXECUTABLE, f"step {step.name} cannot be started: {program}: {error.strerror}"
        ) from None


def _spawn(words: list[str], env: dict[str, str], places: list[tuple[int, int, int]]) -> int:
    """With SIGUSR2 ignored, as the shim of an agent leaves it: our own handler would become the
    default, which kills. What comes meanwhile is blocked, and not lost."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGUSR2])
    handler = _signal.signal(_signal.SIGUSR2, _signal.SIG_IGN)
    try:
        return os.posix_spawn(
            words[0],
            words,
            env,
            file_actions=places,
            setpgroup=0,
            setsigmask=[],
            setsigdef=AS_FOUND,
        )
    finally:
        _signal.signal(_signal.SIGUSR2, handler)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGUSR2])


def find_program(step: Step) -> str:
    """As a shell finds it: `setpriv` would say it in words of its own."""
    name = step.command[0]
    places = [name]
    if "/" not in name:
        path = os.environ.get("PATH", os.defpath)
        places = [f"{directory or '.'}/{name}" for directory in path.split(os.pathsep)]
    found = [place for place in places if os.path.isfile(place)]
    for place in found:
        if os.access(place, os.X_OK):
            return place
    if found:
        raise Trouble(NOT_EXECUTABLE, f"step {step.name}: {found[0]} is not executable")
    raise Trouble(NOT_FOUND, f"step {step.name}: {name} is not found")
