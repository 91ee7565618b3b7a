"""A pipeline larger than its wall, killed five times: bench/bench_stream.py in small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.cgroups.home import NoHome
from tests.integration.stream.walled import Pen, Pipeline

MIB = 1 << 20


@pytest.fixture
def pen() -> Iterator[Pen]:
    try:
        made = Pen(64 * MIB)
    except NoHome as error:
        pytest.skip(f"this machine has no cgroups for us: {error}")
    yield made
    made.remove()


def test_a_pipeline_of_three_times_its_wall_is_exact_after_five_kills(
    pen: Pen, tmp_path: Path
) -> None:
    pipeline = Pipeline(tmp_path, 200 * MIB, a_second=80 * MIB, chunk_bytes=5 * MIB)
    peaks: list[int] = []

    assert pipeline.run(pen, 5, lambda: peaks.append(pen.group.used_bytes())) == 0

    assert pipeline.is_exact()
    assert max(peaks) < 48 * MIB
    assert pen.group.counters().oom_kills == 0
    runs = Counter((tmp_path / "out.log").read_text().split())
    assert sorted(map(int, runs)) == list(range(40))
    assert sum(runs.values()) <= 40 + 5, "more was done again than what each kill interrupted"
