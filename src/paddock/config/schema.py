"""The settings as a JSON schema (draft 2020-12), for editors. Made from the same table."""

from __future__ import annotations

from typing import Any, Final

from .kinds import Choice
from .preset_kinds import PRESET_KINDS
from .preset_reading import MOST_PRESETS, PRESET_NAME, built_in
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
            "agents": {
                "description": "Presets of one's own, and changes to those that ship: "
                + "; ".join(f"{name}: {each.about}" for name, each in built_in().items()),
                "type": ["object", "null"],
                "maxProperties": MOST_PRESETS,
                "propertyNames": {"type": "string", "pattern": f"^{PRESET_NAME.pattern}$"},
                "additionalProperties": {"$ref": "#/$defs/preset"},
            },
        },
        "$defs": {**sections, "profile": _profile(), "preset": _preset()},
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


def _preset() -> dict[str, Any]:
    inside = {name: _or_null(kind.schema()) for name, kind in PRESET_KINDS.items()}
    like = {"type": "string", "pattern": f"^{PRESET_NAME.pattern}$"}
    properties = {"like": like, **inside}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _or_null(kind: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [*kind.get("anyOf", [kind]), {"type": "null"}]}


def _property(setting: Setting[Any]) -> dict[str, Any]:
    about = f"{setting.about} Allowed: {setting.kind.allowed}. Default: {setting.default}."
    return {"description": about, **setting.kind.schema()}
