"""Whatever the sizes, wherever it is killed: what is acknowledged is the input, exactly once."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.integration.stream.stages import (
    House,
    a_step,
    collected,
    collects_by_chunk,
    collects_by_stream,
    reads,
    told,
)

KILLED = -9
MANNERS = ("chunk", "lines", "stream")
MIDDLES: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "plain": [a_step("middle", "cat")],
    "by chunk": [a_step("middle", "cat", each="chunk")],
    "larger": [a_step("middle", "od", "-An", "-v", "-tx1", "-w1", each="chunk")],
}
# The nth touch of the outside, before it or (below 0) after it; small stages have about 100.
deaths = st.lists(st.integers(1, 120).flatmap(lambda nth: st.sampled_from([nth, -nth])), max_size=3)


@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(
    size=st.integers(0, 6000),
    chunk_bytes=st.integers(300, 2000),
    queued=st.integers(1, 4),
    manner=st.sampled_from(MANNERS),
    middle=st.sampled_from(sorted(MIDDLES)),
    kills=deaths,
)
@example(size=2500, chunk_bytes=500, queued=2, manner="chunk", middle="by chunk", kills=[60, -45])
@example(size=2500, chunk_bytes=500, queued=2, manner="stream", middle="plain", kills=[-70, 50])
@example(size=1501, chunk_bytes=500, queued=2, manner="stream", middle="larger", kills=[90, 110])
def test_what_is_acknowledged_is_the_input_exactly_once(  # noqa: PLR0913
    size: int, chunk_bytes: int, queued: int, manner: str, middle: str, kills: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        data = random.Random(size).randbytes(size).replace(b"\0", b"\n")
        (directory / "in").write_bytes(data)
        last = collects_by_chunk(directory / "out", cut="lines" if manner == "lines" else "bytes")
        if manner == "stream":
            last = collects_by_stream(directory / "stream", step=chunk_bytes // 2)
        steps = [reads(directory / "in"), *MIDDLES[middle], last]
        stage = House(directory, steps, chunk_bytes=chunk_bytes, queued=queued)
        # Every other one writes its journal anew whenever it has doubled.
        stage.env["LONG_BYTES"] = "200" if size % 2 == 0 else str(1 << 20)

        codes = [stage.run(nth=nth) for nth in kills]
        assert [code for code in codes if code[0] not in (0, KILLED)] == []
        assert stage.run(nth=0)[0] == 0

        if middle == "larger":
            data = b"".join(b" %02x\n" % byte for byte in data)
        _check(directory, data, manner)
        assert stage.chunks() == []


def _check(directory: Path, data: bytes, manner: str) -> None:
    if manner == "stream":
        found = directory / "stream"
        assert (found.read_bytes() if found.exists() else b"") == data
        return
    assert collected(directory / "out") == data
    seen = set()
    for number, maybe in told(directory / "out"):
        assert maybe or number not in seen, "a chunk was done twice, and nothing said it might be"
        seen.add(number)
