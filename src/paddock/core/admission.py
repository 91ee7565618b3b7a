"""What the fleet is expected to hold, and whether one more run fits: the two sums."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from .policy import Policy, SizingPolicy
from .pressure import emergency_bytes
from .sizing import NOTHING, Known, Moments, quantile
from .stride import Stride
from .units import MIB

A_LITTLE: Final = 16 * MIB  # between two looks anybody may take so much and is not in a burst
A_BURST_S: Final = 2.0  # measured on real agents: 1 to 2 s
A_PAUSE_S: Final = 0.5  # growth after so long is another one


@dataclass(slots=True)
class _Held:
    group: str
    limit_bytes: int
    used_bytes: int = 0
    young: bool = True
    peak_bytes: int = 0  # of what was sampled, and the kernel's own at the end
    grew_at: float = -math.inf  # when it was last seen to have taken more than a little
    grew_from_bytes: int = 0  # what it used before that began

    @property
    def fixed_bytes(self) -> int:
        return max(self.limit_bytes, self.used_bytes)


class Sums(NamedTuple):
    """Additive facts about a set of attempts; a candidate's or victim's are added or taken off."""

    fixed_bytes: int = 0  # groups without evidence: max(limit, in use) each
    learned_used_bytes: int = 0
    learned_limit_bytes: int = 0
    used_bytes: int = 0
    moments: Moments = NOTHING
    resting_bytes: int = 0  # only of those who are asked for by name: it changes with time

    def plus(self, other: Sums, sign: int = 1) -> Sums:
        return Sums(
            self.fixed_bytes + sign * other.fixed_bytes,
            self.learned_used_bytes + sign * other.learned_used_bytes,
            self.learned_limit_bytes + sign * other.learned_limit_bytes,
            self.used_bytes + sign * other.used_bytes,
            self.moments
            if other.moments is NOTHING
            else [a + sign * b for a, b in zip(self.moments, other.moments, strict=True)],
            self.resting_bytes + sign * other.resting_bytes,
        )

    @property
    def guaranteed_bytes(self) -> int:
        """What it takes if everybody goes to the limit at once."""
        return self.fixed_bytes + max(self.learned_limit_bytes, self.learned_used_bytes)

    def modelled_bytes(self, policy: SizingPolicy) -> float:
        """The quantile of the learned attempts' sum; never more than all their walls."""
        return min(quantile(self.moments, policy), float(self.learned_limit_bytes))

    def expected_bytes(self, policy: SizingPolicy) -> int:
        """What is promised: the model, or what is in use where that is more."""
        return self.fixed_bytes + int(max(self.modelled_bytes(policy), self.learned_used_bytes))


class Demand:
    """The memory held by everything that is starting, running or stopping."""

    def __init__(self, policy: SizingPolicy) -> None:
        self.sums = Sums()
        self.policy = policy
        self.stride = Stride()
        self._held: dict[str, _Held] = {}
        self._members: dict[str, set[str]] = {}
        self._known: dict[str, Known] = {}  # groups with evidence
        self._changes = 0
        self._modelled: float | None = 0.0
        self._at = -math.inf  # the last sample of anybody
        self._resting = 0  # since that; 0: to be added up anew

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, run: str) -> bool:
        return run in self._held

    def set_policy(self, policy: SizingPolicy) -> None:
        self.policy = policy
        self._modelled = None
        self._resting = 0

    def enter(self, run: str, *, group: str, limit_bytes: int) -> None:
        self._held[run] = held = _Held(group, limit_bytes)
        self._members.setdefault(group, set()).add(run)
        self._set(self.sums.plus(self._sums_of(held)))
        self._resting = self._resting and self._resting + self._at_rest(held)

    def leave(self, run: str) -> int:
        """What it held at most."""
        held = self._held.pop(run)
        self._members[held.group].discard(run)
        if not self._members[held.group]:
            del self._members[held.group]
        self._set(self.sums.plus(self._sums_of(held), -1))
        self._resting = self._resting and self._resting - self._at_rest(held)
        self._changes += 1
        if self._changes >= 256 or not self._held:
            self._recount()  # floating sums drift by rounding; a recount now and then ends it
        return held.peak_bytes

    def use(self, run: str, used_bytes: int, *, at: float) -> None:
        held = self._held[run]
        before = held.fixed_bytes
        grown = used_bytes - held.used_bytes
        self._at, self._resting = at, 0
        self.stride.grew(grown)
        if grown > A_LITTLE:
            if held.grew_at < at - A_PAUSE_S:
                held.grew_from_bytes = held.used_bytes
            held.grew_at = at
        elif used_bytes <= held.grew_from_bytes:
            held.grew_at = -math.inf  # that burst is over
        held.used_bytes = used_bytes
        held.peak_bytes = max(held.peak_bytes, used_bytes)
        s = self.sums
        if self._model_of(held) is not None:
            fixed, learned = s.fixed_bytes, s.learned_used_bytes + grown
        else:
            fixed, learned = s.fixed_bytes + held.fixed_bytes - before, s.learned_used_bytes
        # Once per agent and tick: `_replace` would cost three times as much.
        self.sums = Sums(fixed, learned, s.learned_limit_bytes, s.used_bytes + grown, s.moments)

    def settle(self, run: str) -> None:
        """The attempt is not young any more."""
        held = self._held[run]
        if held.young:
            young = self._sums_of(held)
            held.young = False
            self._set(self.sums.plus(young, -1).plus(self._sums_of(held)))

    def learn(self, group: str, known: Known | None) -> None:
        """What is now known of a group; every attempt of it is counted anew."""
        before = self._known.get(group)
        if known is before:
            return
        self._resting = 0
        if known is None:
            self._known.pop(group, None)
        else:
            self._known[group] = known
        members = self._members.get(group)
        if members and before and known and before.limit_bytes == known.limit_bytes:
            # Only the vector changes while a group stays known.
            was, now = self._vector(members, before), self._vector(members, known)
            changes = zip(self.sums.moments, was, now, strict=True)
            self._set(self.sums._replace(moments=[s - w + n for s, w, n in changes]))
        elif members:
            self._recount()

    def _model_of(self, held: _Held) -> Known | None:
        """None for an attempt whose group, or whose wall, has not been seen often enough."""
        known = self._known.get(held.group)
        return None if known is None or held.limit_bytes > known.limit_bytes else known

    def _vector(self, members: Collection[str], known: Known) -> list[float]:
        """What all attempts of one group add up to that the model speaks of."""
        held = [self._held[run] for run in members]
        meant = [each for each in held if each.limit_bytes <= known.limit_bytes]
        young = sum(each.young for each in meant)
        grown = len(meant) - young
        pairs = zip(known.grown, known.young, strict=True)
        return [grown * g + young * y for g, y in pairs]

    def typical_bytes(self, group: str, limit_bytes: int) -> int:
        """What one attempt of a group is expected to use, the same for all of them."""
        known = self._model_of(_Held(group, limit_bytes))
        return limit_bytes if known is None else min(limit_bytes, int(known.typical_bytes))

    def learned(self, group: str) -> bool:
        return group in self._known

    def peak_of(self, run: str) -> int:
        return self._held[run].peak_bytes

    def saw_peak(self, run: str, peak_bytes: int) -> None:
        self._held[run].peak_bytes = peak_bytes

    def is_young(self, run: str) -> bool:
        return self._held[run].young

    def used_by(self, run: str) -> int:
        return self._held[run].used_bytes

    def grew_at(self, run: str) -> float:
        return self._held[run].grew_at

    def stood_still(self, run: str, pause_s: float) -> None:
        """Who was frozen while it grew still grows when it goes on."""
        self._held[run].grew_at += pause_s

    @property
    def expected_bytes(self) -> int:
        return self.sums.fixed_bytes + int(max(self.modelled_bytes(), self.sums.learned_used_bytes))

    def in_a_burst(self, run: str, *, at: float) -> bool:
        return self._bursts(self._held[run], at=at)

    def _bursts(self, held: _Held, *, at: float) -> bool:
        """It grew in the last moments, and not only up to what such attempts use at rest."""
        known = self._model_of(held)
        grown, high = (known.grown_bytes, known.typical_bytes) if known else (0.0, 0.0)
        lately = held.grew_at >= at - A_BURST_S
        return lately and (held.grew_from_bytes >= grown or held.used_bytes > high)

    def grows_up(self, run: str) -> bool:
        """It uses not half of what such attempts use: it has yet to take the rest."""
        held = self._held[run]
        known = self._model_of(held)
        return known is not None and held.used_bytes < known.middle_bytes / 2

    def resting_bytes(self, *others: _Held) -> int:
        """What all will use when nobody is in a burst and those who grow up have done so."""
        self._resting = self._resting or sum(map(self._at_rest, self._held.values()))
        return self._resting + sum(map(self._at_rest, others))

    def _at_rest(self, held: _Held) -> int:
        if (known := self._model_of(held)) is None:
            return held.fixed_bytes
        used = held.grew_from_bytes if self._bursts(held, at=self._at) else held.used_bytes
        rest = known.middle_bytes if self.policy.take_turns else known.resting_bytes
        return max(used, int(rest)) if used < known.grown_bytes else used

    def largest_burst(self, one: Newcomer) -> int:
        """How far above their rest the learned, and `one`, go in a large burst."""
        known = (self._known.get(group) for group in {*self._members, one.group})
        if self.policy.take_turns:
            ways = (each.wall_bytes - each.middle_bytes for each in known if each)
            return int(max(ways, default=0))
        return max((int(each.top_bytes - each.resting_bytes) for each in known if each), default=0)

    def at_rest(self, shares: Iterable[tuple[str, float]]) -> float:
        """What such shares of these attempts use at rest."""
        return sum(share * self._at_rest(self._held[run]) for run, share in shares if share)

    def one(self, *, group: str, limit_bytes: int) -> Sums:
        """What one more attempt of this group would add."""
        return self._sums_of(_Held(group, limit_bytes))

    def of(self, runs: Iterable[str]) -> Sums:
        """What these attempts hold together."""
        held = {run: self._held[run] for run in runs}
        groups: dict[str, list[str]] = {}
        for run, each in held.items():
            groups.setdefault(each.group, []).append(run)
        at_rest = sum(map(self._at_rest, held.values()))
        return self._added_up(held.values(), groups)._replace(resting_bytes=at_rest)

    def modelled_bytes(self) -> float:
        if self._modelled is None:
            self._modelled = self.sums.modelled_bytes(self.policy)
        return self._modelled

    def _sums_of(self, held: _Held) -> Sums:
        known = self._model_of(held)
        if known is None:
            return Sums(fixed_bytes=held.fixed_bytes, used_bytes=held.used_bytes)
        moments = known.young if held.young else known.grown
        return Sums(0, held.used_bytes, held.limit_bytes, held.used_bytes, moments)

    def recounted(self) -> Sums:
        """The sums made anew from every attempt; the kept ones must agree with it."""
        return self._added_up(self._held.values(), self._members)

    def _added_up(self, all_held: Iterable[_Held], groups: Mapping[str, Collection[str]]) -> Sums:
        """Group by group: one vector for each, however many attempts it has."""
        vector = [0.0] * len(NOTHING)
        for group, members in groups.items():
            known = self._known.get(group)
            if known is not None:
                one = self._vector(members, known)
                vector = [v + w for v, w in zip(vector, one, strict=True)]
        ones = [self._sums_of(held) for held in all_held]
        limits = sum(one.learned_limit_bytes for one in ones)
        return Sums(
            sum(one.fixed_bytes for one in ones),
            sum(one.learned_used_bytes for one in ones),
            limits,
            sum(one.used_bytes for one in ones),
            vector if limits else NOTHING,
        )

    def _recount(self) -> None:
        self._changes = 0
        self._set(self.recounted())

    def _set(self, sums: Sums) -> None:
        if sums.moments is not self.sums.moments:
            self._modelled = None
        self.sums = sums


class Newcomer(NamedTuple):
    group: str
    limit_bytes: int
    by_limits: bool = False
    lent_bytes: int = 0  # of the room that is kept for a burst: so much is back before it is missed


class Fit(NamedTuple):
    """The two sums for one candidate; it fits when nothing is short."""

    need_bytes: int
    wall_short_bytes: int  # > 0: over the fleet wall
    host_short_bytes: int  # > 0: the host would fall below its floor of free memory
    by_limits: bool = False  # counted with everybody's full limit, although sizes are known

    @property
    def short_bytes(self) -> int:
        return max(self.wall_short_bytes, self.host_short_bytes)

    def __bool__(self) -> bool:
        return self.short_bytes <= 0


def fit(
    demand: Demand, policy: Policy, one: Newcomer, *, available_bytes: int, gone: Sums | None = None
) -> Fit:
    """Both sums of design.md: within the fleet's wall, and within what the host has free.

    Also where much risk is allowed, one of them can have its largest burst while all others rest:
    else those who let it pass would wait in vain.

    `gone` is what attempts hold that are counted as if they had left already. Where the learned
    attempts already use more than their model says, the newcomer's share comes on top of that.

    Where bursts take turns only that counts, less what comes back while one waits: a quantile of
    what happens all the time says nothing.
    """
    base = demand.sums if gone is None else demand.sums.plus(gone, -1)
    guaranteed = base.guaranteed_bytes + one.limit_bytes
    if one.by_limits and guaranteed > policy.wall_bytes:
        return Fit(one.limit_bytes, guaranteed - policy.wall_bytes, 1, by_limits=True)
    added = demand.one(group=one.group, limit_bytes=one.limit_bytes)
    modelled = demand.modelled_bytes() if gone is None else base.modelled_bytes(policy.sizing)
    after = base.plus(added)
    modelled_after = after.modelled_bytes(policy.sizing)
    share = modelled_after - modelled if added.learned_limit_bytes else 0.0
    held = base.fixed_bytes + int(max(modelled, base.learned_used_bytes))
    promised = after.fixed_bytes + int(max(modelled_after, base.learned_used_bytes + share))
    # What is promised but not yet in use will come out of MemAvailable.
    available = available_bytes + (gone.used_bytes if gone else 0)
    short = policy.floor_bytes - (available - (promised - base.used_bytes))
    wall_short = promised - policy.wall_bytes
    in_turns = policy.sizing.take_turns and after.learned_limit_bytes > 0
    if in_turns and added.learned_limit_bytes:
        short = wall_short = 0
    if (added.learned_limit_bytes or in_turns) and short <= 0:
        at_rest = demand.resting_bytes(_Held(one.group, one.limit_bytes))
        burst = max(0, demand.largest_burst(one) - one.lent_bytes)
        in_a_burst = at_rest - (gone.resting_bytes if gone else 0) + burst
        room = available + base.used_bytes - emergency_bytes(policy.total_bytes, policy.ladder)
        room = min(room, policy.wall_bytes) if in_turns else room
        short = max(short, min(in_a_burst, guaranteed) - room)
    return Fit(promised - held, wall_short, short)
