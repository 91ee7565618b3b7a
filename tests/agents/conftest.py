"""The real programs, where `make test-agents` has put them; elsewhere their tests are not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.house import a_house

from .theatre import AGENTS, Theatre

NEED_THEM = ("test_programs.py", "test_trouble.py")
collect_ignore = [] if os.environ.get("PADDOCK_AGENTS") else [*NEED_THEM]

# Three agents side by side; a more urgent run may take the place of one at once.
CONFIG = """\
performance: {max_concurrent_agents: 3}
queue: {min_run: 0.1s, max_preemptions: 1000}
"""


@pytest.fixture
def theatre(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Theatre]:
    slots = getattr(request, "param", 3)
    config = CONFIG.replace("agents: 3", f"agents: {slots}")
    with a_house(tmp_path, config=config) as house:
        house.env["PATH"] = f"{AGENTS}:{house.env['PATH']}"
        # What must not be seen inside a rehearsal.
        house.env["ANTHROPIC_API_KEY"] = house.env["OPENAI_API_KEY"] = "the-users-own-key"
        house.start()
        yield Theatre(house)
