"""Reports as files: whole, readable again, and told plainly where they are none."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from paddock.bench import machine, report
from paddock.bench.page import page
from paddock.bench.plots import MOST_POINTS, curves, nice_top, thinned
from paddock.bench.report import BadReport, Cell, Curve, Figure, Report
from paddock.cli.bench import command

EVIL = "<script>alert(1)</script>"


def a_report() -> Report:
    figures = (Figure(name="wall time", unit="s", samples=(1.0, 2.0, math.nan), better="lower"),)
    curve = Curve(name="agent 1", unit="MiB", points=((0.0, 1.0), (1.0, 5.0)))
    return Report(
        kind="stress",
        paddock="1.2",
        made_at=1_700_000_000.0,
        machine={"cores": 2, "memory_bytes": 4 << 30, "processor": EVIL},
        settings={"agents": "1,2"},
        figures=figures,
        curves=(curve,),
        cells=(
            Cell(row="1 agent", column="2 GiB", figures=figures, curves=(curve,), verdict=EVIL),
            Cell(row="2 agents", column="2 GiB", skipped="an agent hit its wall"),
        ),
        verdicts=("fine & well",),
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = report.path_for("stress", tmp_path / "made/on/demand", made_at=1_700_000_000.0)
    report.write(a_report(), path)
    found = report.read(path)
    assert found.kind == "stress"
    assert found.figures[0].samples == (1.0, 2.0), "what could not be measured is left out"
    assert found.figures[0].middle == 1.5
    assert found.cells[1].skipped == "an agent hit its wall"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_it_keeps_to_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    report.write(a_report(), path)
    printed = CliRunner().invoke(command, ["schema"])
    assert printed.exit_code == 0
    jsonschema.validate(json.loads(path.read_bytes()), json.loads(printed.stdout))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"kind": 3}, json.loads(printed.stdout))


def test_a_second_one_in_the_same_minute_gets_a_number(tmp_path: Path) -> None:
    first = report.path_for("cpu", tmp_path, made_at=0.0)
    assert first.name.endswith("-cpu.json")
    first.touch()
    assert report.path_for("cpu", tmp_path, made_at=0.0).name.endswith("-cpu-2.json")


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff\xfe", b"[1]", b'{"kind": 3}', b"\0" * 100])
def test_what_is_no_report_is_told_in_one_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(BadReport, match="is no report of `paddock bench`") as caught:
        report.read(path)
    assert "\n" not in str(caught.value)


def test_one_that_is_missing_or_from_the_future_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadReport, match="No such file"):
        report.read(tmp_path / "nowhere.json")
    path = tmp_path / "new.json"
    data = {"kind": "x", "paddock": "9", "made_at": 0, "machine": {}, "shape": 99}
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(BadReport, match="newer than this"):
        report.read(path)


def test_the_page_shows_it_all_and_runs_nothing() -> None:
    text = page(a_report())
    assert EVIL not in text
    assert "fine &amp; well" in text
    assert "skipped" in text
    assert text.count("<polyline") == 2
    assert "http" not in text.replace("http://www.w3.org", "")


def test_an_empty_report_has_a_page() -> None:
    assert "<h1>x</h1>" in page(Report(kind="x", paddock="1", made_at=0.0, machine={}))


def test_a_long_curve_keeps_its_peak() -> None:
    points = [(float(t), 1.0) for t in range(100_000)]
    points[77_777] = (77_777.0, 9.0)
    thin = thinned(points)
    assert len(thin) <= MOST_POINTS
    assert (77_777.0, 9.0) in thin
    assert thin == sorted(thin)
    assert "polyline" in curves([Curve(name="c", unit="", points=tuple(points))])


@pytest.mark.parametrize(("most", "top"), [(0.9, 1.0), (1.1, 2.0), (370.0, 500.0), (0.0, 1.0)])
def test_axes_end_in_round_numbers(most: float, top: float) -> None:
    assert nice_top(most) == pytest.approx(top)


def test_the_machine_is_described() -> None:
    found = machine.describe()
    assert found["cores"]
    assert isinstance(found["memory_bytes"], int)
    assert found["processor"]
