"""Agents that misbehave: each is a run among the others, and only its own run may suffer."""

from __future__ import annotations

import shlex
from dataclasses import replace

from paddock.drivers.local.containment.choosing import read_home
from tests.chaos.errands import MEMORY_BYTES, Errand, Output, ended, known, worker
from tests.chaos.scene import Scene
from tests.kit.keeping import agent

MIB = 1 << 20
KILLED = ("cancelled",)
WALLED = {"pids": 64, "memory_bytes": 4 * MEMORY_BYTES}


def _words(name: str, *words: object) -> str:
    return shlex.join(agent(name, *words))


def deaf(_: Scene, name: str) -> Errand:
    return Errand(name, f"exec {_words('deaf')}", KILLED, kill=True)


def daemonize(scene: Scene, name: str) -> Errand:
    """Its daemons hold its output, have sessions of their own, and go on from fork to fork."""
    hops = scene.draw.random() < 0.5
    left = _words("hopper", 2, "setsid") if hops else _words("daemonizer")
    return Errand(name, f"echo here; {left}; exit 0", ended(0), known(b"here\n"), options=WALLED)


def hold_pipe(_: Scene, name: str) -> Errand:
    script = "setsid sleep 60 & setsid sh -c 'sleep 60; echo late' & echo said; exit 4"
    return Errand(name, script, ended(4), known(b"said\n"))


def escape(scene: Scene, name: str) -> Errand:
    """Into the cgroup of daemon and keeper, with a child in a session of its own."""
    home = read_home(scene.house.places.keeper)
    files = home.supervisor.procs if home is not None else ()
    ends = ("cancelled", "memory_limit_exceeded", "failed")
    return Errand(name, f"exec {_words('nuisance', 'escape', *files)}", ends, kill=True)


def fill_pids(_: Scene, name: str) -> Errand:
    return Errand(name, f"exec {_words('nuisance', 'fill')}", KILLED, kill=True, options=WALLED)


def fork_bomb(_: Scene, name: str) -> Errand:
    """Until there may be no more processes; a shell that cannot fork gives up. On a busy machine
    the kernel's own memory may fill its wall: 126 of 128 MiB were seen, probably for its dead."""
    script = "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 60"
    ends = (*KILLED, "failed", "memory_limit_exceeded")
    return Errand(name, script, ends, kill=True, options=WALLED)


def spam_sigchld(_: Scene, name: str) -> Errand:
    """On a busy machine many of its orphans are there at once, each with a little memory."""
    script = f"exec {_words('nuisance', 'orphans', 300, 50_000)}"
    room = {"memory_bytes": 4 * MEMORY_BYTES}
    return Errand(name, script, ended(0), known(b""), options=room)


def flood(scene: Scene, name: str) -> Errand:
    """More than is kept of one run; what is kept must be its end, without a hole."""
    megabytes = scene.draw.choice([24, 160, 600])

    output = Output(megabytes * MIB, _flooded, only_its_end=True)
    return Errand(name, f"{_words('nuisance', 'flood', megabytes)}; exit 9", ended(9), output)


def _flooded(begin: int, end: int) -> bytes:
    """What is between these two bytes of a flood."""
    pieces = []
    while begin < end:
        number = begin // MIB
        stop = min(end, (number + 1) * MIB)
        lines = b"%063d\n" % number * ((stop - begin) // 64 + 2)
        pieces.append(lines[begin % 64 :][: stop - begin])
        begin = stop
    return b"".join(pieces)


def over_its_wall(_: Scene, name: str) -> Errand:
    script = "exec dd if=/dev/zero of=/dev/null bs=300M count=1"
    return Errand(name, script, ("memory_limit_exceeded",))


def chmod_workspace(scene: Scene, name: str) -> Errand:
    return worker(scene.draw, name, scene.shop, then="chmod -R 000 . 2>/dev/null; chmod 000 .")


def remove_git(scene: Scene, name: str) -> Errand:
    return worker(scene.draw, name, scene.shop, then="rm -rf .git")


def leave_locks(scene: Scene, name: str) -> Errand:
    """It dies at its wall with git's locks in its hands: what it had not committed is saved."""
    then = """
own=$(git rev-parse --git-dir); all=$(git rev-parse --git-common-dir)
touch "$own/index.lock" "$own/HEAD.lock" "$all/$(git symbolic-ref HEAD).lock"
exec dd if=/dev/zero of=/dev/null bs=300M count=1
"""
    errand = worker(scene.draw, name, scene.shop, then=then)
    return replace(errand, ends=("memory_limit_exceeded",), output=None, saved=True)
