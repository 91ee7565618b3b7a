"""Which files there are, and how they join: built in < host < user < project.

A profile fills in what no file says: a key written in a file always wins over a profile, whoever
chose it. Only `max_concurrent_agents` is different, because there a profile is a cap.
A project's file may make some keys of the whole host stricter for its own runs, none looser.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from .agreement import check_agreement
from .located import written
from .mistakes import Mistakes, Place, nearest
from .preset import Preset
from .profiles import DEFAULT_PROFILE, PROFILES
from .reading import PROFILE_KEY, Layer, read_layer
from .settings import (
    BUILT_IN,
    BY_KEY,
    HOST_WIDE,
    MAX_AGENTS,
    OF_A_PROJECT,
    SETTINGS,
    Held,
    Settings,
    Stricter,
)

HOST_FILE: Final = Path("/etc/paddock/config.yaml")
PROJECT_FILE: Final = Path(".paddock/config.yaml")
_APART: Final = ("container", "kubernetes")
PROFILE_VARIABLE: Final = "PADDOCK_PROFILE"
PROFILE_OPTION: Final = "--performance-profile"

Files = Mapping[str, Path]


def user_file() -> Path:
    """Below XDG_CONFIG_HOME, or where this system keeps a user's configuration."""
    import platformdirs

    return Path(platformdirs.user_config_path("paddock")) / "config.yaml"


def find_project_file(directory: Path) -> Path | None:
    """`.paddock/config.yaml` in the directory or the nearest one above it that is no stranger's: in
    a directory of everybody, such as /tmp, anybody can lay one above another's."""
    start = directory.absolute()
    found = (above / PROJECT_FILE for above in (start, *start.parents))
    return next(
        (path for path in found if _is_there(path) and not _is_strangers(path, start)), None
    )


def _is_strangers(path: Path, start: Path) -> bool:
    """Neither ours, nor root's, nor of whoever owns the directory that is worked in."""
    try:
        trusted = {0, os.geteuid(), start.stat().st_uid}
        return not {path.lstat().st_uid, path.parent.lstat().st_uid} <= trusted
    except OSError:
        return False  # gone meanwhile, or closed: said when it is read


def find_files(directory: Path | None) -> dict[str, Path]:
    """The files that exist, weakest first. Without a directory: those of the whole host only."""
    found = {"host": HOST_FILE, "user": user_file()}
    project = None if directory is None else find_project_file(directory)
    if project is not None:
        found["project"] = project
    return {name: path for name, path in found.items() if _is_there(path)}


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # A directory above that may not be searched hides nobody's project; a file that is
        # there and cannot be read is reported when it is read.
        return path == HOST_FILE
    return True


def load_settings(directory: Path | None, *, profile: str | None = None) -> Settings:
    """All settings for a working directory; with None those of the daemon, for the whole host.

    `profile` is what `--performance-profile` said. ConfigError holds every mistake of every file.
    """
    return settings_of(find_files(directory), profile=profile, environment=os.environ)


def settings_of(
    files: Files, *, profile: str | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    mistakes = Mistakes()
    layers = [read_layer(path, name=name, mistakes=mistakes) for name, path in files.items()]
    forced = _forced(profile, environment or {})
    joined = join(layers, forced=forced, mistakes=mistakes)
    mistakes.raise_any()
    return joined


def join(layers: Sequence[Layer], *, forced: Held | None, mistakes: Mistakes) -> Settings:
    """The layers, weakest first, as one; a project's layer is held against all the others."""
    whole = _stack(layers, forced, mistakes)
    project = next((layer for layer in layers if layer.name == "project"), None)
    if project is not None:
        others = [layer for layer in layers if layer is not project]
        base = _stack(others, forced, Mistakes())
        whole = replace(_held_back(whole, base, mistakes), project_file=project.file)
    check_agreement(whole, mistakes)
    return whole


def _stack(layers: Sequence[Layer], forced: Held | None, mistakes: Mistakes) -> Settings:
    profile = _chosen_profile(layers, forced, mistakes)
    from_profile = _profile_values(str(profile.value), layers)
    cap = from_profile.pop(MAX_AGENTS.key, Held(None, BUILT_IN))
    held = {setting.key: Held(setting.built_in(), BUILT_IN) for setting in SETTINGS}
    held |= from_profile
    for layer in layers:
        held |= layer.values
    files = tuple(layer.file for layer in layers)
    presets = _presets(layers, mistakes)
    return Settings(held=held, profile=profile, agents_cap=cap, files=files, own_presets=presets)


def _presets(layers: Sequence[Layer], mistakes: Mistakes) -> Mapping[str, Preset] | None:
    said = [(layer.name, layer.agents) for layer in layers if layer.agents is not None]
    if not said:
        return None
    from .preset_reading import built_in, with_agents

    found = built_in()
    for name, value in said:
        found = with_agents(found, value, mistakes=mistakes, project=name == "project")
    return found


def _forced(option: str | None, environment: Mapping[str, str]) -> Held | None:
    for name, value in (
        (PROFILE_OPTION, option),
        (PROFILE_VARIABLE, environment.get(PROFILE_VARIABLE)),
    ):
        if value:
            return Held(value, name, Place(name))
    return None


def _chosen_profile(layers: Sequence[Layer], forced: Held | None, mistakes: Mistakes) -> Held:
    chosen = forced or Held(DEFAULT_PROFILE, BUILT_IN)
    for layer in () if forced else layers:
        chosen = layer.chosen or chosen
    own = [name for layer in layers for name in layer.profiles]
    known = list(dict.fromkeys([*PROFILES, *own]))
    if chosen.value in known:
        return chosen
    at = chosen.at or Place(chosen.source)
    near = nearest(chosen.value, known)
    # An option or a variable is its own name; in a file the key says which value is meant.
    key = PROFILE_KEY if at.line else ""
    found = f"the unknown profile {chosen.value[:40]!r}"
    mistakes.add(at, key, found=found, allowed=", ".join(known), nearest=near)
    return Held(DEFAULT_PROFILE, BUILT_IN)


def _profile_values(name: str, layers: Sequence[Layer]) -> dict[str, Held]:
    """The profile that ships, changed key by key by those of the same name in files.

    One that does not ship starts from medium: without a word about agents it is no licence.
    """
    start = name if name in PROFILES else DEFAULT_PROFILE
    found = {
        key: Held(BY_KEY[key].kind.read(written(text, file=BUILT_IN)), f"profile {start}")
        for key, text in PROFILES[start].items()
    }
    for layer in layers:
        found |= layer.profiles.get(name, {})
    return found


def _held_back(whole: Settings, base: Settings, mistakes: Mistakes) -> Settings:
    """Keys of the whole host as a project may have them: what is looser is reported, and a profile
    that the project chose does not loosen them. What is the host's alone stays as it is."""
    held, in_vain = dict(whole.held), {}
    for setting in HOST_WIDE:
        key, mine, theirs = setting.key, whole.held[setting.key], base.held[setting.key]
        looser = _looser(setting.stricter, mine.value, theirs.value)
        if not looser and setting in OF_A_PROJECT:
            continue
        held[key] = theirs
        if not looser and mine is not theirs and mine.explicit:
            in_vain[key] = mine
        if looser and mine.explicit and mine.at is not None:
            show = setting.kind.show
            allowed = (
                f"{_bound(setting.stricter, show(theirs.value))} (from {theirs.source}): a project "
                "can only make keys of the whole host stricter; looser goes in the user's file"
            )
            mistakes.add(mine.at, key, found=show(mine.value), allowed=allowed)
    cap = whole.agents_cap
    if _looser(Stricter.LOWER, cap.value, base.agents_cap.value):
        cap = base.agents_cap
    made = {each.key for each in HOST_WIDE if held[each.key].value != base.held[each.key].value}
    if cap.value != base.agents_cap.value:
        made.add(MAX_AGENTS.key)
    stricter = frozenset(made)
    return replace(whole, held=held, agents_cap=cap, stricter=stricter, in_vain=in_vain)


def _looser(stricter: Stricter | None, mine: Any, theirs: Any) -> bool:
    match stricter:
        case Stricter.LOWER:
            # None is auto: no bound of one's own.
            return theirs is not None and (mine is None or mine > theirs)
        case Stricter.HIGHER:
            # Against auto only the host's size tells; `to_policy` takes the larger of the two.
            return theirs is not None and (mine is None or mine < theirs)
        case Stricter.GUARANTEED:
            return bool(theirs == "guaranteed" and mine != theirs)
        case Stricter.APART:
            return theirs in _APART and mine != theirs
        case None:
            return False


def _bound(stricter: Stricter | None, text: str) -> str:
    words = {Stricter.LOWER: f"{text} or less", Stricter.HIGHER: f"{text} or more"}
    return words.get(stricter, text) if stricter is not None else text
