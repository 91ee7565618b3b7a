"""Clusters with nothing in them: one for `paddock kubernetes apply`, one that is asked plainly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.cluster.choice import AnyCluster, a_cluster
from tests.kit.cluster.plainly import Http
from tests.kit.cluster.site import Site, a_site


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
    with a_site(tmp_path, capsys, monkeypatch) as found:
        yield found
