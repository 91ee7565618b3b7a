"""The five loads of DIAG-7, made small: each plays to its end and says what it saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.bench.ceiling import a_ceiling
from paddock.bench.cells import Limits
from paddock.bench.scenarios import SCENARIOS, Asked, scenario

MIB = 1 << 20


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pens are made beside it."""
    monkeypatch.setenv("PADDOCK_STATE", str(tmp_path / "state/paddock"))


@pytest.mark.parametrize(
    ("number", "asked", "told"),
    [
        (1, Asked(size_bytes=4 * MIB, every_s=0.2), "100% of 5 agents completed in "),
        (2, Asked(size_bytes=8 * MIB, every_s=0.2), "100% of 10 agents completed in "),
        (3, Asked(minutes=0.05, every_s=0.2), "100% of 2 agents completed in "),
        (5, Asked(size_bytes=8 * MIB, every_s=0.2), "100% of 5 agents completed in "),
    ],
)
def test_it_plays_to_its_end(number: int, asked: Asked, told: str, tmp_path: Path) -> None:
    said: list[str] = []
    report, well = scenario(number, asked, said.append)
    assert well, report.verdicts
    assert said[0] == SCENARIOS[number].told
    assert report.kind == f"scenario-{number}"
    assert report.verdicts[0].startswith(told)
    assert report.figure("daemon") is not None
    assert list((tmp_path / "state").iterdir()) == [], "nothing is left of it"


def test_pressure_stays_inside_its_ceiling(tmp_path: Path) -> None:
    with a_ceiling(1536 * MIB) as ceiling:
        asked = Asked(ceiling=ceiling, every_s=0.2, limits=Limits(free_mib=0))
        report, well = scenario(4, asked, lambda _: None)
    assert well, report.verdicts
    assert report.verdicts[0].startswith("100% of 12 agents completed in ")
    assert any("gave way" in verdict for verdict in report.verdicts)
    assert list((tmp_path / "state").iterdir()) == []
