"""Whatever a fleet file holds: a fleet, or a FleetFileError whose lines can be printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paddock.wire.fleet_file import FleetFileError, parse_fleet, parse_fleet_text
from paddock.wire.run_fields import RUN_KINDS
from paddock.wire.run_lines import parse_lines

HERE = Path("/work")
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["a", "b", "4G", "30m", "none", "unlimited", "0755", "../x", "~x/y", "high"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "command", "A"]) | st.text(max_size=3), inner)
    ),
    max_leaves=6,
)
RUNS = st.dictionaries(
    st.sampled_from([*RUN_KINDS, "every"]) | st.text(max_size=4), VALUES, max_size=8
)
# Nearly right ones, so that what comes after the single keys is reached too.
GOOD_RUNS = st.fixed_dictionaries(
    {"name": st.sampled_from("abcd"), "command": st.just(["x"])},
    optional={
        "needs": st.lists(st.sampled_from("abcde"), max_size=3),
        "repo": st.text(min_size=1, max_size=8),
        "memory_high": st.sampled_from(["1G", "50%", "2T"]),
    },
)
FLEETS = st.fixed_dictionaries(
    {"runs": st.lists(GOOD_RUNS | RUNS, max_size=5)},
    optional={
        "fleet": SCALARS,
        "defaults": RUNS | VALUES,
        "heartbeats": st.lists(RUNS, max_size=2) | VALUES,
    },
)


def survives(parse: Callable[[], object]) -> None:
    for line in complaints(parse):
        assert line.isprintable()
        assert len(line) < 3000


def complaints(parse: Callable[[], object]) -> list[str]:
    try:
        parse()
    except FleetFileError as error:
        return [str(mistake) for mistake in error.mistakes] or ["\n"]
    return []


@given(FLEETS)
@settings(max_examples=200)
def test_any_fleet_of_known_words(document: Any) -> None:
    text = yaml.safe_dump(document)
    survives(lambda: parse_fleet_text(text, file="f", directory=HERE))


@given(st.binary(max_size=200))
def test_any_bytes(raw: bytes) -> None:
    with TemporaryDirectory() as directory:
        file = Path(directory) / "f.yaml"
        file.write_bytes(raw)
        survives(lambda: parse_fleet(file))


@given(st.text(max_size=60) | st.text(alphabet="{}[]\":,\\ab\n\t'#0", max_size=60))
@example("\x85")
@example("{\x00")
def test_any_lines(text: str) -> None:
    survives(lambda: parse_lines(text, file="-", directory=HERE))
