"""Runs with a repository, as a user types them, on a real daemon with real git."""

from __future__ import annotations

import os
from pathlib import Path

from paddock.core.units import MIB
from tests.kit.git_over_http import served
from tests.kit.house import House, a_house
from tests.kit.repositories import a_repository, git
from tests.kit.slow_git import SlowGit
from tests.kit.waiting import until

COMMIT = "git -c user.name=Agent -c user.email=agent@localhost commit --quiet --message"
WORK = f"pwd; echo two > readme.txt; {COMMIT} work readme.txt; echo new > new.txt"


def test_a_run_with_a_repository_from_its_submission_to_its_end(house: House) -> None:
    shop = a_repository(house.home / "shop")
    done = house.paddock("run", "--repo", "shop", "--name", "fix", "--", "sh", "-c", WORK)
    assert done.returncode == 0, done.stderr
    place = Path(done.stdout.strip())
    assert (place / "new.txt").read_text(encoding="utf-8") == "new\n"
    assert (shop / "readme.txt").read_text(encoding="utf-8") == "one\n"
    found = house.told("diff", "fix")
    assert found["path"] == str(place) and "+two\n" in found["text"]
    changed = house.told("diff", "--stat", "fix")
    assert [one["name"] for one in changed] == ["new.txt", "readme.txt"]
    [view] = house.told("workspace", "ls")
    assert (view["name"], view["repository"]) == ("fix", str(shop))
    [kept] = house.told("workspace", "check")
    assert kept["done"] == "kept" and "new.txt" in kept["because"]
    assert house.told("workspace", "gc")[0]["done"] == "kept"
    assert git(shop, "log", "--format=%s", "-1", view["branch"]) == "work"
    again = house.told("retry", "fix")["id"]
    house.ended([again], within_s=90)
    both = [one for one in house.told("workspace", "ls") if one["name"] == "fix"]
    # docs/how-to/ten-issues.md merges the newest of one name
    assert len(both) == 2 and max(both, key=lambda one: one["made_at"])["run"] == again


def test_an_address_and_a_part_of_it(house: House) -> None:
    shop = a_repository(house.home / "shop")
    words = ("run", "--repo", f"file://{shop}", "--sparse", "src", "--", "find", ".", "-type", "f")
    done = house.paddock(*words)
    assert done.returncode == 0, done.stderr
    assert "./src/code.py" in done.stdout


def test_a_branch_that_is_not_there_is_a_mistake_in_one_line(house: House) -> None:
    a_repository(house.home / "shop")
    done = house.paddock("run", "--repo", "shop", "--branch", "nope", "--", "true")
    assert (done.returncode, done.stderr) == (
        2,
        f"paddock: true: repo: {house.home}/shop has no branch, tag or commit 'nope'\n",
    )


def test_so_is_one_that_an_address_has_not(house: House) -> None:
    shop = a_repository(house.home / "shop")
    done = house.paddock("run", "--repo", f"file://{shop}", "--branch", "nope", "--", "true")
    assert (done.returncode, done.stderr) == (
        2,
        f"paddock: true: repo: file://{shop} has no branch or tag 'nope'\n",
    )


def test_a_daemon_stops_in_the_middle_of_a_clone_and_the_next_makes_it(house: House) -> None:
    shop, slow = a_repository(house.home / "shop"), SlowGit(house.home / "slow", word="fetch")
    plain = house.env["PATH"]
    house.env["PATH"] = f"{slow.path}:{plain}"
    house.start()
    submitted = house.paddock("submit", "--repo", f"file://{shop}", "--name", "a", "--", "true")
    assert submitted.returncode == 0, submitted.stderr
    slow.wait()
    assert house.paddock("daemon", "stop", within_s=20).returncode == 0
    until(lambda: slow.ended)
    house.env["PATH"] = plain
    house.start()
    assert house.paddock("wait", "a", within_s=40).returncode == 0
    assert not list(house.places.state.glob("workspaces/*/.cloning-*"))


def test_a_large_one_needs_an_answer(tmp_path: Path) -> None:
    with a_house(tmp_path, config="performance: {max_repo_size_mb: 100}\n") as house:
        shop = a_repository(house.home / "shop")
        with (shop / "large.bin").open("wb") as file:
            os.truncate(file.fileno(), 101 * MIB)
        refused = house.paddock("submit", "--repo", "shop", "--", "true")
        assert refused.returncode == 3 and "--sparse DIR" in refused.stderr
        assert house.paddock("run", "--repo", "shop", "--yes", "--", "true").returncode == 0


def test_more_of_them_in_the_configuration_count_for_who_waits(tmp_path: Path) -> None:
    with a_house(tmp_path, config="performance: {max_worktrees: 1}\n") as house:
        a_repository(house.home / "shop")
        for name, words in (("a", ("sleep", "600")), ("b", ("true",))):
            done = house.paddock("submit", "--repo", "shop", "--name", name, "--", *words)
            assert done.returncode == 0, done.stderr
        full = "all 1 workspaces are in use; 1 by runs"
        until(lambda: full in house.paddock("why", "b").stdout, within_s=60)
        file = house.home / "config/paddock/config.yaml"
        file.write_text("performance: {max_worktrees: 2}\n", encoding="utf-8")
        assert house.paddock("wait", "b", within_s=90).returncode == 0
        assert house.paddock("kill", "a").returncode == 0


def test_a_password_opens_a_repository_and_is_seen_by_nobody(house: House) -> None:
    a_repository(house.home / "afar/shop")
    look = "cat readme.txt; env; cat .git $(git rev-parse --git-common-dir)/config"
    with served(house.home / "afar", login="me:hunter2") as host:
        told = house.home / "told"
        words = ("run", "--repo", f"http://me:hunter2@{host}/shop/.git", "--name", "afar")
        on_end = f"env > {told}.new; mv {told}.new {told}"
        done = house.paddock(*words, "--on-end", on_end, "--", "sh", "-c", look)
        assert (done.returncode, done.stdout[:4]) == (0, "one\n"), done.stderr
        assert "hunter2" not in seen_of(house, "afar") + done.stdout + done.stderr
        until(told.exists)
        variables = told.read_text(encoding="utf-8")
        assert "hunter2" not in variables and "PADDOCK_OUTCOME=succeeded" in variables
        again = house.paddock("retry", "afar")
        assert again.returncode == 3 and "was not kept: submit it anew" in again.stderr


def test_nor_is_one_that_opens_nothing(house: House) -> None:
    address = "http://me:hunter2@127.0.0.1:9/shop.git"
    done = house.paddock("run", "--repo", address, "--name", "afar", "--", "env")
    assert done.returncode == 125
    seen = done.stderr + seen_of(house, "afar")
    assert "hunter2" not in seen and "127.0.0.1" in seen


def seen_of(house: House, run: str) -> str:
    """All that anybody is told of it, and what lies about; the store keeps environments."""
    asked = [house.paddock(word, run) for word in ("why", "story", "logs", "diff")]
    asked += [house.paddock("ls", "--all", "--json"), house.paddock("workspace", "ls", "--json")]
    files = [
        path for path in house.places.state.rglob("*") if path.is_file() and path.stem != "paddock"
    ]
    lying = [path.read_bytes().decode("utf-8", "replace") for path in files]
    return "".join([*(one.stdout + one.stderr for one in asked), *lying, house.log()])
