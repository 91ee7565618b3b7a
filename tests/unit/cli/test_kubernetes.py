"""`paddock kubernetes render|check`: streams, files, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from paddock.cli.main import main
from paddock.controller.main import identity


def test_render_is_a_stream_that_check_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kubernetes", "render", "--namespace", "agents", "--argo"]) == 0
    stream = tmp_path / "all.yaml"
    stream.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["kubernetes", "check", "--version", "1.36", str(stream)]) == 0
    assert "no problem" in capsys.readouterr().err


def test_render_writes_files_and_a_quota_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--out", str(tmp_path), "--quota", "limits.memory=320Gi", "--no-monitoring"]
    assert main(["kubernetes", "render", *words]) == 0
    assert capsys.readouterr().out == ""
    limits = list(yaml.safe_load_all((tmp_path / "limits.yaml").read_text(encoding="utf-8")))
    [quota] = [one for one in limits if one["metadata"]["name"] == "agent-platform-quota"]
    assert quota["spec"]["hard"]["limits.memory"] == "320Gi"
    assert not (tmp_path / "monitoring.yaml").exists()


def test_alerts_name_their_page_or_lead_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for words in ([], ["--runbooks", "https://wiki.example/x/"]):
        assert main(["kubernetes", "render", "--json", *words]) == 0
        objects = json.loads(capsys.readouterr().out)
        [rules] = [one for one in objects if one["kind"] == "PrometheusRule"]
        annotations = rules["spec"]["groups"][0]["rules"][0]["annotations"]
        found.append(annotations.get("runbook_url") or annotations["runbook"])
    assert found == [
        "docs/operate/alerts/AgentHighCPUUsage.md in paddock's repository",
        "https://wiki.example/x/AgentHighCPUUsage.md",
    ]


def test_quotas_follow_from_what_is_expected_unless_one_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--expect", "implementation=5", "--expect", "quality=5", "--quota", "pods=99"]
    assert main(["kubernetes", "render", "--json", *words]) == 0
    objects = json.loads(capsys.readouterr().out)
    [quota] = [one for one in objects if one["metadata"]["name"] == "agent-platform-quota"]
    assert quota["spec"]["hard"]["limits.memory"] == "144Gi"
    assert quota["spec"]["hard"]["pods"] == "99"


def test_what_was_changed_by_hand_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["kubernetes", "render", "--out", str(tmp_path)]
    assert main(words) == 0
    assert main(words) == 0, "what it wrote itself it writes again"
    changed = tmp_path / "limits.yaml"
    changed.write_text(changed.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    capsys.readouterr()
    assert main(words) == 2
    assert "changed by hand" in capsys.readouterr().err
    assert changed.read_text(encoding="utf-8").endswith("# mine\n")
    assert main([*words, "--overwrite"]) == 0
    assert "# mine" not in changed.read_text(encoding="utf-8")


def test_images_that_nobody_has_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kubernetes", "render"]) == 0
    assert "--agents-image" in capsys.readouterr().err
    images = ["--image", "registry.example/a:1", "--agents-image", "registry.example/b:1"]
    assert main(["kubernetes", "render", *images]) == 0
    assert capsys.readouterr().err == ""


def test_what_is_wrong_is_told_with_its_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1}
    wrong |= {"metadata": {"name": "mine"}, "globalDefault": True}
    listed = {"apiVersion": "v1", "kind": "List", "items": [wrong]}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(listed), encoding="utf-8")
    words = ["kubernetes", "check", "--version", "1.36", str(tmp_path / "mine.yaml")]
    assert main(words) == 1
    assert "PriorityClass mine: globalDefault" in capsys.readouterr().out
    assert main([*words, "--json"]) == 1
    [told] = json.loads(capsys.readouterr().out)
    assert told["rule"] == "no-global-default"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["render", "--namespace", "Agents/1"], "is no name"),
        (["render", "--agents-image", "bad image!!"], "no name of an image"),
        (["render", "--quota", "limits.memroy=1Gi"], "is none of"),
        (["render", "--quota", "limits.memory=lots"], "no quantity"),
        (["render", "--quota", "pods=0"], "more than 0"),
        (["render", "--expect", "quality"], "allowed: a role and how many"),
        (["render", "--runbooks", "docs/alerts"], "allowed: an address"),
        (["controller", "--metrics", "8082x"], "allowed: an address"),
        (["render", "--expect", "quality=0"], "allowed: a role and how many"),
        (["apply", "--to", "2"], "only with --rollback"),
        (["apply", "--stage", "50", "--stage", "10"], "rising numbers"),
        (["remove", "--namespace", "A/b"], "is no name"),
        (["check", "--cluster", "x.yaml"], "no files"),
        (["check", "--version", "9.9"], "is not known"),
        (["check", "nowhere.yaml"], "nowhere.yaml"),
        (["check", "binary"], "is no YAML"),
        (["check", "empty"], "holds no object"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(b"\x00\xff\xfe")
    (tmp_path / "empty").write_text("", encoding="utf-8")
    assert main(["kubernetes", *words]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err and told.err.count("\n") == 1


def test_two_controllers_on_one_host_have_identities_of_their_own() -> None:
    assert identity() != identity()
