"""A keeper whose directory was removed, and is another keeper's by now."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.kit import leaks
from tests.kit.keeping import Keeping, keeping
from tests.kit.waiting import until


@pytest.mark.parametrize("looked", [False, True], ids=["before it has looked", "when it knows"])
def test_it_ends_with_its_last_agent_and_takes_nothing_of_the_other_along(
    tmp_path: Path, *, looked: bool
) -> None:
    first = Keeping(tmp_path, splice_after_s=0.05)
    spawned = first.spawn("a", ["sleep", "1000"])
    first.client.close()
    try:
        if looked:
            shutil.rmtree(first.directory)
            with pytest.raises(AssertionError):  # time in which it looks, and stays with its agent
                until(lambda: not leaks.is_alive(first.pid), within_s=1.5)
        else:
            first.directory.rename(tmp_path / "elsewhere")
        with keeping(tmp_path, splice_after_s=0.05) as second:
            assert second.pid != first.pid
            door = (second.directory / "keeper.sock").stat().st_ino
            leaks.end({spawned["pid"]: spawned["start"]})
            until(lambda: not leaks.is_alive(first.pid))
            assert (second.directory / "keeper.sock").stat().st_ino == door
    finally:
        leaks.end({spawned["pid"]: spawned["start"], first.pid: first.start})
