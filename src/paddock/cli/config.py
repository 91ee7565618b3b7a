"""`paddock config`: what is in force and why, what is wrong, a schema, a file to start from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.connecting import door
from paddock.cli.exits import CommandError, ExitCode
from paddock.cli.here import here_directory
from paddock.cli.printing import terminal_width
from paddock.cli.tables import cut, fold

if TYPE_CHECKING:
    from paddock.config.mistakes import ConfigError
    from paddock.config.settings import Held, Setting, Settings

_PROFILE = click.option(
    "--performance-profile", "profile", metavar="NAME", help="As if this profile were chosen."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


@click.group("config")
def command() -> None:
    """Show, check and start configuration files.

    Built in < /etc/paddock/config.yaml < the user's file < .paddock/config.yaml of the project.
    Every subcommand that prints something takes --json.

    \b
    Examples:
      paddock config show
      paddock config check .paddock/config.yaml
      paddock config init
    """


@command.command("show")
@_PROFILE
@_JSON
def show(profile: str | None, as_json: bool) -> int:
    """Say each value in force here, and where it comes from.

    \b
    Examples:
      paddock config show
      paddock config show --performance-profile high --json
    """
    from paddock.config.layers import load_settings
    from paddock.config.mistakes import ConfigError

    try:
        settings = load_settings(here_directory(), profile=profile)
        total, at_once = _total_bytes(), _daemons_agents()
        notes = _notes(settings, total)
    except ConfigError as error:
        return _report(error, as_json=as_json)
    if as_json:
        known = _as_json(settings, notes) | {"max_agents_of_daemon": at_once}
        click.echo(json.dumps(known, indent=2))
    else:
        click.echo("\n".join(_table(settings, total, at_once)))
    for note in notes:
        click.echo(f"paddock: {note}", err=True)
    return ExitCode.DONE


@command.command("check")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@_PROFILE
@_JSON
def check(files: Sequence[Path], profile: str | None, as_json: bool) -> int:
    """Find every mistake in FILES.

    Without FILES: in all that are in force here, also where they do not agree with each other.

    \b
    Examples:
      paddock config check
      paddock config check .paddock/config.yaml ~/.config/paddock/config.yaml
    """
    from paddock.config.mistakes import ConfigError, printable

    try:
        names = _check(files, profile)
    except ConfigError as error:
        return _report(error, as_json=as_json)
    if as_json:
        click.echo(json.dumps({"ok": True, "files": names, "mistakes": []}, indent=2))
    elif names:
        click.echo("\n".join(f"{printable(name)}: no mistakes" for name in names))
    else:
        click.echo("no configuration files here: everything is built in")
    return ExitCode.DONE


@command.command("schema")
@click.option("--json", "_as_json", is_flag=True, help="It is JSON anyway.")
def schema_command(_as_json: bool) -> None:
    """Print the JSON schema of configuration files, for editors.

    \b
    Example:
      paddock config schema > .paddock/config.schema.json
    """
    from paddock.config.schema import schema

    click.echo(json.dumps(schema(), indent=2))


@command.command("init")
@click.option("--user", "of_user", is_flag=True, help="The user's own file, for all projects.")
@_JSON
def init(of_user: bool, as_json: bool) -> None:
    """Write a commented .paddock/config.yaml here, or the user's file. Never overwrites one.

    \b
    Examples:
      paddock config init
      paddock config init --user
    """
    from paddock.config.layers import PROJECT_FILE, user_file
    from paddock.config.places import missing_home
    from paddock.config.reference import starter

    path = user_file() if of_user else PROJECT_FILE
    here_directory()
    if of_user and (problem := missing_home(path)) is not None:
        raise CommandError(problem)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # "x": also when two do it at once, or where a symbolic link leads elsewhere.
        with path.open("x", encoding="utf-8") as file:
            file.write(starter("this user" if of_user else "this project"))
    except FileExistsError:
        raise CommandError(
            f"{path} is already there and stays as it is; edit it, or move it away first"
        ) from None
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None
    if as_json:
        click.echo(json.dumps({"path": str(path.absolute())}))
    else:
        click.echo(f"wrote {path}: every key with its default, commented out")


def _check(files: Sequence[Path], profile: str | None) -> list[str]:
    """The files without mistakes; each of those named is checked alone, on top of built in."""
    from paddock.config.layers import load_settings, settings_of
    from paddock.config.mistakes import ConfigError, Mistakes

    if not files:
        settings = load_settings(here_directory(), profile=profile)
        for note in _notes(settings, _total_bytes()):
            click.echo(f"paddock: {note}", err=True)
        return list(settings.files)
    mistakes = Mistakes()
    for file in files:
        try:
            settings_of({"file": file}, profile=profile)
        except ConfigError as error:
            mistakes.take(error)
    mistakes.raise_any()
    return [str(file) for file in files]


def _report(error: ConfigError, *, as_json: bool) -> int:
    if as_json:
        found = [mistake.as_json() for mistake in error.mistakes]
        click.echo(
            json.dumps({"ok": False, "mistakes": found, "left_out": error.left_out}, indent=2)
        )
    for line in error.lines():
        click.echo(line, err=True)
    count = len(error.mistakes) + error.left_out
    click.echo(f"paddock: {count} mistake{'s'[: count > 1]} in the configuration", err=True)
    return ExitCode.BAD_USAGE


def _total_bytes() -> int | None:
    from paddock.host.memory import MemoryUnreadable, read_memory

    try:
        return read_memory().total_bytes
    except MemoryUnreadable:
        return None  # then there is nothing to hold the values against


def _daemons_agents() -> int | None:
    """At once, as the daemon that runs has it; none is started for it."""
    from paddock.client.errors import ClientError

    try:
        with door()(start=False) as client:
            return client.status().fleet.max_agents
    except ClientError:
        return None


def _notes(settings: Settings, total_bytes: int | None) -> list[str]:
    from paddock.config.policy import notes

    return [] if total_bytes is None else list(notes(settings, total_bytes))


def _rows(settings: Settings) -> Iterable[tuple[Setting[Any], Held]]:
    from paddock.config.settings import SETTINGS

    return [(setting, settings.where(setting)) for setting in SETTINGS]


def _agents_source(settings: Settings, total_bytes: int | None, of_daemon: int | None) -> str:
    from paddock.config.at_once import agents_at_once
    from paddock.config.settings import MAX_AGENTS, MEMORY_LIMIT

    source, cap = settings.where(MAX_AGENTS).source, settings.agents_cap
    if cap.value is not None:
        source += f"; at most {cap.value} by {cap.source}"
    configured = [each for each in (settings[MAX_AGENTS], cap.value) if each is not None]
    if of_daemon is not None and of_daemon != min(configured, default=None):
        source += f"; {of_daemon} by the daemon that runs"
    if total_bytes is not None:
        size = MEMORY_LIMIT.kind.show(settings[MEMORY_LIMIT])
        safe = agents_at_once(settings, total_bytes).safe
        source += f"; {safe} of {size} are safe on this host, more of smaller ones"
    return source


def _table(settings: Settings, total_bytes: int | None, of_daemon: int | None) -> Iterable[str]:
    from paddock.config.settings import BUILT_IN, MAX_AGENTS

    cells = [("performance_profile", str(settings.profile.value), settings.profile.source)]
    for setting, held in _rows(settings):
        source = held.source
        if setting is MAX_AGENTS:
            source = _agents_source(settings, total_bytes, of_daemon)
        cells.append((setting.key, setting.kind.show(held.value), source))
    for name, preset in (settings.own_presets or {}).items():
        if preset.source != BUILT_IN:  # those that ship are in the reference
            cells.append((f"agents.{name}", preset.about or preset.start[0], preset.source))
    yield from _aligned(cells, terminal_width())


def _aligned(cells: Sequence[tuple[str, str, str]], width: int | None) -> Iterable[str]:
    """Where a value comes from goes on below itself rather than over the edge."""
    keys, values = (max(len(row[column]) for row in cells) for column in (0, 1))
    values = min(values, 40 if width is None else max(10, (width - keys) // 3))
    indent = keys + values + 4
    room = None if width is None else max(12, width - indent)
    for key, value, source in cells:
        shown = value if width is None else cut(value, values)
        first, *rest = fold(source, room)
        yield f"{key.ljust(keys)}  {shown.ljust(values)}  {first}"
        yield from (" " * indent + line for line in rest)


def _as_json(settings: Settings, notes: list[str]) -> dict[str, Any]:
    return {
        "profile": {"name": settings.profile.value, "source": settings.profile.source},
        "max_agents_by_profile": settings.agents_cap.value,
        "files": list(settings.files),
        "settings": [
            {
                "key": setting.key,
                "value": setting.kind.show(held.value),
                "raw": _raw(held.value),
                "source": held.source,
                "file": held.at.file if held.at else None,
                "line": held.at.line if held.at else None,
                "default": setting.default,
                "allowed": setting.kind.allowed,
                "host_wide": setting.host_wide,
            }
            for setting, held in _rows(settings)
        ],
        # Without their variables: those may be secrets.
        "presets": [
            {"name": name, "about": each.about, "start": list(each.start), "source": each.source}
            for name, each in settings.presets.items()
        ],
        "notes": notes,
    }


def _raw(value: Any) -> Any:
    """For scripts: bytes, seconds, numbers; null where a word such as auto stands."""
    from paddock.config.kinds import Share

    if isinstance(value, Share):
        return {"percent": value.percent}
    return [asdict(wall) for wall in value] if isinstance(value, tuple) else value
