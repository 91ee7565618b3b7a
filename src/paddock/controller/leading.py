"""Who leads: one Lease, renewed while its holder lives, taken over when it was not renewed.

Whether it has expired is judged by this machine's own clock, from when a change was last seen: the
clocks of two nodes need not agree.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from paddock.cluster.client import LEASE, Api, ClusterTrouble, Object, Refused

NAME: Final = "paddock-controller"

log = logging.getLogger("paddock.controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """As Kubernetes' own controllers have them."""

    lease_s: float = 15.0
    renew_s: float = 10.0  # without a renewal for so long, it stops by itself
    retry_s: float = 2.0


class Leadership:
    def __init__(self, api: Api, identity: str, terms: Terms = Terms()) -> None:
        self._api, self._identity, self._terms = api, identity, terms
        self._lease: Object | None = None
        self._seen: str | None = None
        self._seen_at = 0.0

    async def win(self) -> int:
        """Waits for its turn; the number of the term, which only ever rises."""
        while True:
            term = await self._try()
            if term is not None:
                log.info("%s leads, term %d", self._identity, term)
                return term
            await asyncio.sleep(self._terms.retry_s)

    async def _try(self) -> int | None:
        try:
            found = await _within(
                self._terms.lease_s,
                self._api.get(LEASE, NAME, patience_s=self._terms.lease_s),
            )
        except Refused as refused:
            if refused.code != 404:
                raise
            return await self._make()
        except ClusterTrouble:
            return None
        if not self._is_free(found):
            return None
        return await self._take(found)

    def _is_free(self, found: Object) -> bool:
        now, spec = asyncio.get_running_loop().time(), found.get("spec", {})
        if spec.get("holderIdentity", "") in ("", self._identity):
            return True
        version = found["metadata"]["resourceVersion"]
        if version != self._seen:
            self._seen, self._seen_at = version, now
        return now - self._seen_at > float(spec.get("leaseDurationSeconds", self._terms.lease_s))

    async def _make(self) -> int | None:
        wanted = {"metadata": {"name": NAME}, "spec": self._spec(1)}
        return await self._written(self._api.create(LEASE, wanted, patience_s=self._terms.renew_s))

    async def _take(self, found: Object) -> int | None:
        term = int(found.get("spec", {}).get("leaseTransitions", 0)) + 1
        wanted = {"metadata": found["metadata"], "spec": self._spec(term)}
        return await self._written(self._api.replace(LEASE, wanted, patience_s=self._terms.renew_s))

    async def _written(self, writing: Awaitable[Object]) -> int | None:
        try:
            self._lease = await _within(self._terms.renew_s, writing)
        except (Refused, ClusterTrouble):
            return None  # another was quicker
        return int(self._lease["spec"]["leaseTransitions"])

    def _spec(self, term: int) -> Object:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, round(self._terms.lease_s)),
            "renewTime": now,
            "leaseTransitions": term,
        }

    async def keep(self) -> None:
        """Until it is lost: then nothing may be written any more."""
        loop = asyncio.get_running_loop()
        renewed_at = loop.time()
        while True:
            await asyncio.sleep(self._terms.retry_s)
            assert self._lease is not None
            term = int(self._lease["spec"]["leaseTransitions"])
            wanted = {"metadata": self._lease["metadata"], "spec": self._spec(term)}
            asked_at = loop.time()
            left_s = max(0.1, renewed_at + self._terms.renew_s - asked_at)
            try:
                self._lease = await _within(
                    left_s, self._api.replace(LEASE, wanted, patience_s=left_s)
                )
                renewed_at = asked_at  # it may have been written as early as that
            except Refused as refused:
                if not await self._is_still_ours(term):
                    log.warning("the lease was lost: %s", refused)
                    return
            except ClusterTrouble as trouble:
                if loop.time() - renewed_at >= self._terms.renew_s:
                    log.warning("the lease could not be renewed: %s", trouble)
                    return

    async def _is_still_ours(self, term: int) -> bool:
        """A renewal that was not answered in time may have been written all the same: then it is
        our own that was in the way."""
        try:
            found = await self._api.get(LEASE, NAME, patience_s=self._terms.retry_s)
        except (Refused, ClusterTrouble):
            return False
        spec = found.get("spec", {})
        mine = (spec.get("holderIdentity"), spec.get("leaseTransitions")) == (self._identity, term)
        self._lease = found if mine else self._lease
        return mine

    async def give_up(self) -> None:
        """So that the next one need not wait."""
        if self._lease is not None:
            wanted = {"metadata": self._lease["metadata"], "spec": dict(self._lease["spec"])}
            wanted["spec"]["holderIdentity"] = ""
            try:
                await self._api.replace(LEASE, wanted, patience_s=2.0)
            except (Refused, ClusterTrouble) as error:
                log.info("the lease could not be given back: %s", error)


async def _within(patience_s: float, asking: Awaitable[Object]) -> Object:
    """Not a moment longer, also where a line is open and nothing comes: by then another may lead,
    and what we hold is no lease any more."""
    try:
        async with asyncio.timeout(patience_s):
            return await asking
    except TimeoutError:
        raise ClusterTrouble(f"no answer within {patience_s:.1f} s") from None
