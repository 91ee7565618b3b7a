"""Every requirement names what shows it, and what is named is there."""

from __future__ import annotations

import re

from tests.architecture.source import PROJECT

PAGE = (PROJECT / "docs/reference/requirements.md").read_text(encoding="utf-8")
# How many there are of each kind; the page has no other.
_COUNTS = (
    "HOST 4, CAP 5, ISO 10, ADM 5, SCH 7, RUN 8, STEP 4, LOG 5, REPO 5, CFG 3, API 3, REL 5, "
    "OBS 5, UI 5, DIAG 8, K8S 6, DOC 1"
)
IDS = {kind: int(most) for kind, most in (each.split() for each in _COUNTS.split(", "))}


def test_no_requirement_is_missing() -> None:
    found = re.findall(r"^\| ([A-Z0-9]+-\d+) \|", PAGE, re.MULTILINE)
    expected = [f"{kind}-{number}" for kind, most in IDS.items() for number in range(1, most + 1)]
    assert sorted(found) == sorted(expected)


def test_what_is_named_is_there() -> None:
    paths = re.findall(r"\b(?:tests|bench)/[\w/]+\.\w+", PAGE)
    assert [path for path in paths if not (PROJECT / path).exists()] == []
    sources = [path.read_text(encoding="utf-8") for path in (PROJECT / "tests").rglob("test_*.py")]
    tests = "\n".join(sources)
    names = re.findall(r"`(test_\w+)`", PAGE)
    assert [name for name in names if f"def {name}(" not in tests] == []


def test_every_row_names_something() -> None:
    rows = re.findall(r"^\| [A-Z0-9]+-\d+ \|[^|]*\|([^|]*)\|$", PAGE, re.MULTILINE)
    assert rows
    assert [row for row in rows if not re.search(r"tests/|bench/|`test_", row)] == []
