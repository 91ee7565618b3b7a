"""How often a killing looks at all processes: often while somebody new comes, else ever less."""

from __future__ import annotations

from typing import cast

from paddock.drivers.local.keeper.connection import Connection
from paddock.drivers.local.keeper.killing import LONGEST_ROUND_S, ROUND_S, Killing
from paddock.drivers.local.keeper.members import Process


def a_process(pid: int, *, start: int = 1) -> Process:
    return Process(pid, "R", 1, pid, start)


def a_killing() -> Killing:
    nobody = cast("Connection", None)  # it is not answered here
    return Killing("a", nobody, 1, [])


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
