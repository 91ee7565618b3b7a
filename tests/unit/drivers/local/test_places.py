"""What /proc calls the cgroups of agents, where mounts and names do not agree."""

from __future__ import annotations

import pytest

from paddock.cgroups.home import Home
from paddock.cgroups.v1 import Group1
from paddock.drivers.local.containment import cgroup

TOP = "/sys/fs/cgroup/memory/outer/paddock-x"
OUTSIDE = {"memory": "/outer/paddock-x/supervisor"}


@pytest.mark.parametrize(
    ("own", "named", "place"),
    [
        # A namespace of cgroups that was made after they were mounted: `unshare --cgroup`.
        ({"memory": "/paddock-x/supervisor"}, "/../outer/paddock-x/fleet", "/paddock-x/fleet"),
        (OUTSIDE, "/outer/paddock-x/fleet", "/outer/paddock-x/fleet"),
        # Who has not moved in goes by the mounts.
        ({"memory": "/elsewhere"}, "/outer/paddock-x/fleet", "/outer/paddock-x/fleet"),
        ({"memory": "/paddock-y/supervisor"}, "/paddock-x/fleet", "/paddock-x/fleet"),
    ],
)
def test_the_fleet_is_beside_ourselves(
    monkeypatch: pytest.MonkeyPatch, own: dict[str, str], named: str, place: str
) -> None:
    monkeypatch.setattr(cgroup, "cgroups_of", lambda: own, raising=False)
    monkeypatch.setattr(cgroup, "cgroup_at", lambda *_: named)
    home = Home(Group1({"memory": TOP}), 1, "a test")
    assert cgroup._places_of(home) == {"memory": place}  # noqa: SLF001
