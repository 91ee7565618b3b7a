"""Clusters with nothing in them: one for `paddock kubernetes apply`, one that is asked plainly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.cluster.choice import AnyCluster, a_cluster
from tests.kit.cluster.plainly import Http
from tests.kit.cluster.site import Site, a_site
from tests.kit.cluster.standin import Cluster


@pytest.fixture
def cluster() -> Iterator[AnyCluster]:
    with a_cluster() as found:
        yield found


@pytest.fixture
def http(cluster: AnyCluster) -> Iterator[Http]:
    found = Http(cluster)
    yield found
    found.client.close()


@pytest.fixture
def site(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    with a_cluster(namespace="default") as cluster, a_site(cluster, tmp_path, capsys) as found:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        yield found


@pytest.fixture
def stand_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    """For what no API server lets anybody do, whatever cluster the tests are given."""
    with (
        Cluster(second_s=0.05, namespace="default") as cluster,
        a_site(cluster, tmp_path, capsys) as found,
    ):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        yield found
