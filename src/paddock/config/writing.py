"""Values into a configuration file: only those are changed, all else stays as somebody wrote it.

The text is edited where the parser says that a value stands; comments, order and quotes of others
stay. What comes of it is read again before it takes the file's place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .layers import settings_of
from .mistakes import ConfigError

INDENT: Final = "  "
BOM: Final = "\ufeff"


class NotWritten(Exception):
    """The file is as it was; says why, and what to do."""


def write_values(
    path: Path, values: Mapping[str, str], *, by: str | None = None, why: str = ""
) -> None:
    """Keys such as `sandbox.memory_limit`; the file is made where there is none. `by` has found
    them, and `why` is its evidence: a comment at the top, in the place of the one it left before.
    """
    _check_owners(path)
    path = path.resolve()
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise NotWritten(f"{path} cannot be read: {error}") from None
    text = with_values(before, values)
    _replace(path, text if by is None else with_comment(text, by, why), values)


def with_values(text: str, values: Mapping[str, str]) -> str:
    for key, value in values.items():
        section, _, name = key.partition(".")
        text = _with_value(text, section, name, value)
    return text


def with_comment(text: str, by: str, why: str) -> str:
    """One line at the top, which is a comment in every kind of YAML."""
    mark = f"# {by}: "
    line = f"{mark}{' '.join(why.split())}\n"
    start = BOM if text.startswith(BOM) else ""
    kept = text.removeprefix(BOM).splitlines(keepends=True)
    return start + line + "".join(each for each in kept if not each.startswith(mark))


def _with_value(text: str, section: str, name: str, value: str) -> str:
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise NotWritten(f"it is no YAML: {' '.join(str(error).split())}") from None
    if root is None:
        return f"{_ended(text)}{section}:\n{INDENT}{name}: {value}\n"
    if not isinstance(root, yaml.MappingNode):
        raise NotWritten("it is no table of settings")
    found = _entry(root, section)
    if found is None:
        if root.flow_style:
            return _into_flow(text, root, f"{section}: {{{name}: {value}}}")
        return f"{_ended(text)}{section}:\n{INDENT}{name}: {value}\n"
    key, node = found
    if not isinstance(node, yaml.MappingNode):
        return _into_empty(text, key, node, f"{name}: {value}")
    inner = _entry(node, name)
    if inner is not None:
        start, end = inner[1].start_mark.index, inner[1].end_mark.index
        return text[:start] + ("" if end > start else " ") + value + text[end:]
    if node.flow_style:
        return _into_flow(text, node, f"{name}: {value}")
    first = node.value[0][0].start_mark
    return text[: first.index] + f"{name}: {value}\n{' ' * first.column}" + text[first.index :]


def _entry(table: Any, name: str) -> tuple[Any, Any] | None:
    return next(((key, node) for key, node in table.value if key.value == name), None)


def _into_flow(text: str, node: Any, entry: str) -> str:
    """`{a: 1}` becomes `{a: 1, entry}`."""
    end = node.end_mark.index - 1
    join = ", " if node.value else ""
    return text[:end].rstrip() + join + entry + text[end:]


def _into_empty(text: str, key: Any, node: Any, entry: str) -> str:
    """A section that says nothing yet: `sandbox:`."""
    if node.value not in ("", "~", "null"):
        raise NotWritten(f"{key.value} is no table of settings")
    indent = " " * key.start_mark.column + INDENT
    colon = text.index(":", key.end_mark.index) + 1
    return f"{text[:colon]}\n{indent}{entry}{text[node.end_mark.index :]}"


def _check_owners(path: Path) -> None:
    """Root in the home of somebody else, as with `sudo`: that one could lead us by a link to any
    file of the host, and would find files that are theirs no longer."""
    us = os.geteuid()
    for place in (path.absolute(), path.resolve()):
        for part in (place, *place.parents):
            try:
                owner = part.lstat().st_uid
            except FileNotFoundError:
                continue
            except OSError as error:
                raise NotWritten(f"{part} cannot be looked at: {error.strerror}") from None
            if owner not in (0, us):
                raise NotWritten(
                    f"{path} lies in {part}, which belongs to user {owner}: "
                    "do it as that user, without sudo"
                )


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _replace(path: Path, text: str, values: Mapping[str, str]) -> None:
    """Whole or not at all, and only if it says what was meant."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write_new(unfinished, text, like=path)
        _check(unfinished, path, values)
        unfinished.replace(path)
    except OSError as error:
        raise NotWritten(f"{path} cannot be written: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _write_new(unfinished: Path, text: str, *, like: Path) -> None:
    """Never readable for more people than the file is, and through no link that somebody laid."""
    unfinished.unlink(missing_ok=True)  # of one with our pid that was killed
    mode = like.stat().st_mode & 0o7777 if like.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(unfinished, flags, 0o666 if mode is None else 0o600)
    with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor has no path
        file.write(text)
        file.flush()
        if mode is not None:
            os.fchmod(handle, mode)
        os.fsync(handle)  # or a power cut could leave an empty file under the name


def _check(unfinished: Path, path: Path, values: Mapping[str, str]) -> None:
    from .settings import BY_KEY

    try:
        settings = settings_of({"file": unfinished})
    except ConfigError as error:
        told = str(error.mistakes[0]).replace(str(unfinished), str(path))
        raise NotWritten(f"{path} would not be right then: {told}") from None
    for key in values:
        held = settings.where(BY_KEY[key])
        if held.at is None:
            raise NotWritten(f"{key} could not be put into {path}: write it there by hand")
