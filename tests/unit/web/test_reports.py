"""Reports come from a directory that agents may write to: read with care."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paddock.web.benchmarks import LARGEST_BYTES, as_html, found_in


def a_report(directory: Path, name: str, **more: object) -> None:
    report = {"kind": "cpu", "made_at": 1.0, "figures": [], "verdicts": []} | more
    (directory / f"{name}.json").write_text(json.dumps(report), encoding="utf-8")


def test_the_newest_comes_first_and_what_is_no_report_is_none(tmp_path: Path) -> None:
    a_report(tmp_path, "20260101-1000-cpu")
    a_report(tmp_path, "20260201-1000-soak", figures=[{"name": "x", "unit": "s", "samples": [1]}])
    (tmp_path / "20260301-1000-bad.json").write_text("[]", encoding="utf-8")
    found = found_in(tmp_path)
    assert [name for name, _ in found] == [
        "20260301-1000-bad",
        "20260201-1000-soak",
        "20260101-1000-cpu",
    ]
    assert found[0][1] is None and found[2][1] is not None


def test_no_directory_no_reports(tmp_path: Path) -> None:
    assert found_in(tmp_path / "nowhere") == []


@pytest.mark.parametrize("name", ["../secret", "..", "a/b", "", ".hidden", "x" * 200, "a\nb"])
def test_a_name_that_leads_elsewhere_is_not_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "secret.html").write_text("secret", encoding="utf-8")
    assert as_html(tmp_path / "reports", name).status_code == 404


def test_a_link_and_a_file_without_end_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.html").write_text("real", encoding="utf-8")
    (tmp_path / "linked.html").symlink_to("/etc/passwd")
    with (tmp_path / "large.html").open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    assert as_html(tmp_path, "linked").status_code == 404
    assert as_html(tmp_path, "large").status_code == 404
    answer = as_html(tmp_path, "real")
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
