"""When a killing looks at all processes: often while somebody new comes, else ever less; and not
before what was struck already has had the time to die."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import cast

from paddock.drivers.local.keeper.children import Children
from paddock.drivers.local.keeper.connection import Connection
from paddock.drivers.local.keeper.killing import LONGEST_ROUND_S, ROUND_S, Killing, Killings
from paddock.drivers.local.keeper.members import Process


def a_process(pid: int, *, start: int = 1) -> Process:
    return Process(pid, "R", 1, pid, start)


def a_killing() -> Killing:
    nobody = cast("Connection", None)  # it is not answered here
    return Killing("a", nobody, 1)


def test_what_only_dies_is_looked_at_ever_less() -> None:
    killing, dying = a_killing(), [a_process(7)]
    killing.note(dying)
    assert killing.round_s == ROUND_S
    rounds = []
    for _ in range(6):
        killing.note(dying)
        rounds.append(killing.round_s / ROUND_S)
    assert rounds == [2, 4, 8, 16, 16, 16]
    assert killing.round_s == LONGEST_ROUND_S


def test_who_comes_anew_or_is_not_to_be_seen_is_looked_for_at_once() -> None:
    killing = a_killing()
    for left in ([a_process(7)], [a_process(7)], [a_process(7)]):
        killing.note(left)
    assert killing.round_s > ROUND_S
    killing.note([a_process(7), a_process(8)])
    assert killing.round_s == ROUND_S
    killing.note([a_process(7, start=2)])  # the same number, and somebody else
    assert killing.round_s == ROUND_S
    killing.note([])
    assert killing.round_s == ROUND_S


class Looks:
    """Children of whom nobody is left, and a connection: looks are counted, answers kept."""

    def __init__(self) -> None:
        self.attempts: dict[str, object] = {}
        self.looks = 0
        self.answers: list[object] = []

    def census(self) -> SimpleNamespace:
        self.looks += 1
        return SimpleNamespace(members={})

    def send(self, message: dict[str, object]) -> None:
        self.answers.append(message["id"])


def test_what_was_struck_already_is_looked_for_later_and_others_do_not_wait_for_it() -> None:
    looks = Looks()
    killings, asker = Killings(cast("Children", looks)), cast("Connection", looks)
    now = time.monotonic()
    killings.add(Killing("struck", asker, 1, after_s=100.0))
    assert 90 < (killings.wait_s(now) or 0) <= 101
    killings.go_on(now + 1)
    assert (looks.looks, looks.answers) == (0, [])
    killings.add(Killing("other", asker, 2))
    killings.go_on(now + 1)
    assert (looks.looks, looks.answers) == (1, [2])
    killings.go_on(now + 101)
    assert (looks.looks, looks.answers) == (2, [2, 1])
    assert killings.wait_s(now) is None
