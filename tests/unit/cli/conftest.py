"""A daemon in memory for every test of a command, and a way to call one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from paddock.cli.main import main
from tests.unit.cli.fake_daemon import FakeDaemon


@dataclass(frozen=True, slots=True)
class Called:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Paddock:
    daemon: FakeDaemon
    capture: pytest.CaptureFixture[str]

    def __call__(self, *args: str) -> Called:
        code = main(list(args), door=self.daemon.door)
        out, err = self.capture.readouterr()
        return Called(code, out, err)


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon()


@pytest.fixture
def paddock(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> Paddock:
    return Paddock(daemon, capsys)
