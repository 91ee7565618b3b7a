"""Cgroups of a test's own, and the check that alarms leave no descriptor behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.host.cgroups import OwnCgroup, mount_of
from tests.kit import leaks


@pytest.fixture
def v1_cgroup(request: pytest.FixtureRequest) -> Iterator[OwnCgroup]:
    mount = mount_of("cgroup", "memory")
    if mount is None:
        pytest.skip("this machine has no cgroup v1 for memory that can be written")
    cgroup = OwnCgroup(mount, request.node.name[:40])
    yield cgroup
    cgroup.remove()


@pytest.fixture
def v2_cgroup(request: pytest.FixtureRequest) -> Iterator[OwnCgroup]:
    mount = mount_of("cgroup2")
    if mount is None:
        pytest.skip("this machine has no cgroup v2 that can be written")
    cgroup = OwnCgroup(mount, request.node.name[:40])
    yield cgroup
    cgroup.remove()


@pytest.fixture
def no_leak() -> Iterator[None]:
    before = leaks.descriptors()
    yield
    assert leaks.descriptors() == before
