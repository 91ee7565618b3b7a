"""Every page is in the site's table, every link leads somewhere, every named test is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.source import PROJECT

DOCS = PROJECT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *PROJECT.glob("*.md")])
BESIDE = {"decisions"}  # found by their links, not by the table
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def nav_of(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    inner = entry if isinstance(entry, list) else entry.values()
    return [page for each in inner for page in nav_of(each)]


def anchors_in(page: Path) -> set[str]:
    """As GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", title.lower()) for title in titles)
    return {each.strip().replace(" ", "-") for each in plain}


def links_in(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found = (link or image for link, image in LINK.findall(text))
    return [link for link in found if not re.match(r"https?:|mailto:", link)]


def test_every_page_is_in_the_table_of_the_site_once() -> None:
    site = yaml.safe_load((PROJECT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = nav_of(site["nav"])
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert len(listed) == len(set(listed))
    assert {page for page in pages if page.split("/")[0] not in BESIDE} == set(listed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links_in(page):
        path, _, anchor = link.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.exists(), link
        assert not anchor or to.suffix != ".md" or anchor in anchors_in(to), link


def test_every_test_that_security_names_is_there() -> None:
    text = (DOCS / "explain/security.md").read_text(encoding="utf-8")
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in (PROJECT / "tests").rglob("test_*.py")
    )
    named = re.findall(r"`(test_\w+)`", text)
    assert len(named) > 10
    assert [name for name in named if f"def {name}(" not in tests] == []
    paths = re.findall(r"tests/[\w/]+(?:\.py)?", text)
    assert [path for path in paths if not (PROJECT / path).exists()] == []
