"""What a run had not committed is saved; where that cannot be done it is said, and nothing goes."""

from __future__ import annotations

from pathlib import Path

from paddock.core.run import Attempt, Outcome
from paddock.supervisor.salvage import salvage
from paddock.workspaces.room import Room
from tests.kit.disks import a_small_disk
from tests.kit.repositories import a_repository, git, write


def test_without_room_on_the_disk_work_stays_in_its_place_and_that_is_said(tmp_path: Path) -> None:
    shop = a_repository(tmp_path / "shop")
    with a_small_disk(tmp_path) as disk:
        room = Room(disk.root / "workspaces", idle_days=0)
        path = room.prepare("run1", repository=shop)
        write(path, {"new.txt": "new\n"})
        room.release("run1")
        disk.fill()
        facts = salvage(room, Attempt("run1", 1), Outcome.TIMEOUT_EXCEEDED)
        assert "still in its workspace" in facts["saved"] and "No space left" in facts["saved"]
        assert facts["commits"] == "none"
        disk.make_room()
        (judged,) = room.gc()
        assert not judged.removed and (path / "new.txt").read_text(encoding="utf-8") == "new\n"
        facts = salvage(room, Attempt("run1", 1), Outcome.TIMEOUT_EXCEEDED)
        assert facts["saved"].endswith("on paddock/run1: new.txt")
        assert git(shop, "show", "paddock/run1:new.txt") == "new"
