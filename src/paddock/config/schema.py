"""The settings as a JSON schema (draft 2020-12), for editors. Made from the same table."""

from __future__ import annotations

from typing import Any, Final

from .kinds import Choice
from .profiles import ABOUT, PROFILES
from .reading import MOST_PROFILES, PROFILE_KEY, PROFILE_NAME, SHORT_NAMES
from .settings import BY_KEY, SECTIONS, SETTINGS, Setting

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    sections = {section: _section(section) for section in SECTIONS}
    return {
        "$schema": DIALECT,
        "title": "paddock configuration",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {
            PROFILE_KEY: {
                "description": "The profile to start from: one of these, or one of `profiles`.",
                "anyOf": [Choice(tuple(PROFILES)).schema(), _name()],
                "default": "medium",
            },
            **{name: {"$ref": f"#/$defs/{name}"} for name in SECTIONS},
            "profiles": {
                "description": "Profiles of one's own, and changes to those that ship: "
                + "; ".join(f"{name}: {about}" for name, about in ABOUT.items()),
                "type": ["object", "null"],
                "maxProperties": MOST_PROFILES,
                "propertyNames": _name(),
                "additionalProperties": {"$ref": "#/$defs/profile"},
            },
        },
        "$defs": {**sections, "profile": _profile()},
    }


def _name() -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{PROFILE_NAME.pattern}$"}


def _section(section: str) -> dict[str, Any]:
    inside = {each.name: _property(each) for each in SETTINGS if each.section == section}
    return {"type": ["object", "null"], "additionalProperties": False, "properties": inside}


def _profile() -> dict[str, Any]:
    short = {name: _property(BY_KEY[key]) for name, key in SHORT_NAMES.items()}
    sections = {name: {"$ref": f"#/$defs/{name}"} for name in SECTIONS}
    return {"type": "object", "additionalProperties": False, "properties": {**short, **sections}}


def _property(setting: Setting[Any]) -> dict[str, Any]:
    about = f"{setting.about} Allowed: {setting.kind.allowed}. Default: {setting.default}."
    return {"description": about, **setting.kind.schema()}
