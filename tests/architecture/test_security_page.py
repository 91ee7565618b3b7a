"""Every claim of the page on security names the test that shows it, and the test is there."""

from __future__ import annotations

import re

from tests.architecture.source import PROJECT

PAGE = (PROJECT / "docs/explain/security.md").read_text(encoding="utf-8")
SHOWN_BY = "shown by"
# What is said to be open needs no test; the page says why.
MEANT = "no test: it is meant so"


def rows_of(page: str) -> list[list[str]]:
    """The rows of all tables whose last column is to name a test."""
    found: list[list[str]] = []
    for block in re.findall(r"(?:^\|.*\|\n)+", page, re.MULTILINE):
        head, _, *rows = [
            [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            for line in block.strip().split("\n")
        ]
        if head[-1].strip("| ") == SHOWN_BY:
            found += rows
    return found


def test_every_claim_names_a_test() -> None:
    rows = rows_of(PAGE)
    assert len(rows) > 50
    bare = [row for row in rows if not re.search(r"`test_\w+`|tests/[\w/]+", row[-1])]
    assert [row for row in bare if MEANT not in row[-1]] == []


def test_what_it_names_is_there() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (PROJECT / "tests").rglob("test_*.py")]
    tests = "\n".join(sources)
    names = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(names) > 60
    assert [name for name in names if f"def {name}(" not in tests] == []
    paths = re.findall(r"\btests/[\w/]+(?:\.py)?", PAGE)
    assert [path for path in paths if not (PROJECT / path).exists()] == []
