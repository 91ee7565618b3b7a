"""What the repository promises about itself."""

import re
import tomllib

from tests.architecture.source import PROJECT
from tests.conftest import longest_first, unexpected


def test_the_two_commands_are_on_the_first_screen_of_the_readme() -> None:
    screen = (PROJECT / "README.md").read_text(encoding="utf-8").splitlines()[:30]
    assert any("make demo" in line for line in screen)
    assert any("make test" in line for line in screen)


def test_ci_runs_make_test() -> None:
    script = PROJECT / ".ci/run"
    assert "make test" in script.read_text(encoding="utf-8")
    assert script.stat().st_mode & 0o111


def test_every_dependency_has_a_lower_bound_and_a_cap() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    for dependency in [*project["dependencies"], *(d for extra in extras for d in extra)]:
        assert re.fullmatch(r"[\w-]+>=(\d+!)?[\d.]+,<(\d+!)?[\d.]+", dependency), dependency


def test_decision_records_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in (PROJECT / "docs/decisions").glob("*.md"))
    assert [name[:4] for name in names] == [f"{number:04}" for number in range(len(names))]


def test_changelog_fragments_say_of_what_kind_they_are() -> None:
    for path in (PROJECT / "changelog.d").glob("*.md"):
        assert path.name == "README.md" or re.fullmatch(
            r"[\w-]+\.(added|changed|fixed)\.md", path.name
        ), path.name


def test_each_worker_begins_with_one_of_the_longest_tests() -> None:
    items = [f"short{number}" for number in range(9)]
    items[4:4] = ["long1", "long2"]

    def ordered(workers: int) -> list[str]:
        return longest_first(items, workers, is_long=lambda one: one.startswith("long"))

    assert ordered(1)[:2] == ["long2", "long1"]
    two = ordered(2)
    assert (two[0], two[len(two) // 2]) == ("long1", "long2")
    three = ordered(3)
    assert (three[0], three[len(three) // 3]) == ("long1", "long2")
    assert all(sorted(ordered(workers)) == sorted(items) for workers in (1, 2, 3, 4))


def test_a_skip_that_nobody_allowed_is_unexpected() -> None:
    assert unexpected([("test_x", "no such thing here")]) == [("test_x", "no such thing here")]
