"""Every test begins without paddock around it, and without what an earlier one found out."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from paddock.agent import gauging


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("PADDOCK_")]:
        monkeypatch.delenv(name)
    gauging.forget()
    yield
    gauging.forget()
