"""`paddock simulate --quota`: what it prints, and what it refuses."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.cli.main import main
from paddock.manifests.rendering import all_of, render, stream
from paddock.manifests.values import Values
from tests.kit.cluster.platform import controllers, limit_range, quota

FLEET = """
fleet: payments
runs:
  - {name: implement, command: [./implement.sh], role: implementation, priority: high}
  - {name: review, command: [./review.sh], role: quality, needs: [implement]}
  - {name: test, command: [./test.sh], role: testing, needs: [implement]}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "namespace.yaml"
    path.write_text(yaml.safe_dump_all([quota(), limit_range(), controllers()]), encoding="utf-8")
    return str(path)


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET, encoding="utf-8")
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["simulate", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_json_says_how_many_of_each_role_fit(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "--quota", file)
    assert found["namespace"] == "agent-platform" and found["fleet"] is None
    assert {one["role"]: one["fit"] for one in found["roles"]} == {
        "implementation": 9,
        "quality": 18,
        "testing": 9,
        None: 18,
    }
    cpu = [one for one in found["quotas"] if one["resource"] == "requests.cpu"]
    assert cpu == [
        {"quota": "agent-platform-quota", "resource": "requests.cpu", "hard": "20", "used": "2"}
    ]


def test_rendered_manifests_come_from_stdin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = stream(all_of(render(Values(image="paddock:1", agents_image="agents:1"))))
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    found = told(capsys, "--quota", "-")
    assert [one["fit"] for one in found["roles"]] == [10, 20, 10, 20]


def test_words_are_a_table_with_what_holds_each(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--quota", file]) == 0
    out = capsys.readouterr().out
    assert out.startswith("agent-platform, 1 quota: how many of each fit at once, each alone; ")
    assert "2 requests.cpu, 8Gi requests.memory" in out
    (line,) = [line for line in out.splitlines() if line.startswith("testing")]
    assert "2 CPU 8Gi" in line and "4 CPU 16Gi" in line and "requests.memory" in line
    assert " 9  " in line


def test_a_fleet_file_says_who_runs_when(
    file: str, fleet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, "--quota", file, "--fleet", fleet)["fleet"]
    assert (found["runs"], found["completed"], found["peak_agents"]) == (3, 3, 2)
    assert found["moments"][0] == {"at_s": 0.0, "running": {"implementation": 1}}
    assert main(["simulate", "--quota", file, "--fleet", fleet]) == 0
    out = capsys.readouterr().out
    assert "2 at once at most (1 quality, 1 testing, first after" in out
    assert "AFTER" in out and "1 implementation" in out


def test_a_run_that_can_never_fit_is_refused_by_name(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = tmp_path / "large.yaml"
    run = "{name: huge, command: [x], role: testing, memory: 200G}"
    large.write_text(f"fleet: large\nruns:\n  - {run}\n", encoding="utf-8")
    assert main(["simulate", "--quota", file, "--fleet", str(large)]) == 3
    assert "huge: the quota agent-platform-quota allows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ram", "64G"], "--quota: found --ram as well, which is of a host"),
        (["--max-agents", "3"], "--quota: found --max-agents as well"),
    ],
)
def test_what_is_of_a_host_has_no_place_beside_it(
    file: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--quota", file, *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: LimitRange\nmetadata: {name: a}\n", "there is no ResourceQuota"),
        ("kind: ResourceQuota\nmetadata: {name: a}\nspec: {hard: {pods: many}}\n", "'many'"),
        ("kind: ResourceQuota\nspec: {hard: {pods: 3}}\n", "not as Kubernetes would take it"),
        ("{", "is no YAML"),
    ],
)
def test_a_file_that_says_no_quota_is_one_clear_line(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text, encoding="utf-8")
    assert main(["simulate", "--quota", str(path)]) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.strip().splitlines()) == 1


def test_neither_a_file_nor_a_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--quota", "No/Such"]) == 2
    assert "found no file" in capsys.readouterr().err
