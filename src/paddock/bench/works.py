"""What a baseline measures: pieces of work, each performed in a directory of its own."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from paddock.config.places import find_places

from .pen import NAME
from .workload import TASKS


def _well() -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One performance: the same command for a bare process and for a run of paddock's."""

    command: tuple[str, ...]
    directory: Path
    env: Mapping[str, str] = field(default_factory=dict)
    wrong: Callable[[], str] = _well  # after its end: what it left undone, or nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One row of the matrix; `scene` sets it up in an empty directory."""

    name: str
    scene: Callable[[Path], Scene]
    told: str = ""
    expected_mib: tuple[int, int] | None = None


def commanded(
    name: str, command: tuple[str, ...], *, told: str = "", directory: Path | None = None
) -> Work:
    """In `directory`, or in one that is made for it."""

    def scene(made: Path) -> Scene:
        return Scene(command=command, directory=directory or made)

    return Work(name=name, scene=scene, told=told)


def shipped_command(task: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", "paddock.bench.workload", task)


def shipped(task: str) -> Work:
    one = TASKS[task]
    found = commanded(task, shipped_command(task), told=one.told)
    return Work(name=task, scene=found.scene, told=one.told, expected_mib=one.expected_mib)


@contextmanager
def a_scene(work: Work) -> Iterator[Scene]:
    # Beside the state, as the pens: /tmp may be memory.
    top = find_places().state.parent
    top.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix=NAME, dir=top))
    try:
        yield work.scene(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
