"""The canaries: small programs that do what walls are there for, and whether the walls hold.

Bounded whatever happens: each ends within a minute by itself, and none takes more than 96 MiB.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, Protocol

from paddock.cgroups.home import FLEET
from paddock.cgroups.mounts import UNIFIED, directories_of
from paddock.host.doctor.containment import Promises

Verdict = Literal["held", "late", "broken", "not promised", "not proven"]
MIB: Final = 1 << 20
WALL_BYTES: Final = 64 * MIB
HOG_BYTES: Final = 96 * MIB
PIDS: Final = 32
# What shells say then: dash and busybox "can't fork" or "Cannot fork", bash "fork: retry: …".
REFUSED: Final = "fork"
FORKS: Final = 100
SESSIONS: Final = 15
LOOK_S: Final = 0.02
WALL_S, KILL_S = 1.0, 2.0  # later than that is late, and said so
MARK: Final = "CANARY_OF_DOCTOR"

# Only sh, dd, sleep and setsid, so that they run in any container. dd touches all of its buffer.
NEIGHBOUR: Final = "echo here; exec sleep 40"
HOG: Final = f"echo here; exec dd if=/dev/zero of=/dev/null bs={HOG_BYTES} count=1000 2>/dev/null"
BOMB: Final = (
    f"i=0; while [ $i -lt {FORKS} ]; do sleep 40 & i=$((i+1)); echo n$i; done; echo all; wait"
)
CROWD: Final = (
    f"i=0; while [ $i -lt {SESSIONS} ]; do setsid sleep 40 & i=$((i+1)); done; echo here; wait"
)
# What is not there is no way out; and in a container's own tmpfs it would be a new plain file.
ESCAPER: Final = (
    'for file in $WAY_OUT; do [ -e "$file" ] && echo 0 >"$file" || echo refused; done; '
    f"grep -q /{FLEET}/ /proc/self/cgroup || echo outside; echo out; exec sleep 40"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long is waited for what; a wall that holds is seen in a fraction of it."""

    all_s: float = 20.0
    begin_s: float = 10.0
    soft_s: float = 6.0  # sampling looks once a second, then asks politely
    gone_s: float = 6.0
    caught_s: float = 6.0  # escapes are found within two looks

    @classmethod
    def for_all(cls, all_s: float) -> Patience:
        """A slow machine is given more time for each of them, too."""
        each = max(6.0, all_s / 4)
        return cls(all_s=all_s, begin_s=all_s / 2, soft_s=each, gone_s=each, caught_s=each)


USUAL: Final = Patience()


class _Watch:
    """Waits, and never beyond the time for all of them."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.over_at = time.monotonic() + patience.all_s

    def is_over(self) -> bool:
        return time.monotonic() > self.over_at

    def sees(self, condition: Callable[[], bool], within_s: float) -> bool:
        until = min(time.monotonic() + within_s, self.over_at)
        while not condition():
            if time.monotonic() > until:
                return False
            time.sleep(LOOK_S)
        return True


class NotNow(Exception):
    """A canary could not be started; says why."""


@dataclass(frozen=True, slots=True)
class End:
    over_memory: bool
    seconds: float  # that it ran
    text: str


class Canary(Protocol):
    def output(self) -> str: ...

    def ended(self) -> End | None: ...

    def kill(self) -> None: ...


class Pen(Protocol):
    """Where canaries live: as real runs of a daemon. Whoever made it ends all of them."""

    promises: Promises
    way_out: tuple[str, ...]  # files that an agent might write itself into to get away

    def start(self, name: str, script: str, *, env: Mapping[str, str]) -> Canary:
        """With walls of WALL_BYTES and PIDS; NotNow."""


@dataclass(frozen=True, slots=True)
class Proof:
    name: str
    verdict: Verdict
    evidence: str
    seconds: float | None = None

    @property
    def is_bad(self) -> bool:
        return self.verdict in ("broken", "not proven")


def prove(pen: Pen, patience: Patience = USUAL) -> Iterator[Proof]:
    """One after the other. What is not promised is said to be so, and not tried."""
    watch = _Watch(patience)
    for name, canary in (
        ("memory wall", _memory),
        ("process limit", _bomb),
        ("kill", _crowd),
        ("escape", _escape),
    ):
        if watch.is_over():
            yield Proof(name, "not proven", f"the {patience.all_s:.0f} s for all were over")
            continue
        try:
            for proof in canary(pen, watch):
                # What was not seen only because the time was over shows nothing.
                cut_off = watch.is_over() and proof.verdict == "broken"
                yield replace(proof, verdict="not proven") if cut_off else proof
        except NotNow as error:
            yield Proof(name, "not proven", str(error))


def _begun(canary: Canary, watch: _Watch, word: str = "here") -> None:
    """Also when it is over already."""
    if not watch.sees(
        lambda: word in canary.output() or canary.ended() is not None, watch.patience.begin_s
    ):
        raise NotNow(f"the canary did not begin within {watch.patience.begin_s:.0f} s")


# -- memory -------------------------------------------------------------------------------------


def _memory(pen: Pen, watch: _Watch) -> Iterator[Proof]:
    neighbour = pen.start("neighbour", NEIGHBOUR, env={})
    _begun(neighbour, watch)
    hog = pen.start("hog", HOG, env={})
    _begun(hog, watch)
    watch.sees(lambda: hog.ended() is not None, watch.patience.soft_s)
    end, lives = hog.ended(), neighbour.ended() is None
    hog.kill()
    neighbour.kill()
    hard = pen.promises.hard_memory_wall
    if not hard:
        yield Proof(
            "memory wall",
            "not promised",
            "memory is only sampled: a burst between two looks is not seen",
        )
    name = "memory wall" if hard else "soft memory limit"
    yield _judged(name, end, lives=lives, within_s=WALL_S if hard else watch.patience.soft_s)


def _judged(name: str, end: End | None, *, lives: bool, within_s: float) -> Proof:
    what = f"{HOG_BYTES // MIB} MiB in a wall of {WALL_BYTES // MIB} MiB"
    if end is None:
        return Proof(name, "broken", f"{what}: it still lives")
    if not end.over_memory:
        return Proof(name, "broken", f"{what}: it ended otherwise: {end.text}", end.seconds)
    if not lives:
        return Proof(name, "broken", f"{what}: its neighbour died with it", end.seconds)
    return _timed(
        Proof(name, "held", f"{what}: died alone, its neighbour lives", end.seconds), within_s
    )


def _timed(proof: Proof, within_s: float) -> Proof:
    """It held; whether in time. A slow machine is no broken wall, and no good one either."""
    assert proof.seconds is not None
    text = f"{proof.evidence}, after {proof.seconds:.2f} s"
    if proof.seconds <= within_s:
        return replace(proof, evidence=text)
    text += f" ({within_s:.0f} s at most where a core is free: this host is slow, or busy just now)"
    return replace(proof, verdict="late", evidence=text)


# -- processes ----------------------------------------------------------------------------------


def _bomb(pen: Pen, watch: _Watch) -> Iterator[Proof]:
    if not pen.promises.pids_wall:
        yield Proof("process limit", "not promised", "nothing counts an agent's processes here")
        return
    bomb = pen.start("bomb", BOMB, env={})
    _begun(bomb, watch, "n1")
    began = time.monotonic()
    watch.sees(lambda: _has_blown(bomb), watch.patience.begin_s)
    took = time.monotonic() - began
    said = bomb.output()
    got = max((int(word[1:]) for word in said.split() if _is_count(word)), default=0)
    bomb.kill()
    if got >= PIDS:
        yield Proof("process limit", "broken", f"it got {got} of {FORKS} with {PIDS} allowed")
    elif got == 0:
        yield Proof("process limit", "not proven", f"it said {said[:80]!r}")
    elif REFUSED in said.lower():
        text = f"stopped after {got} of {FORKS} forks, {PIDS} processes being allowed"
        yield Proof("process limit", "held", text)
    else:
        # Standing still for a while is what a slow machine looks like, too: seen under emulation.
        text = f"it got {got} of {FORKS} forks in {took:.0f} s, and none was refused: this host is "
        yield Proof("process limit", "not proven", f"{text}too slow; give it more time (--within)")


def _is_count(word: str) -> bool:
    return word.startswith("n") and word[1:].isdigit()


def _has_blown(bomb: Canary) -> bool:
    """It ended, got all, or was refused one: some shells then try again and again for seconds."""
    over = bomb.ended() is not None
    said = bomb.output()
    return over or "all" in said.split() or REFUSED in said.lower()


# -- killing ------------------------------------------------------------------------------------


def _crowd(pen: Pen, watch: _Watch) -> Iterator[Proof]:
    mark = _new_mark()
    crowd = pen.start("crowd", CROWD, env={MARK: mark})
    _begun(crowd, watch)
    if not watch.sees(lambda: len(marked(mark)) > SESSIONS, watch.patience.begin_s):
        crowd.kill()
        text = f"only {len(marked(mark))} of its {SESSIONS + 1} processes could be seen in /proc"
        yield Proof("kill", "not proven", text)
        return
    count, began = len(marked(mark)), time.monotonic()
    crowd.kill()
    gone = watch.sees(lambda: not marked(mark), watch.patience.gone_s)
    took = time.monotonic() - began
    what = f"{count} processes, {SESSIONS} of them in sessions of their own"
    if not gone:
        text = f"{what}: {len(marked(mark))} live {watch.patience.gone_s:.0f} s after the kill"
        yield Proof("kill", "broken", text)
        return
    yield _timed(Proof("kill", "held", f"{what}: gone with the kill", took), KILL_S)


def _new_mark() -> str:
    return os.urandom(8).hex()


def marked(mark: str) -> list[int]:
    """Live processes whose environment carries it, wherever they have gone."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:  # gone, or somebody else's
            continue
    return found


# -- escapes ------------------------------------------------------------------------------------


def _escape(pen: Pen, watch: _Watch) -> Iterator[Proof]:
    if not pen.promises.catches_escapes:
        text = "agents have no walls that they could leave; what hides its marks is not found"
        yield Proof("escape", "not promised", text)
        return
    mark = _new_mark()
    runner = pen.start("escaper", ESCAPER, env={MARK: mark, "WAY_OUT": " ".join(pen.way_out)})
    _begun(runner, watch, "out")
    if runner.output().split().count("refused") == len(pen.way_out):
        runner.kill()
        yield Proof("escape", "held", "it could not leave its cgroup")
        return
    began = time.monotonic()
    caught = watch.sees(lambda: all(map(_is_inside, marked(mark))), watch.patience.caught_s)
    took, lives = time.monotonic() - began, bool(marked(mark))
    runner.kill()
    if caught:
        how = "was put back" if lives else "was ended"
        when = f"after {took:.1f} s" if "outside" in runner.output() else "before it looked around"
        yield Proof("escape", "held", f"it left its cgroup and {how} {when}", took)
    else:
        text = f"it left its cgroup and stayed out for {watch.patience.caught_s:.0f} s"
        yield Proof("escape", "broken", text)


def _is_inside(pid: int) -> bool:
    where = directories_of(pid)
    path = where.get("memory") or where.get(UNIFIED, "")
    return f"/{FLEET}/" in path or not path  # no path: it has just ended
