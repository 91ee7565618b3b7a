"""What README and the how-to pages show is what a user sees, typed in their order into a shell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.kit.house import a_house
from tests.kit.typed import blocks_of, type_in

PROJECT = Path(__file__).parents[3]
PAGES = ("README.md", "docs/how-to/laptop.md", "docs/how-to/large-host.md")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_is_printed(page: str, tmp_path: Path) -> None:
    blocks = blocks_of(PROJECT / page)
    assert blocks
    work = tmp_path / "work"
    work.mkdir()
    with a_house(tmp_path) as house:
        bin_directory = Path(sys.executable).parent
        env = {**house.env, "PATH": f"{bin_directory}:{house.env['PATH']}"}
        type_in(blocks, env=env, at=work)
