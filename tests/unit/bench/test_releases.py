"""What `make bench` makes of figures: a table, and whether they are worse than they were."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from paddock import __version__
from paddock.bench.compare import Change

BENCH = Path(__file__).parents[3] / "bench"


@pytest.fixture(scope="module")
def bench() -> Any:
    """Its scripts are no package: they find each other beside themselves."""
    sys.path.insert(0, str(BENCH))
    try:
        yield type("Bench", (), {name: importlib.import_module(name) for name in NAMES})
    finally:
        sys.path.remove(str(BENCH))


NAMES = ("figures", "releases", "table")


def kept(directory: Path, name: str, figures: object) -> None:
    machine = {"processor": "P", "cores": 2, "memory_gb": 24.7, "kernel": "K", "python": "3"}
    document = {"machine": machine | {"load_average": [0.5, 1, 1]}, "figures": figures}
    (directory / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def test_the_table_says_what_was_met_missed_and_not_measured(bench: Any, tmp_path: Path) -> None:
    row, at = bench.figures.Row, bench.figures.at
    rows = (
        row("one", "start / bare", at("start"), most=2),
        row("one", "rate", at("rate"), "a second", least=2000),
        row("two", "never tried", at("x"), "MB", most=10),
    )
    kept(tmp_path, "one", {"start": 1.5, "rate": 1500})
    kept(tmp_path, "other", {"anything": 1})
    text = bench.table.page(tmp_path, rows)
    source = "[one](results/one.json)"
    assert f"| start / bare | 1.5 × | at most 2 × | 0.75 | met | 0.5 | {source} |" in text
    missed = "at least 2,000 a second | 0.75 | **missed** | 0.5 |"
    assert f"| rate | 1,500 a second | {missed} {source} |" in text
    assert "| never tried | not measured | at most 10 MB |" in text
    assert "Measured on: P, 2 cores, 24.7 GB, kernel K, Python 3." in text
    assert "without a target: [other](results/other.json)." in text


def test_every_figure_that_is_kept_can_be_read(bench: Any) -> None:
    """A benchmark that names its figures anew must say so here as well."""
    lost = [
        f"{row.file}: {row.what}"
        for row in bench.figures.ROWS
        if (BENCH / f"results/{row.file}.json").exists() and row.read() is None
    ]
    assert not lost


def rows(bench: Any) -> Any:
    row, at = bench.figures.Row, bench.figures.at
    return (
        row("a", "ratio", at("a"), most=2),
        row("b", "rate", at("b"), "a second", least=10),
    )


def test_worse_is_more_than_a_tenth_and_no_chance(bench: Any) -> None:
    two = rows(bench)
    before = bench.releases.report_of({"ratio": [1.0, 1.01, 1.02], "rate": [20, 21, 22]}, two)

    def changes(**samples: list[float]) -> list[Change]:
        return [one.change for one in bench.releases.compared(before, samples, two)]

    assert changes(ratio=[1.0], rate=[20]) == [Change.FEW, Change.FEW]
    assert changes(ratio=[1.05] * 3, rate=[20.5] * 3) == [Change.SAME, Change.SAME]
    assert changes(ratio=[1.5, 1.6, 1.4], rate=[10, 11, 12]) == [Change.WORSE, Change.WORSE]
    assert changes(ratio=[1.5, 1.6, 1.0]) == [Change.UNSURE]


def test_what_looks_worse_is_measured_again(bench: Any) -> None:
    two = rows(bench)
    before = bench.releases.report_of({"ratio": [1.0, 1.01, 1.02], "rate": [20, 21, 22]}, two)
    found = bench.releases.compared(before, {"ratio": [1.3], "rate": [40]}, two)
    assert bench.releases.suspects(found, two) == {"a"}, "one sample is no verdict, only a reason"


def test_on_another_machine_only_ratios_count(bench: Any) -> None:
    two = rows(bench)
    before = bench.releases.report_of({"ratio": [1.0] * 3, "rate": [20] * 3}, two)
    before.machine = before.machine | {"cores": 999}
    found = bench.releases.compared(before, {"ratio": [1.0] * 3, "rate": [1] * 3}, two)
    assert [one.name for one in found] == ["ratio"]


def test_the_newest_earlier_release_is_the_baseline(bench: Any, tmp_path: Path) -> None:
    assert bench.releases.baseline(tmp_path) is None
    for version in ("0.9.0", "0.10.0", "0.11.0"):
        one = bench.releases.report_of({})
        one.paddock = version
        bench.releases.write(one, tmp_path / f"{version}.json")

    def of(version: str) -> str:
        return str(bench.releases.baseline(tmp_path, version).paddock)

    assert (of("0.10.1"), of("0.11.0"), of("1.0.0")) == ("0.10.0", "0.10.0", "0.11.0")
    assert of("0.9.0") == "0.9.0", "without an earlier one, its own"


def test_the_last_samples_of_a_version_are_kept(bench: Any, tmp_path: Path) -> None:
    name = bench.figures.ROWS[0].what
    for value in range(7):
        path = bench.releases.keep_samples({name: [float(value)]}, tmp_path)
    assert path.name == f"{__version__}.json"
    (figure,) = bench.releases.read(path).figures
    assert figure.samples == (2.0, 3.0, 4.0, 5.0, 6.0)


def test_the_table_is_what_its_files_say(bench: Any) -> None:
    """Whoever runs one benchmark by itself makes the table anew: `bench/every.py --table`."""
    assert (BENCH / "RESULTS.md").read_text(encoding="utf-8") == bench.table.page()


def test_every_file_of_results_is_told_of(bench: Any) -> None:
    told = (BENCH / "results/README.md").read_text(encoding="utf-8")
    named = {path.name for path in (BENCH / "results").glob("*.json")}
    unknown = {name for name in named if not name.startswith("matrix-") and f"`{name}`" not in told}
    assert unknown == set()
    rows = bench.figures.ROWS
    assert len({row.what for row in rows}) == len(rows)  # samples go by it


def test_a_figure_may_have_to_lie_between_two(bench: Any, tmp_path: Path) -> None:
    row = bench.figures.Row("one", "inside", bench.figures.at("share"), "%", least=85, most=95)
    for value, met in ((84.9, False), (85, True), (95, True), (95.1, False)):
        assert row.is_met(value) is met
    kept(tmp_path, "one", {"share": 97})
    text = bench.table.page(tmp_path, (row,))
    assert "| inside | 97 % | 85 to 95 % |  | **missed** | 0.5 |" in text


def test_rounds_are_judged_within_themselves(bench: Any) -> None:
    figures = {"paddock": 400.0, "parallel": 320.0, "ratios": {"parallel": 1.31}}
    assert bench.figures.by_rounds("parallel")(figures) == 1.31


def test_only_a_thousand_real_agents_count_as_a_thousand(bench: Any, tmp_path: Path) -> None:
    row = bench.figures.Row("m", "real", bench.figures.of_real(1000, "scrape_ms"), "ms", most=100)
    kept(tmp_path, "m", {"real": {"agents": 100, "scrape_ms": 5.0}})
    assert row.read(tmp_path) is None
    kept(tmp_path, "m", {"real": {"agents": 1000, "scrape_ms": 55.0}})
    assert row.read(tmp_path)[0] == 55.0
