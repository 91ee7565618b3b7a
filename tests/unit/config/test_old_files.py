"""Files of earlier versions load for ever, and mean the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.config import settings as s
from paddock.config.cluster_settings import OF_CLUSTERS
from paddock.config.layers import settings_of
from paddock.core.units import GIB

CONTAINERS = {s.CONTAINER_ENGINE, s.CONTAINER_IMAGE, s.CONTAINER_NETWORK, s.CONTAINER_MOUNTS}
OLD = Path(__file__).parents[2] / "data/config"


@pytest.mark.parametrize("path", sorted(OLD.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_old_file_loads(path: Path) -> None:
    settings_of({"user": path})


def test_the_documented_file_means_what_is_built_in() -> None:
    found = settings_of({"user": OLD / "0.1-documented.yaml"})
    assert all(found[setting] == setting.built_in() for setting in s.SETTINGS)
    # Settings that came after that file was written.
    since = {s.MIN_RUN, s.MAX_PREEMPTIONS, s.CONTAINMENT, s.TOOL_SHARE, *CONTAINERS}
    since |= {s.FREE_FLOOR, s.STREAM_MEMORY_LIMIT, s.MEMORY_PRICE, s.CORE_PRICE, s.CURRENCY}
    since |= {s.REPORT_EVERY, s.REPORT_DIRECTORY, s.REPORT_KEEP}
    since |= {*OF_CLUSTERS, s.TOUCHES}
    assert {each for each in s.SETTINGS if not found.where(each).explicit} == since


def test_the_file_of_the_decision_record_means_what_it_says() -> None:
    found = settings_of({"user": OLD / "0.1-adr-005.yaml"}, profile="high")
    assert (found[s.MAX_AGENTS], found.agents_cap.value) == (5, 10)
    assert (found[s.AGENT_TIMEOUT], found[s.LOG_BUFFER]) == (900.0, 10)


def test_a_file_with_everything_means_what_it_says() -> None:
    found = settings_of({"user": OLD / "0.1-everything.yaml"})
    assert (found[s.MAX_AGENTS], found.agents_cap.value) == (40, 50)
    assert (found[s.AGENT_TIMEOUT], found[s.SOFT_TIMEOUT]) == (1200.0, 300.0)
    assert (found[s.MEMORY_LIMIT], found[s.MEMORY_HIGH]) == (6 * GIB, 5 * GIB)
    assert (found[s.SKIP_LOW], found[s.RELIEF_TARGET]) == (60.0, 70.5)
    assert (found[s.QUEUE_DEPTH], found[s.LOG_BUFFER]) == (50, 30)
    assert [wall.lease for wall in found[s.TOOL_WALLS]] == [None, "build"]
