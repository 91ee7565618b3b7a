"""Where supervised fleets stand, and a repository for their workspaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.repositories import a_repository
from tests.kit.stand import Stand


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "repository")
