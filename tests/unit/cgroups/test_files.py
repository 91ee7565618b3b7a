"""What is written to a cgroup is read back, and what reads otherwise is no wall."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cgroups.files import NotSet, number, pids_in, put, table


def test_a_wall_that_reads_back_is_set(tmp_path: Path) -> None:
    file = tmp_path / "pids.max"
    file.touch()
    put(str(file), 512)
    assert file.read_text(encoding="ascii") == "512"


def test_one_that_cannot_be_written_is_told_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(NotSet, match=r"memory\.max could not be set to 5: No such file"):
        put(str(tmp_path / "memory.max"), 5)


def test_one_that_reads_otherwise_is_told() -> None:
    with pytest.raises(NotSet, match="says nothing after 64"):
        put("/dev/null", 64)  # takes everything and keeps nothing


@pytest.mark.parametrize(("text", "found"), [("12\n", 12), ("max", None), ("", None), ("-1", None)])
def test_numbers(text: str, found: int | None) -> None:
    assert number(text) == found


def test_tables_and_processes(tmp_path: Path) -> None:
    assert table("oom 3\nname x\n\nhigh 17") == {"oom": 3, "high": 17}
    procs = tmp_path / "cgroup.procs"
    procs.write_text("17\n0\n23\n", encoding="ascii")
    assert pids_in(str(procs)) == [17, 23]
    assert pids_in(str(tmp_path / "gone")) == []
