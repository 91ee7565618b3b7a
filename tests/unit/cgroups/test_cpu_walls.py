"""CPU walls are read back in cores, from either version's files."""

from pathlib import Path

import pytest

from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2


@pytest.mark.parametrize(
    ("said", "cores"), [("150000 100000", 1.5), ("max 100000", None), ("", None), ("0 0", None)]
)
def test_in_the_unified_hierarchy(tmp_path: Path, said: str, cores: float | None) -> None:
    (tmp_path / "cpu.max").write_text(f"{said}\n", encoding="ascii")
    assert Group2(str(tmp_path)).walls().cpus == cores


@pytest.mark.parametrize(
    ("quota", "period", "cores"),
    [("50000", "100000", 0.5), ("-1", "100000", None), ("1", "0", None)],
)
def test_in_the_old_ones(tmp_path: Path, quota: str, period: str, cores: float | None) -> None:
    (tmp_path / "cpu.cfs_quota_us").write_text(f"{quota}\n", encoding="ascii")
    (tmp_path / "cpu.cfs_period_us").write_text(f"{period}\n", encoding="ascii")
    found = Group1({"memory": str(tmp_path), "cpu": str(tmp_path)}).walls()
    assert found.cpus == cores
    assert Group1({"memory": str(tmp_path)}).walls().cpus is None
