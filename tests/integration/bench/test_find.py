"""`bench find` on agents whose number is known by construction, with real memory."""

from __future__ import annotations

import subprocess

import pytest

from paddock.bench.find import Asked, find, said
from paddock.bench.traces import command, lines
from paddock.simulate.trace import Trace

MIB = 1 << 20
FLAT = Trace([(10.0, 100 * MIB, 0.0)])
MOSTLY_HIGH = Trace([(1.0, 20 * MIB, 0.0), (9.0, 90 * MIB, 0.0)])
RAMP = Trace([(1.0, level * MIB, 0.0) for level in range(20, 130, 10)])


@pytest.mark.parametrize(
    ("trace", "wall_mib", "how", "truth"),
    [(FLAT, 450, "apart", 4), (MOSTLY_HIGH, 320, "apart", 3), (RAMP, 400, "together", 3)],
)
def test_the_number_is_within_one_of_the_truth(
    trace: Trace, wall_mib: int, how: str, truth: int
) -> None:
    asked = Asked(
        traces=(trace,),
        wall_bytes=wall_mib * MIB,
        total_bytes=1024 * MIB,
        rounds=2,
        seconds=1.0,
        together=how == "together",
    )
    told: list[str] = []
    found = find(asked, told.append)
    assert abs(found.agents - truth) <= 1
    assert found.rounds == 2
    assert any("one was killed" in line for line in told)
    assert found.memory_limit_bytes >= 1.25 * trace.peak_bytes
    assert said(asked, found)[-1] == f"max_concurrent_agents: {found.agents}"


def test_what_does_not_fit_even_once_is_said() -> None:
    asked = Asked(traces=(FLAT,), wall_bytes=64 * MIB, total_bytes=128 * MIB, rounds=1, seconds=0.5)
    found = find(asked, lambda _: None)
    assert found.agents == 0
    assert said(asked, found) == ["not even one of these agents fits in 64 MiB"]


@pytest.mark.parametrize(
    ("text", "told"),
    [("1 2\n", "line 1: found '1 2'"), ("", ""), ("0.01 9000000 0.5\n0 0 0\n", "")],
)
def test_a_player_by_itself(text: str, told: str) -> None:
    done = subprocess.run(
        command("-"), input=text, capture_output=True, text=True, check=False, timeout=60
    )
    assert told in done.stderr
    assert done.returncode == (1 if told else 0)
    assert lines(Trace([])) == ""
