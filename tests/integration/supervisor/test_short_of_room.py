"""A disk that is full when a workspace is made is no fault of the run's."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock.core.run import Outcome
from paddock.workspaces.errors import GitFailed
from tests.kit.factories import a_policy, a_spec, with_parts
from tests.kit.stand import Stand, of
from tests.kit.supervising import in_a_loop

FULL = "fatal: cannot create directory at 'src': No space left on device"


@pytest.mark.parametrize(
    "trouble",
    [
        lambda: OSError(errno.ENOSPC, "No space left on device"),
        lambda: GitFailed(f"git read-tree: {FULL}", told=FULL),
        lambda: GitFailed("git could not be started: Too many open files"),
    ],
)
def test_it_is_tried_again(
    stand: Stand,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[], Exception],
) -> None:
    prepare, tried = stand.room.prepare, []

    def full_at_first(run: str, **more: object) -> Path:
        tried.append(run)
        if len(tried) == 1:
            raise trouble()
        return prepare(run, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(stand.room, "prepare", full_at_first)

    async def scenario() -> None:
        policy = with_parts(a_policy(), retry={"first_s": 0.1})
        async with stand.life(policy) as one:
            await one.submit(a_spec("a"), "exit=0", labels=of(repository))
            [end] = await one.ended("a")
            assert end.outcome is Outcome.SUCCEEDED, end.because

    in_a_loop(scenario)
