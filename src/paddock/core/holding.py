"""Who stands still, and who goes on, while bursts of an overcommitted fleet wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from .fleet import Fleet
from .freezing import freeze, thaw
from .outlook import back_within
from .pressure import Round, Rung, emergency_bytes
from .run import Frozen, Priority, Run, Running
from .units import MIB

A_LOOK: Final = 192 * MIB  # what a burst takes between two looks: 2 GB/s for 100 ms
A_MOMENT_S: Final = 0.35  # a few looks: who took something in it still grows
IN_TURNS_S: Final = 0.25  # likewise, where looks are sooner
LONGEST_LOAN_S: Final = 3.0
CRITICAL, BURSTS, GROWS, YOUNG, RESTS = range(5)  # in the order in which they go on
WAITS: Final = "agents in a burst take turns"
STEADY: Final = 16  # a sixteenth of its limit is how much less who goes on counts with


class Claim(NamedTuple):
    """What one that runs does, and how much it could still take. In the order they go on."""

    kind: int
    weighed_bytes: int  # who goes on in a hold counts with a little less
    number: int
    left_bytes: int
    run: Run


def here(fleet: Fleet) -> Iterator[Run]:
    """Those whose memory is this host's."""
    return (run for run in fleet.live_runs() if not run.spec.away)


def hold(fleet: Fleet, *, give_up_at: float) -> None:
    """Bursts wait for each other: whoever is deepest in one must be able to go to its wall."""
    go_on, held = _parted(fleet)
    below = fleet.ladder.rung < Rung.PREEMPT
    if below and not go_on:
        go_on, held = held[:1], held[1:]  # to the step, at which somebody gives way
    for run in go_on:
        thaw(fleet, run)
    fleet.round = Round(tuple(run.id for run in held), give_up_at=give_up_at, hold=True)
    why = WAITS if below else fleet.ladder.because
    for run in held:
        freeze(fleet, run, by=Frozen.BY_PRESSURE, because=why, briefly=below)


def _parted(fleet: Fleet) -> tuple[list[Run], list[Run]]:
    """Who goes on and who is held, as a banker lends.

    The deepest needs least to be through, gives all of it back, and then the next is the deepest.
    The others who grow go on too, as long as what they take until the next look leaves it that.
    Those who rest go on as long as one of them who begins a burst would be seen in time; who has
    yet to grow up will begin any moment. The critical always go on.
    """
    room, look = _room(fleet), fleet.demand.stride.size_bytes if fleet.takes_turns else A_LOOK
    # Where bursts take turns memory is near its end more often: two may begin in the same look.
    enough = (3 if fleet.takes_turns else 2) * look
    go_on, held, resting = list[Run](), list[Run](), list[Run]()
    claims = sorted(_claims(fleet))
    deepest = next((claim for claim in claims if claim.kind == BURSTS), None)
    spare, lent = room, _lent(fleet, deepest)
    for claim in claims:
        if claim.kind == CRITICAL or claim is deepest:
            may = claim.kind == CRITICAL or claim.left_bytes <= room or room >= enough
            (go_on if may else held).append(claim.run)
            spare -= claim.weighed_bytes
        elif claim.kind in (BURSTS, GROWS):
            may = spare + (lent if claim.kind == GROWS else 0) >= enough and room >= enough
            (go_on if may else held).append(claim.run)
            spare -= look
        else:
            waits = claim.kind == YOUNG and deepest is not None and spare < enough
            (held if waits else resting).append(claim.run)
    fleet.spare_starts = max(0, (spare - enough) // look + 1)
    if room < enough - look:
        few = _few(fleet, resting, all_but_one=room < look, besides=len(go_on))
        held, resting = held + resting[few:], resting[:few]
    return go_on + resting, held


def _room(fleet: Fleet) -> int:
    """What the fleet may still take before the last step."""
    assert fleet.host is not None and fleet.host.available_bytes is not None
    floor = emergency_bytes(fleet.host.total_bytes, fleet.policy.ladder)
    left_of_wall = fleet.policy.wall_bytes - fleet.demand.sums.used_bytes
    return min(left_of_wall, fleet.host.available_bytes - floor)


def _lent(fleet: Fleet, deepest: Claim | None) -> int:
    """Of the way that is kept for the deepest: what is back before it comes there. For those who
    grow up, who take a known part of it and no more."""
    if deepest is None or not fleet.takes_turns:
        return 0
    needed_s = deepest.left_bytes / fleet.demand.stride.bytes_per_s
    return back_within(fleet, min(needed_s, LONGEST_LOAN_S))


def _few(fleet: Fleet, resting: list[Run], *, all_but_one: bool, besides: int) -> int:
    """How many of those who rest go on where little is left; these come first afterwards.

    One alone hardly ever begins a burst just now, and somebody must come to an end.
    """
    resting.sort(key=lambda run: (not _on_top(fleet, run), run.state.since_at))
    alone = 0 if besides else 1
    return alone if all_but_one else max(alone, 2 * len(resting) // 3)


def _claims(fleet: Fleet) -> Iterator[Claim]:
    """Who goes on in a hold counts with a little less, so that two who are alike do not take turns
    with every look. Where bursts take turns what it could really take decides whether it may."""
    is_held = fleet.round is not None and fleet.round.hold
    for number, run in enumerate(here(fleet)):
        if isinstance(run.state, Running) and run.state.frozen is not Frozen.BY_USER:
            limit = run.state.hold.limit_bytes
            left = max(0, limit - fleet.demand.used_by(run.id))
            steady = limit // STEADY if is_held and run.id not in fleet.pressed else 0
            weighed = max(0, left - steady)
            need = left if fleet.takes_turns else weighed
            yield Claim(_does(fleet, run), weighed, number, need, run)


def _does(fleet: Fleet, run: Run) -> int:
    """As it is, or was when it was frozen."""
    assert isinstance(run.state, Running)
    seen_at = run.state.frozen_at if run.state.frozen else fleet.now
    turns = fleet.takes_turns
    if run.priority is Priority.CRITICAL or (turns and _stood_long(fleet, run.state)):
        return CRITICAL
    grows = fleet.demand.grew_at(run.id) >= seen_at - (IN_TURNS_S if turns else A_MOMENT_S)
    if fleet.demand.in_a_burst(run.id, at=seen_at) and (grows or not turns):
        return BURSTS
    if grows:
        return GROWS
    return YOUNG if turns and fleet.demand.grows_up(run.id) else RESTS


def _stood_long(fleet: Fleet, state: Running) -> bool:
    """Where no step is reached nobody is stopped for it: so its turn comes without that."""
    still_s = fleet.now - state.frozen_at if state.frozen else 0.0
    return still_s >= fleet.policy.ladder.longest_hold_s


def _on_top(fleet: Fleet, run: Run) -> bool:
    """In a burst that grows no more: it gives back soonest. Where bursts take turns."""
    assert isinstance(run.state, Running)
    seen_at = run.state.frozen_at if run.state.frozen else fleet.now
    return fleet.takes_turns and fleet.demand.in_a_burst(run.id, at=seen_at)
