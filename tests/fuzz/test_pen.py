"""Whatever a target is led to write, nothing of this machine is overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .target import Target, a_place, run


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Somebody's file, where we may write."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount anything")
    file = tmp_path / "passwd"
    file.write_text("kept")
    return file


def led_to(file: Path) -> dict[str, Callable[[Path], Path]]:
    def by_link(place: Path) -> Path:
        (place / "link").symlink_to(file)
        return place / "link"

    above = "../" * 20
    return {
        "absolute": lambda _: file,
        "dots": lambda place: place / f"{above}{file}",
        "link": by_link,
        "here": lambda _: Path(file.name),
    }


@pytest.mark.parametrize("way", ["absolute", "dots", "link", "here"])
def test_a_target_of_root_writes_in_its_own_place_only(
    way: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kept.parent)
    refused: list[str | None] = []

    def target(data: bytes) -> None:
        with a_place() as place:
            (place / "own").write_bytes(data)
            try:
                led_to(kept)[way](place).write_bytes(data)
            except OSError as error:
                refused.append(error.strerror)

    run(Target("x", target, ()), b"overwritten")
    assert refused == ["Read-only file system"] and kept.read_text() == "kept"
    assert Path.cwd() == kept.parent  # outside again, where we were
    kept.write_text("ours")
