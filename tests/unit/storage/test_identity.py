"""Which file lies under a name."""

from __future__ import annotations

from pathlib import Path

from paddock.storage.identity import identity


def test_it_is_the_device_and_the_number_that_stat_tells(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "ä file", Path("/proc/self/exe"), Path("/dev/null")):
        if not path.exists():
            path.touch()
        facts = path.stat()
        assert identity(str(path)) == (facts.st_dev, facts.st_ino)


def test_another_file_under_the_same_name_is_another(tmp_path: Path) -> None:
    path, other = tmp_path / "one", tmp_path / "other"
    path.touch()
    other.touch()
    before = identity(str(path))
    other.replace(path)
    assert identity(str(path)) not in (before, None)


def test_what_is_not_there_has_none(tmp_path: Path) -> None:
    assert identity(str(tmp_path / "nothing")) is None
