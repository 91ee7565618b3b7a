"""A new user's path: a fresh clone, and only what the quickstart says is typed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.kit.house import a_house
from tests.kit.typed import blocks_of, type_in

PROJECT = Path(__file__).parents[3]


@pytest.mark.timeout(600)  # an environment is made
def test_the_quickstart_works_on_a_fresh_clone(tmp_path: Path) -> None:
    work = tmp_path / "work"
    subprocess.run(["git", "clone", "--quiet", PROJECT, work], check=True)
    blocks = blocks_of(PROJECT / "docs/quickstart.md")
    assert sum(map(len, blocks)) >= 15
    with a_house(tmp_path) as house:
        # What pip needs to find its packages is the machine's; nothing else goes along.
        pip = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        pip |= {"PIP_CACHE_DIR": str(Path.home() / ".cache/pip")}
        git = {f"GIT_{who}_NAME": "You" for who in ("AUTHOR", "COMMITTER")}
        git |= {f"GIT_{who}_EMAIL": "you@localhost" for who in ("AUTHOR", "COMMITTER")}
        type_in(blocks, env={**house.env, **pip, **git}, at=work)
