"""Agents as processes: a checkpoint on their volume, a node that goes, and who reads it next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.kit.cluster.choice import a_cluster
from tests.kit.cluster.replicas import Replicas, replicas

# The first attempt writes half of its work and waits for ever; the next one finds it, or fails.
AGENT = """
set -eu
kept="$PADDOCK_CHECKPOINT_DIR/half"
if [ "${PADDOCK_RESUME:-0}" = 1 ]; then
    read -r found < "$kept"
    [ "$found" = "written by attempt 1" ] || exit 9
    echo "whole, by attempt $PADDOCK_ATTEMPT_NUMBER" > "$PADDOCK_CHECKPOINT_DIR/whole"
    exit 0
fi
mkdir -p "$PADDOCK_CHECKPOINT_DIR"
echo "written by attempt $PADDOCK_ATTEMPT_NUMBER" > "$kept.new"
mv "$kept.new" "$kept"
while :; do sleep 1; done
"""
Loss = Callable[[Replicas], Awaitable[None]]


async def drained(fleet: Replicas) -> None:
    """As `kubectl drain`: by the API, with a grace."""
    fleet.cluster.add_node("node-2")
    [pod] = fleet.cluster.pods()
    fleet.cluster.evict(pod["metadata"]["name"])


async def lost(fleet: Replicas) -> None:
    """It is silent, and then somebody removes it: nothing can run on it any more."""
    fleet.cluster.add_node("node-2")
    fleet.cluster.lose("node-1")
    await asyncio.sleep(0.5)
    assert fleet.status("one")["attempt"] == 1, "it may still run there"
    fleet.cluster.remove_node("node-1")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("loss", [drained, lost], ids=["drained", "lost"])
def test_the_next_attempt_reads_what_the_first_wrote(loss: Loss, tmp_path: Path) -> None:
    volumes = tmp_path / "volumes"
    volumes.mkdir()

    def kept(name: str) -> list[str]:
        found = volumes.glob(f"*/.paddock/checkpoints/{name}")
        return [path.read_text(encoding="utf-8").strip() for path in found]

    async def whole() -> None:
        with a_cluster(second_s=0.2, processes=volumes) as cluster:
            async with replicas(cluster, tmp_path / "controller") as fleet:
                fleet.add("a")
                fleet.apply("one", "sh", "-c", AGENT, memory="1G")
                await fleet.until(lambda: kept("half") == ["written by attempt 1"], 120)
                await loss(fleet)
                await fleet.ended("one", within_s=120)
                status = fleet.status("one")
                assert (status["outcome"], status["attempt"]) == ("succeeded", 2), status
                assert kept("whole") == ["whole, by attempt 2"]

    asyncio.run(whole())
