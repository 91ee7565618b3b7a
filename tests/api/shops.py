"""Submissions with a repository, and what is kept of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from paddock.ports import Recipe
from paddock.supervisor.wanted import REPOSITORY_LABEL, Wanted
from paddock.wire.run_request import RunRequest
from tests.kit.desk import ServedDesk, an_agent

SECRET = "hunter2-is-a-secret"
ADDRESS = f"https://me:{SECRET}@host.invalid/team/shop.git"


def of(repository: Path | str, name: str = "a", **more: Any) -> RunRequest:
    return an_agent(name, "sleep=60", repo=str(repository), **more)


def set_limit(desk: ServedDesk, megabytes: int) -> None:
    config = desk.home / ".paddock/config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(f"performance: {{max_repo_size_mb: {megabytes}}}\n", encoding="utf-8")


def recipe_of(desk: ServedDesk, run: str) -> Recipe:
    found = desk.now(lambda: desk.store.recipe(run))
    assert found is not None
    return found


def wanted_by(desk: ServedDesk, run: str) -> Wanted:
    return msgspec.json.decode(recipe_of(desk, run).labels[REPOSITORY_LABEL], type=Wanted)
