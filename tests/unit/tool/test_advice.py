"""What a stopped command is told: how many workers there were, and how many to try."""

from __future__ import annotations

import pytest

from paddock.tool.advice import Workers, as_object, explain, fewer, find_workers, suggestion
from paddock.tool.kinds import BY_NAME, KINDS, Kind
from paddock.tool.running import End

MIB = 1 << 20
GIB = 1 << 30


def an_end(*, stopped: str = "own", limit: int = GIB, around: int = 2 * GIB) -> End:
    end = End(137)
    end.stopped, end.limit_bytes, end.around_bytes, end.peak_bytes = stopped, limit, around, limit
    return end


@pytest.mark.parametrize(
    ("command", "env", "number"),
    [
        ("pytest -n 6", {}, 6),
        ("pytest -n6 tests", {}, 6),
        ("pytest --numprocesses=3", {}, 3),
        ("pytest -n auto", {}, 8),
        ("pytest -n auto", {"PYTEST_XDIST_AUTO_NUM_WORKERS": "4"}, 4),
        ("pytest -n 0", {}, 1),
        ("pytest", {"PYTEST_ADDOPTS": "-q -n 5"}, 5),
        ("pytest --maxfail 2", {}, 1),
        ("python -m pytest -n 6", {}, 6),
        ("uv run pytest -n 2", {}, 2),
        ("cargo build", {}, 8),
        ("cargo test -j 3", {}, 3),
        ("cargo build", {"CARGO_BUILD_JOBS": "5"}, 5),
        ("make", {}, 1),
        ("make -j12 all", {}, 12),
        ("make -j all", {}, None),
        ("make", {"MAKEFLAGS": "-j6 --output-sync"}, 6),
        ("ninja", {}, 8),
        ("go test ./...", {"GOFLAGS": "-mod=mod -p=3"}, 3),
        ("go test ./...", {"GOMAXPROCS": "2"}, 2),
        ("npx jest --maxWorkers=50%", {}, 4),
        ("npx jest --runInBand", {}, 1),
        ("vitest run", {"VITEST_MAX_FORKS": "2"}, 2),
        ("./gradlew test --max-workers 4", {}, 4),
        ("mvn -T 1C verify", {}, 8),
        ("mvn -T 0.5C verify", {}, 4),
        ("tox -p auto", {}, 8),
        ("/usr/bin/xargs -P 3 -n 1 cc", {}, 3),
    ],
)
def test_workers_are_found_where_each_tool_is_told_of_them(
    command: str, env: dict[str, str], number: int | None
) -> None:
    found = find_workers(command.split(), env, cpus=8)
    assert found is not None and found.number == number


def test_what_a_shell_was_given_is_read_as_words() -> None:
    found = find_workers(["bash", "-lc", "cd app && cargo test -j 7"], {}, cpus=8)
    assert found is not None and (found.kind, found.number) == (BY_NAME["cargo"], 7)
    broken = find_workers(["sh", "-c", "make -j4 'unfinished"], {}, cpus=8)
    assert broken is not None and broken.number == 4


def test_a_command_that_nobody_knows_has_no_workers() -> None:
    assert find_workers(["./train", "-n", "6"], {}, cpus=8) is None


def test_six_test_workers_in_a_gibibyte_are_told_to_be_two() -> None:
    text = explain(an_end(), ["pytest", "-n", "6"], {})
    assert text.splitlines()[0] == (
        "paddock: pytest was stopped at its memory wall: peak 1 GiB of 1 GiB with 6 workers; "
        "try -n 2"
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names[0])
@pytest.mark.parametrize("started", [2, 3, 8, 128])
@pytest.mark.parametrize("limit_mb", [64, 1024, 65536])
def test_advice_is_always_at_least_one_and_fewer_than_before(
    kind: Kind, started: int, limit_mb: int
) -> None:
    workers = Workers(kind, started)
    number = fewer(workers, limit_bytes=limit_mb * MIB, end=an_end(limit=limit_mb * MIB))
    assert 1 <= number < started


def test_a_worker_that_was_seen_to_be_large_counts_more_than_what_is_usual() -> None:
    end = an_end(limit=4 * GIB)
    workers = Workers(BY_NAME["pytest"], 8)
    assert fewer(workers, limit_bytes=4 * GIB, end=end) == 6
    end.largest = (2 * GIB, "python worker")
    assert fewer(workers, limit_bytes=4 * GIB, end=end) == 2


def test_make_without_a_number_is_told_one_by_what_was_seen() -> None:
    end = an_end()
    end.processes = 20
    text = explain(end, ["make", "-j"], {})
    assert "with unlimited workers; try -j3\n" in text


def test_a_single_worker_is_told_of_a_larger_wall_if_there_is_one() -> None:
    alone = Workers(BY_NAME["pytest"], 1)
    assert "paddock tool --memory 90%" in suggestion(an_end(), alone)
    assert "a run with more memory" in suggestion(an_end(around=GIB), alone)
    assert "a run with more memory" in suggestion(an_end(stopped="agent"), None)


def test_the_agents_wall_is_told_from_its_own() -> None:
    text = explain(an_end(stopped="agent"), ["pytest", "-n", "4"], {})
    assert "at its agent's memory wall: 2 GiB for the agent and all its commands" in text


def test_a_command_that_went_on_without_one_of_its_processes_is_not_called_stopped() -> None:
    end = an_end()
    end.code = 1
    assert explain(end, ["cargo", "test"], {}).startswith("paddock: a process of cargo was stopped")


def test_what_a_process_called_itself_cannot_act_on_a_terminal() -> None:
    end = an_end()
    end.largest = (MIB, "evil\x1b[2J")
    text = explain(end, ["\x1bpytest"], {})
    assert "\x1b" not in text and "evil?[2J" in text


def test_programs_get_the_same_facts() -> None:
    found = as_object(an_end(), ["pytest", "-n", "6"], {})
    assert (found["stopped_at"], found["workers"], found["try"]) == ("own", 6, "-n 2")
    assert as_object(End(0), ["true"], {})["try"] is None
