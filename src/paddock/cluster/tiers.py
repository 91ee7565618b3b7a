"""How much an agent gets in a cluster, by role and model (K8S-2): data, and the way to look it up.

Requests are what a node must have free, limits what the kernel holds an agent to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from paddock.cluster.labels import digest

GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Tier:
    role: str  # "" is any
    cpu_request: float
    cpu_limit: float
    memory_request_bytes: int
    memory_limit_bytes: int
    volume_bytes: int
    model: str = ""  # "" is any
    share: int = 100  # of a hundred runs so many get it; others get the next that fits

    @property
    def mark(self) -> str:
        """The same for the same sizes, whoever gets them: what pods are labelled with."""
        cpus = f"{self.cpu_request:g} {self.cpu_limit:g}"  # 2 and 2.0 are the same
        memory = f"{self.memory_request_bytes} {self.memory_limit_bytes}"
        return digest(f"{cpus} {memory} {self.volume_bytes}")

    def request_of(self, limit_bytes: int) -> int:
        """What a run with another limit than the tier's asks of a node: the same share of it."""
        return max(1, limit_bytes * self.memory_request_bytes // self.memory_limit_bytes)


STANDARD_VOLUME: Final = 10 * GIB
LARGE_VOLUME: Final = 25 * GIB  # of a complex run
TESTING_VOLUME: Final = 50 * GIB
# By what the source of these figures measured with its agents. Models are not named: what it named
# is retired, and who needs another size for one of theirs says so under `kubernetes.tiers`.
TIERS: Final = (
    Tier("implementation", 2, 4, 8 * GIB, 16 * GIB, STANDARD_VOLUME),
    Tier("quality", 1, 2, 4 * GIB, 8 * GIB, STANDARD_VOLUME),
    Tier("testing", 2, 4, 8 * GIB, 16 * GIB, TESTING_VOLUME),
)
# Of a run that has no role, or one that nobody sized: what `sandbox.memory_limit` is by default.
OTHER: Final = Tier("", 1, 2, 2 * GIB, 4 * GIB, STANDARD_VOLUME)


def place_of(run: str) -> int:
    """Where a run stands among a hundred, 0 to 99: always the same, and as good as drawn."""
    return int(digest(run), 16) % 100


def tier_of(role: str, model: str = "", own: Sequence[Tier] = (), *, at: int = 0) -> Tier:
    """The most particular that fits: role and model, then role, then model; one's own first.

    `at` is the run's place among a hundred, for tiers that only some get.
    """
    open_to = [tier for tier in own if at < tier.share]
    for said in ((role, model), (role, ""), ("", model)):
        for tier in (*open_to, *TIERS):
            if (tier.role, tier.model) == said and any(said):
                return tier
    return next((tier for tier in open_to if not tier.role and not tier.model), OTHER)


def is_sized(role: str, model: str = "", own: Sequence[Tier] = ()) -> bool:
    """Whether somebody said how much this role or model gets."""
    return tier_of(role, model, own) is not OTHER


def in_force(own: Sequence[Tier]) -> Iterator[Tier]:
    """Every tier that some run may get: one's own, and the built-in ones that they leave."""
    yield from own
    hidden = {(tier.role, tier.model) for tier in own if tier.share == 100}
    yield from (tier for tier in (*TIERS, OTHER) if (tier.role, tier.model) not in hidden)
