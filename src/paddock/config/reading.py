"""Reading one configuration file into a layer, with every mistake in it. Joins no files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .kinds import Wrong
from .located import Scalar, Table, Value, describe, load_file
from .mistakes import ConfigError, Mistakes, Place
from .profiles import PROFILES
from .settings import BY_KEY, SECTIONS, SETTINGS, Held, Setting

PROFILE_KEY: Final = "performance_profile"
TOP_KEYS: Final = (PROFILE_KEY, *SECTIONS, "profiles", "agents")
MOST_PROFILES: Final = 50
PROFILE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")

# A profile may name these without their section, as in `max_concurrent_agents: 2`.
SHORT_NAMES: Final[Mapping[str, str]] = {
    setting.name: setting.key
    for setting in SETTINGS
    if setting.section in ("performance", "sandbox")
}
# What people write for what the files call otherwise, where spelling alone would mislead.
_MEANT: Final = {"profile": PROFILE_KEY, "limits": "sandbox", "memory": "sandbox.memory_limit"}


@dataclass(frozen=True, slots=True)
class Layer:
    """What one file says. `name` is host, user or project."""

    name: str
    file: str
    values: Mapping[str, Held] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, Held]] = field(default_factory=dict)
    chosen: Held | None = None
    agents: Value | None = None  # presets, not read yet: they build on those of weaker files


def read_layer(path: Path, *, name: str, mistakes: Mistakes) -> Layer:
    """Mistakes are added to `mistakes`; what is right is in the layer all the same."""
    try:
        table = load_file(path)
    except ConfigError as error:
        mistakes.take(error)
        return Layer(name, str(path))
    return layer_of(table, name=name, mistakes=mistakes)


def layer_of(table: Table, *, name: str, mistakes: Mistakes) -> Layer:
    values: dict[str, Held] = {}
    profiles: dict[str, dict[str, Held]] = {}
    chosen: Held | None = None
    agents: Value | None = None
    for key, value in table.entries.items():
        at = table.places[key]
        if key in SECTIONS:
            values |= _section(key, value, key=key, mistakes=mistakes)
        elif key == "profiles":
            profiles = _profiles(value, mistakes)
        elif key == "agents":
            agents = value
        elif key == PROFILE_KEY:
            chosen = _chosen(value, mistakes)
        else:
            _unknown(at, key, names=TOP_KEYS, mistakes=mistakes)
    return Layer(name, table.at.file, values, profiles, chosen, agents)


def _section(
    section: str, value: Value, *, key: str, mistakes: Mistakes, source: str = ""
) -> dict[str, Held]:
    """The settings below a section's name; `key` is how the file got there."""
    if isinstance(value, Scalar) and value.value is None:
        return {}  # all its keys are commented out
    if not isinstance(value, Table):
        allowed = "a table of keys and values"
        mistakes.add(value.at, key, found=describe(value), allowed=allowed)
        return {}
    found: dict[str, Held] = {}
    for name, each in value.entries.items():
        setting = BY_KEY.get(f"{section}.{name}")
        if setting is None:
            names = [known.name for known in SETTINGS if known.section == section]
            _unknown(value.places[name], f"{key}.{name}", names=names, mistakes=mistakes)
            continue
        held = _held(setting, each, key=f"{key}.{name}", mistakes=mistakes, source=source)
        if held is not None:
            found[setting.key] = held
    return found


def _held(
    setting: Setting[Any], value: Value, *, key: str, mistakes: Mistakes, source: str
) -> Held | None:
    try:
        read = setting.kind.read(value)
    except Wrong as wrong:
        at = wrong.at or value.at
        mistakes.add(at, key, found=wrong.found, allowed=wrong.allowed, nearest=wrong.near)
        return None
    where = f"{source} ({value.at})" if source else str(value.at)
    return Held(read, where, value.at, explicit=not source)


def _chosen(value: Value, mistakes: Mistakes) -> Held | None:
    if isinstance(value, Scalar) and PROFILE_NAME.fullmatch(value.text):
        return Held(value.text, str(value.at), value.at, explicit=True)
    allowed = ", ".join(PROFILES) + " or one of `profiles:`"
    mistakes.add(value.at, PROFILE_KEY, found=describe(value), allowed=allowed)
    return None


def _profiles(value: Value, mistakes: Mistakes) -> dict[str, dict[str, Held]]:
    if isinstance(value, Scalar) and value.value is None:
        return {}
    if not isinstance(value, Table) or len(value.entries) > MOST_PROFILES:
        allowed = f"a table of {MOST_PROFILES} profiles at most, each a table of settings"
        mistakes.add(value.at, "profiles", found=describe(value), allowed=allowed)
        return {}
    found = {}
    for name, body in value.entries.items():
        if not PROFILE_NAME.fullmatch(name):
            allowed = "a name that begins with a letter: letters, digits, _ and -, 32 at most"
            at = value.places[name]
            mistakes.add(at, "profiles", found=describe(Scalar(at, name, name)), allowed=allowed)
            continue
        found[name] = _profile(name, body, mistakes)
    return found


def _profile(name: str, body: Value, mistakes: Mistakes) -> dict[str, Held]:
    key, source = f"profiles.{name}", f"profile {name}"
    if not isinstance(body, Table):
        allowed = "a table of settings, as in {max_concurrent_agents: 2}"
        mistakes.add(body.at, key, found=describe(body), allowed=allowed)
        return {}
    found: dict[str, Held] = {}
    for inner, value in body.entries.items():
        full = f"{key}.{inner}"
        if inner in SHORT_NAMES:
            setting = BY_KEY[SHORT_NAMES[inner]]
            held = _held(setting, value, key=full, mistakes=mistakes, source=source)
            if held is not None:
                found[setting.key] = held
        elif inner in SECTIONS:
            found |= _section(inner, value, key=full, mistakes=mistakes, source=source)
        else:
            names = [*SHORT_NAMES, *SECTIONS]
            _unknown(body.places[inner], full, names=names, mistakes=mistakes)
    return found


def _unknown(at: Place, key: str, *, names: Any, mistakes: Mistakes) -> None:
    """A name that exists elsewhere is named with its section: it was only put in the wrong one."""
    name = key.rpartition(".")[2]
    meant = next((s.key for s in SETTINGS if s.name == name), _MEANT.get(name, ""))
    if meant and name not in names:
        mistakes.add(at, key, found="an unknown key", allowed=", ".join(names), nearest=meant)
        return
    mistakes.unknown_key(at, key, known=names)
