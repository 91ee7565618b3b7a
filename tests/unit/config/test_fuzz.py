"""Whatever the file holds: settings, or a ConfigError whose lines can be printed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paddock.config.layers import settings_of
from paddock.config.mistakes import ConfigError
from paddock.config.policy import run_defaults, to_policy
from paddock.config.reading import TOP_KEYS
from paddock.config.settings import SETTINGS
from paddock.core.units import GIB

NAMES = [*TOP_KEYS, *(setting.name for setting in SETTINGS), "night", "command", "memory", "<<"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        ["auto", "half", "75%", "4G", "90s", "unlimited", "0755", "1:30", "-1", "medium"]
    ),
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=20,
)
# Text that has the look of YAML goes deeper into the parser than random text does.
YAMLISH = st.lists(
    st.sampled_from(
        [*NAMES, *"{}[]:,-&*!|>%@`'\"#?\n\t \\", ": ", "- ", "\n  ", "&a ", "*a", "!!str "]
    ),
    max_size=40,
).map("".join)


def survives(raw: bytes) -> None:
    with TemporaryDirectory() as directory:
        for name in ("user", "project"):
            path = Path(directory) / "f.yaml"
            path.write_bytes(raw)
            for line in complaints(name, path):
                assert line.isprintable()
                assert len(line) < 2000


def complaints(name: str, path: Path) -> list[str]:
    try:
        found = settings_of({name: path})
        to_policy(found, 16 * GIB)
        run_defaults(found, 16 * GIB)
    except ConfigError as error:
        return [str(mistake) for mistake in error.mistakes] or ["\n"]
    return []


@given(st.binary(max_size=200))
def test_any_bytes(raw: bytes) -> None:
    survives(raw)


@given(YAMLISH)
@settings(max_examples=200)
@example("a: &a\n<<: *a")
@example("? a\n: b")
@example("- &a {<<: *a}")
@example("\ufeff\ufeffa: 1")
def test_any_text_that_looks_like_yaml(text: str) -> None:
    survives(text.encode())


@given(DOCUMENTS)
@settings(max_examples=200)
def test_any_document_of_known_words(document: Any) -> None:
    survives(yaml.safe_dump(document, allow_unicode=False).encode())
