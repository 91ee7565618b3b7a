"""What is generated from the table: the reference page and the file to start from."""

from __future__ import annotations

import re
from pathlib import Path

from paddock.config.reference import page, starter
from paddock.config.settings import SETTINGS
from tests.unit.config.files import settings

PAGE = Path(__file__).parents[3] / "docs/reference/config.md"


def test_the_committed_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run: python -m paddock.config.reference > docs/reference/config.md"
    )


def test_the_starter_changes_nothing_and_means_the_defaults_when_uncommented() -> None:
    assert all(not held.explicit for held in settings(starter()).held.values())
    bare = "\n".join(
        re.sub(r"^# ?", "", line)
        for line in starter().splitlines()
        if re.match(r"#\s+\w+:", line) or line.startswith("#   night")
    )
    found = settings(bare)
    for setting in SETTINGS:
        assert found[setting] == setting.built_in()
        assert found.where(setting).explicit, setting.key
