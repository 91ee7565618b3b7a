"""What agents use, from the cluster's metrics server; where there is none, nothing is known."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from paddock.cluster.client import POD_METRICS, Api, ClusterTrouble, Object, Refused
from paddock.cluster.labels import CONTAINER
from paddock.cluster.quantities import NoQuantity, number_of
from paddock.core.run import Attempt
from paddock.drivers.kubernetes.life import Life

ABSENT_S: Final = 60.0

log = logging.getLogger("paddock.kubernetes")


class Gauge:
    def __init__(
        self,
        api: Api,
        labels: Mapping[str, str],
        lives: Mapping[Attempt, Life],
        *,
        every_s: float,
    ) -> None:
        self._api, self._labels, self._lives, self._every_s = api, labels, lives, every_s
        self._told = False

    async def look(self) -> None:
        while True:
            pause_s = self._every_s
            if any(life.started and not life.over for life in self._lives.values()):
                try:
                    found, _ = await self._api.list(
                        POD_METRICS, labels=self._labels, patience_s=self._every_s
                    )
                except (Refused, ClusterTrouble) as error:
                    pause_s = ABSENT_S
                    if not self._told:
                        self._told = True
                        log.info("what agents use is not known: %s", error)
                else:
                    self._see({one["metadata"]["name"]: one for one in found})
            await asyncio.sleep(pause_s)

    def _see(self, found: Mapping[str, Object]) -> None:
        for life in self._lives.values():
            one = found.get(life.pod_name or "")
            if one is None or life.over:
                continue
            life.used_bytes = int(usage_in(one, "memory"))
            life.peak_bytes = max(life.peak_bytes, life.used_bytes)
            now = asyncio.get_running_loop().time()
            if life.gauged_at is not None:
                life.cpu_s += (now - life.gauged_at) * float(usage_in(one, "cpu"))
            life.gauged_at = now


def usage_in(metrics: Object, what: str) -> Decimal:
    for container in metrics.get("containers", []):
        if container.get("name") == CONTAINER:
            with contextlib.suppress(NoQuantity):
                return number_of(str(container.get("usage", {}).get(what, "0")))
    return Decimal(0)
