"""Every benchmark of `make bench` can be started as that does: as a file, from anywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCH.glob("bench_*.py")))
def test_a_benchmark_finds_what_it_imports(name: str, tmp_path: Path) -> None:
    """Each alone: one that was imported before may have made the path longer for the next."""
    # As Python sets the path for a file that it is given: its own directory, and not ours.
    code = f"import sys; sys.path[0] = {str(BENCH)!r}; import {name}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_the_race_and_the_guests_need_is_installed_for_all_benchmarks() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.search(r"^bench: .*\n\t@tools/needs (.*)$", makefile, re.MULTILINE)
    assert found is not None
    assert {"$(RACERS)", "$(GUEST)"} <= set(found[1].split())
