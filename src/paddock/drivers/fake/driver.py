"""Pretend attempts on the event loop: scripted, quick, repeatable. No process is started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from paddock.core.events import (
    CheckpointDeclined,
    CheckpointWritten,
    Emptied,
    Event,
    Exited,
    SpawnFailed,
    Started,
)
from paddock.core.run import Attempt, Exit
from paddock.drivers.fake.script import BadScript, Leave, Print, Script, Sleep, Use, read_script
from paddock.ports import Guarantees, Launch, Stop

Tell = Callable[[Event], None]
Write = Callable[[Attempt, bytes], None]

SIGTERM, SIGKILL = 15, 9


@dataclass(slots=True)
class _Pretender:
    """One attempt under way, or what is left of it."""

    launch: Launch
    script: Script
    tell: Tell
    deed: int = 0
    used_bytes: int = 0
    peak_bytes: int = 0
    timer: asyncio.TimerHandle | None = None
    wake_at: float = 0.0
    frozen_left_s: float | None = None
    ended: bool = False
    strays: asyncio.TimerHandle | None = None
    others: list[asyncio.TimerHandle] = field(default_factory=list)


class FakeDriver:
    """A driver like any other, but for `adopt`: its attempts die with it, as it says."""

    def __init__(
        self, *, write: Write | None = None, expect: Callable[[Launch], object] = lambda _: None
    ) -> None:
        self._write, self._expect = write, expect
        self._pretenders: dict[Attempt, _Pretender] = {}
        self._known: set[Attempt] = set()

    @property
    def guarantees(self) -> Guarantees:
        return Guarantees(
            name="fake",
            hard_memory_wall=True,
            kills_whole_tree=True,
            can_freeze=True,
            survives_daemon=False,
        )

    # -- what the loop asks for -----------------------------------------------------------

    def start(self, launch: Launch, tell: Tell) -> None:
        if launch.attempt in self._known:
            return  # asked twice: it is, or was, under way
        self._known.add(launch.attempt)
        loop = asyncio.get_running_loop()
        try:
            script = read_script(launch.command)
        except BadScript as error:
            loop.call_soon(tell, self._failure(launch.attempt, str(error)))
            return
        if script.fails is not None:
            loop.call_soon(tell, self._failure(launch.attempt, script.fails))
            return
        self._expect(launch)
        self._pretenders[launch.attempt] = pretender = _Pretender(launch, script, tell)
        loop.call_soon(self._begin, pretender)

    def warn(self, attempt: Attempt) -> None:
        pretender = self._alive(attempt)
        if pretender is not None and pretender.script.wraps_up is not None:
            self._leave(pretender, Exit(code=pretender.script.wraps_up))

    def ask_checkpoint(self, attempt: Attempt) -> None:
        pretender = self._alive(attempt)
        if pretender is None:
            return
        if pretender.script.checkpoints_s is None:
            asyncio.get_running_loop().call_soon(
                pretender.tell, CheckpointDeclined(_now(), attempt)
            )
            return
        delay_s = pretender.script.checkpoints_s
        handle = asyncio.get_running_loop().call_later(delay_s, self._checkpoint, pretender)
        pretender.others.append(handle)

    def terminate(self, attempt: Attempt) -> None:
        pretender = self._alive(attempt)
        if pretender is not None and not pretender.script.deaf and pretender.frozen_left_s is None:
            self._leave(pretender, Exit(signal=SIGTERM))

    def kill(self, attempt: Attempt, why: Stop) -> None:  # noqa: ARG002
        pretender = self._pretenders.get(attempt)
        if pretender is None:
            return
        if not pretender.ended:
            self._leave(pretender, Exit(signal=SIGKILL), strays=False)
        elif pretender.strays is not None:
            pretender.strays.cancel()
            self._empty(pretender)

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> None:  # noqa: ARG002
        pretender = self._alive(attempt)
        if pretender is not None and pretender.frozen_left_s is None:
            pretender.frozen_left_s = max(0.0, pretender.wake_at - _now())
            if pretender.timer is not None:
                pretender.timer.cancel()

    def thaw(self, attempt: Attempt) -> None:
        pretender = self._alive(attempt)
        if pretender is not None and pretender.frozen_left_s is not None:
            left_s, pretender.frozen_left_s = pretender.frozen_left_s, None
            self._wait(pretender, left_s)

    def used_bytes(self) -> Mapping[Attempt, int]:
        return {attempt: each.used_bytes for attempt, each in self._pretenders.items()}

    def cpu_limits(self) -> Mapping[Attempt, float]:
        return {}

    def cpu_s(self) -> Mapping[Attempt, float]:
        return dict.fromkeys(self._pretenders, 0.0)  # pretending costs nothing

    def processes(self) -> Mapping[Attempt, int]:
        return dict.fromkeys(self._pretenders, 1)

    def adopt(self, tell: Tell) -> frozenset[Attempt]:  # noqa: ARG002
        return frozenset()

    def forget(self, attempt: Attempt) -> None:
        self._known.discard(attempt)

    # -- how they live --------------------------------------------------------------------

    def _begin(self, pretender: _Pretender) -> None:
        if pretender.ended:
            return
        pretender.tell(Started(_now(), pretender.launch.attempt))
        self._go_on(pretender)

    def _go_on(self, pretender: _Pretender) -> None:
        """Deed after deed, until one takes time or is the last."""
        while not pretender.ended:
            deed = pretender.script.deeds[pretender.deed]
            pretender.deed += 1
            match deed:
                case Use():
                    self._use(pretender, deed.bytes)
                case Sleep():
                    self._wait(pretender, deed.seconds)
                    return
                case Print():
                    self._print(pretender, deed.text)
                case Leave():
                    self._leave(pretender, Exit(code=deed.code, signal=deed.signal))

    def _use(self, pretender: _Pretender, used_bytes: int) -> None:
        pretender.used_bytes = used_bytes
        pretender.peak_bytes = max(pretender.peak_bytes, used_bytes)
        if used_bytes > pretender.launch.limit_bytes:
            self._leave(pretender, Exit(signal=SIGKILL, oom=True))

    def _wait(self, pretender: _Pretender, seconds: float) -> None:
        pretender.wake_at = _now() + seconds
        loop = asyncio.get_running_loop()
        pretender.timer = loop.call_later(seconds, self._go_on, pretender)

    def _print(self, pretender: _Pretender, text: str) -> None:
        if self._write is not None:
            self._write(pretender.launch.attempt, text.encode() + b"\n")

    def _leave(self, pretender: _Pretender, ended: Exit, *, strays: bool = True) -> None:
        pretender.ended = True
        for handle in (pretender.timer, *pretender.others):
            if handle is not None:
                handle.cancel()
        strays_s = pretender.script.strays_s if strays else None
        attempt = pretender.launch.attempt
        known = Exit(
            code=ended.code, signal=ended.signal, oom=ended.oom, peak_bytes=pretender.peak_bytes
        )
        if strays_s is None:
            del self._pretenders[attempt]
        else:
            loop = asyncio.get_running_loop()
            pretender.strays = loop.call_later(strays_s, self._empty, pretender)
        pretender.tell(Exited(_now(), attempt, known, empty=strays_s is None))

    def _empty(self, pretender: _Pretender) -> None:
        attempt = pretender.launch.attempt
        if self._pretenders.pop(attempt, None) is not None:
            pretender.tell(Emptied(_now(), attempt))

    def _checkpoint(self, pretender: _Pretender) -> None:
        if not pretender.ended:
            pretender.tell(CheckpointWritten(_now(), pretender.launch.attempt))

    def _alive(self, attempt: Attempt) -> _Pretender | None:
        pretender = self._pretenders.get(attempt)
        return None if pretender is None or pretender.ended else pretender

    def _failure(self, attempt: Attempt, reason: str) -> SpawnFailed:
        return SpawnFailed(_now(), attempt, reason, permanent=True)


def _now() -> float:
    return asyncio.get_running_loop().time()
