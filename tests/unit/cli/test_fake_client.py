"""The fake client has the real one's methods, so that what is tested against it is true."""

from __future__ import annotations

import inspect

import pytest

from paddock.client.endpoints import Endpoints
from tests.unit.cli.fake_client import FakeClient

METHODS = sorted(name for name in vars(Endpoints) if not name.startswith("_"))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_the_same(name: str) -> None:
    real = inspect.signature(inspect.unwrap(vars(Endpoints)[name])).parameters
    fake = inspect.signature(getattr(FakeClient, name)).parameters
    assert [(each.name, each.kind) for each in real.values()] == [
        (each.name, each.kind) for each in fake.values()
    ]
