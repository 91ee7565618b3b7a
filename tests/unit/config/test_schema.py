"""The JSON schema: valid, of the same table, and of one mind with the reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from paddock.config.kinds import Duration, Number, OrWord, Size, Whole
from paddock.config.schema import schema
from paddock.config.settings import SETTINGS, Setting
from tests.unit.config.files import mistakes_in

EXAMPLES = sorted((Path(__file__).parents[2] / "data/config").glob("*.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(schema())


def accepts(document: Any) -> bool:
    return bool(VALIDATOR.is_valid(document))


def test_it_is_a_valid_schema_of_the_2020_12_draft() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_validates(path: Path) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []


def bounded(setting: Setting[Any]) -> list[tuple[float, float]]:
    kind = setting.kind.kind if isinstance(setting.kind, OrWord) else setting.kind
    match kind:
        case Whole(least=least, most=most) | Number(least=least, most=most):
            return [(least, most)]
        case Size(least=least, most=most) | Duration(least_s=least, most_s=most):
            return [(least, most)]
        case _:
            return []


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_ranges_agree_with_the_reader_at_both_ends(setting: Setting[Any]) -> None:
    for least, most in bounded(setting):
        step = 0.01 if isinstance(setting.kind, Number) else 1
        for number, right in (
            (least, True),
            (most, True),
            (least - step, False),
            (most + step, False),
        ):
            assert accepts({setting.section: {setting.name: number}}) == right
            text = f"{setting.section}: {{{setting.name}: {number}}}"
            lines = mistakes_in(text, profile="host")
            alone = [line for line in lines if "allowed: above" not in line]
            alone = [line for line in alone if "allowed: below" not in line]
            assert (alone == []) == right, text


@pytest.mark.parametrize(
    "document",
    [
        {"zebra": 1},
        {"performance": {"agent_timeot": 900}},
        {"performance": {"max_concurrent_agents": "many"}},
        {"sandbox": {"memory_limit": "4 Gigs"}},
        {"sandbox": {"tool_walls": [{"lease": "tests"}]}},
        {"profiles": {"a b": {}}},
        {"profiles": {"night": {"agent_timout": 900}}},
        [],
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(document: Any) -> None:
    assert not accepts(document)
    assert mistakes_in(yaml.safe_dump(document)) != []


def test_defaults_and_words_are_accepted() -> None:
    for setting in SETTINGS:
        value = yaml.safe_load(setting.default)
        assert accepts({setting.section: {setting.name: value}}), setting.key
    assert accepts({"performance": None, "profiles": {"night": {"queue": {"depth": 5}}}})
    assert accepts(None)
