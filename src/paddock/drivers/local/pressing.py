"""Making attempts do things: polite signals to the main process, the others to every process.

Through the keeper while there is one; who has lost it is reached by mark.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Final

from paddock.drivers.local.containment import Containment
from paddock.drivers.local.keeper.members import send, send_each
from paddock.drivers.local.keepers import Keepers
from paddock.drivers.local.life import Life, Phase
from paddock.drivers.local.line import Message
from paddock.drivers.local.memory import Marks
from paddock.drivers.local.orphans import Orphans
from paddock.ports import Stop

FREEZE_ROUNDS: Final = 20
FREEZE_AGAIN_S: Final = 0.02
STARTING_AGAIN_S: Final = 0.05
# A keeper that stands still must not keep anybody alive: then we kill without it.
KILL_HEARD_WITHIN_S: Final = 2.0
# Of what the cgroup's kill has struck nothing is left then, as a rule. Looked for at once, the look
# at all processes would take the cores from those that die.
LOOK_AFTER_MS: Final = 50


class Pressing:
    def __init__(
        self, keepers: Keepers, orphans: Orphans, containment: Containment, marks: Marks
    ) -> None:
        self._keepers = keepers
        self._orphans = orphans
        self._containment = containment
        self._marks = marks

    def politely(self, life: Life, number: int) -> None:
        """Where it does no harm; the keeper knows whether it would."""
        if life.phase is Phase.ORPHANED:
            self._orphans.signal_main(life, number)
            return

        def answered(reply: Message) -> None:
            if reply.get("error") == "starting" and not life.is_over:
                _later(STARTING_AGAIN_S, lambda: self.politely(life, number))

        self._keepers.ask("signal", answered, attempt=life.mark, signal=number, to="main")

    def ask(self, life: Life) -> None:
        """For a checkpoint."""
        self.politely(life, signal.SIGUSR2)

    def everyone(
        self, life: Life, number: int, answered: Callable[[Message], None] | None = None
    ) -> None:
        if life.phase is not Phase.ORPHANED:
            self._keepers.ask("signal", answered, attempt=life.mark, signal=number, to="members")
            return
        sent = self._orphans.signal(life, number)
        if answered is not None:
            answered({"sent": sent})

    def kill(self, life: Life, why: Stop) -> None:
        """The cgroup is struck at once; the keeper looks later for who is left. But it is told
        first, and why: that counts even if we, or all of its processes, are gone by then. May be
        asked again and again."""
        if life.phase is Phase.ORPHANED:
            self._containment.kill(life.attempt)
            self._orphans.hurry()
            return

        def heard(_: Message) -> None:
            life.kill_heard = True

        life.kill_heard = False
        self._keepers.ask("kill_all", heard, attempt=life.mark, **self._kill_facts(life, why))
        self._keepers.say_now()
        self._containment.kill(life.attempt)
        _later(KILL_HEARD_WITHIN_S, lambda: self._kill_unheard(life))

    def _kill_facts(self, life: Life, why: Stop) -> Message:
        facts: Message = {}
        if why.outcome is not None:
            facts["why"] = {"outcome": why.outcome, "because": why.because}
        if disguised := self._marks.disguised(life.mark):
            facts["also"] = disguised
        # One that is only asked for may not be in its cgroup yet: nobody else would strike it.
        if life.phase is Phase.KEPT and self._containment.holds(life.attempt):
            facts["after_ms"] = LOOK_AFTER_MS
        return facts

    def _kill_unheard(self, life: Life) -> None:
        if life.kill_heard or life.is_over or life.phase is Phase.ORPHANED:
            return
        members = self._marks.census([life], self._keepers.pid).members.get(life.mark, [])
        send_each(members, signal.SIGKILL)
        if life.pid:  # whatever the look said of it
            send(life.pid, life.start, signal.SIGKILL)

    def freeze(self, life: Life, *, reclaim: bool) -> None:
        life.frozen = True
        if not self._containment.freeze(life.attempt, reclaim=reclaim):
            self._stop_until_still(life, FREEZE_ROUNDS)

    def thaw(self, life: Life) -> None:
        life.frozen = False
        if not self._containment.thaw(life.attempt):
            self.everyone(life, signal.SIGCONT)

    def _stop_until_still(self, life: Life, rounds: int) -> None:
        """What was forked just before its parent stopped still runs, and may fork again."""

        def answered(reply: Message) -> None:
            if reply.get("sent") and rounds > 1:
                _later(FREEZE_AGAIN_S, lambda: self._stop_until_still(life, rounds - 1))

        if life.frozen and not life.is_over:
            self.everyone(life, signal.SIGSTOP, answered)


def _later(seconds: float, do: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(seconds, do)
