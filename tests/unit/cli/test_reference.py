"""The page of all options is the commands' own."""

from __future__ import annotations

import re

from paddock.cli.reference import page
from tests.architecture.source import PROJECT


def test_the_page_of_options_is_up_to_date() -> None:
    kept = (PROJECT / "docs/reference/options.md").read_text(encoding="utf-8")
    how = "run: python -m paddock.cli.reference > docs/reference/options.md"
    assert kept == page(), how


def test_every_option_says_what_it_is_for() -> None:
    silent = [line for line in page().splitlines() if re.search(r"` \|\s+(\[.*\] )?\|$", line)]
    assert silent == []
