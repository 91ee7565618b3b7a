"""The options that `run` and `submit` share, and the request that they make."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import click

from .completing import complete_run
from .exits import CommandError
from .here import here_directory

if TYPE_CHECKING:
    from paddock.config.located import Scalar, Value
    from paddock.config.mistakes import ConfigError, Place
    from paddock.wire.run_request import RunRequest

Command = TypeVar("Command", bound=Callable[..., Any])

PRIORITIES: Final = ("critical", "high", "normal", "low")
COMPLEXITIES: Final = ("simple", "medium", "complex")
DRIVERS: Final = ("auto", "local", "container", "kubernetes", "fake")

# What is a number in a file; everything else is text, whatever it looks like.
_NUMBERS: Final = ("memory", "memory_high", "cpu", "pids", "timeout", "soft_timeout", "retries")
_LISTS: Final = ("needs", "env", "sparse")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN: Final = ("name", "command", "agent", "prompt", "arguments", "steps", "env")
_OF_PLACE: Final = ("dir", "repo", "branch", "shallow", "sparse", "submodules", "ready_marker")


def _option(
    name: str, metavar: str, text: str, *, kind: click.ParamType[Any] | None = None
) -> Callable[[Command], Command]:
    return click.option(f"--{name}", metavar=metavar, help=text, type=kind)


def _choice(name: str, words: tuple[str, ...], text: str) -> Callable[[Command], Command]:
    return click.option(f"--{name}", type=click.Choice(words), help=text)


# For the shell, which then completes directories; whether it is there is looked at later.
_DIRECTORY: Final = click.Path(file_okay=False)
_FILE: Final = click.Path(dir_okay=False, allow_dash=True)

_OPTIONS: Final[tuple[Callable[..., Any], ...]] = (
    _option("name", "NAME", "What to call it [default: its program]."),
    _option("agent", "PRESET", "claude, codex, gemini, opencode, aider, plain or one of yours."),
    _option("prompt", "TEXT", "What that agent is to do; what comes after -- goes to its program."),
    _option("prompt-file", "FILE", "The same from a file, or from stdin with -.", kind=_FILE),
    _choice("priority", PRIORITIES, "Who goes first [default: normal]."),
    _option("memory", "SIZE", "Its wall, 16M to 1T [default: configured, 4G]."),
    _option("memory-high", "SIZE|%", "Where it is held back: 3G, or 75% of its wall."),
    _option("cpu", "CORES", "0.1 to 1024, or unlimited."),
    _option("pids", "N", "Processes and threads at most, 16 to 65536."),
    _option("timeout", "TIME", "Ends it: 90s, 15m, 8h, or none; may pass the usual ceiling."),
    _option("soft-timeout", "TIME", "Tells it that time is running out [default: half]."),
    _choice("complexity", COMPLEXITIES, "Decides the timeout where none is given."),
    _option("dir", "PATH", "Run in this directory as it is [default: here].", kind=_DIRECTORY),
    _option("repo", "PATH|URL", "Run in a workspace of this repository.", kind=_DIRECTORY),
    _option("branch", "NAME", "The branch of --repo to begin from."),
    click.option("--shallow", is_flag=True, help="Only the newest commit of --repo."),
    click.option("--sparse", metavar="DIR", multiple=True, help="Only this of --repo; repeatable."),
    click.option("--submodules", is_flag=True, help="Fill the submodules of --repo, too."),
    click.option("--yes", "any_size", is_flag=True, help="However large --repo is: do not ask."),
    _option("ready-marker", "TEXT", "A commit message or file of --repo that says: ready."),
    _option("role", "NAME", "Such as implementation, quality, testing."),
    _option("model", "NAME", "The model that the agent is to use."),
    _option("group", "NAME", "Shares a breaker and a learned size [default: by what it is]."),
    click.option(
        "--needs",
        metavar="RUN",
        multiple=True,
        shell_complete=complete_run,
        help="A run that must succeed first; repeatable.",
    ),
    _option("resume", "CMD", "Run instead of it after a cut, as in 'claude --continue'."),
    _option("retries", "N", "Tried again after a failure, 0 to 100 [default: 0]."),
    click.option("--env", metavar="K=V", multiple=True, help="A variable; repeatable."),
    click.option("--stdin", is_flag=True, help="It reads what comes in here [default: nothing]."),
    _option("on-end", "CMD", "A shell command when it has ended, as a notification."),
    _choice("driver", DRIVERS, "Where it lives [default: configured, auto]."),
    _option("performance-profile", "NAME", "tiny, low, medium, high, host or one of your own."),
    click.option("--strict", is_flag=True, help="Refuse instead of reducing what was asked for."),
)


def run_options(command: Command) -> Command:
    """Every option of a run, as keyword arguments of the command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def request_of(words: tuple[str, ...], asked: Mapping[str, Any], *, about: str) -> RunRequest:
    """Read by the parser of fleet files: one set of rules, and every mistake at once."""
    from msgspec import structs

    from paddock.config.located import Items, Scalar, Table
    from paddock.config.mistakes import ConfigError, Place
    from paddock.wire.fleet_file import read_run
    from paddock.wire.run_lines import default_name

    _check_utf8(words, asked)
    entries = {key: value for key, value in _entries(asked) if value is not None}
    here = Place(about)
    if words:
        entries["arguments" if "agent" in entries else "command"] = Items(
            here, tuple(Scalar(here, word, word) for word in words)
        )
    if not {"command", "agent", "prompt", "prompt_file"} & entries.keys():
        raise CommandError(f"nothing to run: say it after --, as in {about} -- make test")
    if asked.get("prompt_file") == "-":
        entries["prompt_file"] = _from_stdin(asked, entries["prompt_file"].at)
    if "name" not in entries:
        name = default_name((str(asked["agent"]),) if asked.get("agent") else words)
        entries["name"] = Scalar(here, name, name)
    places = {key: value.at for key, value in entries.items()}
    try:
        request = read_run(Table(here, entries, places), directory=here_directory())
    except ConfigError as error:
        refuse_options(error)
    _check_directory(request)
    return structs.replace(request, stdin=bool(asked.get("stdin")))


def template_of(asked: Mapping[str, Any], *, about: str) -> RunRequest:
    """The options alone, for lines of `submit --from` that do not say otherwise."""
    return request_of(("true",), {**asked, "name": None, "stdin": False}, about=about)


def with_options(request: RunRequest, template: RunRequest) -> RunRequest:
    from msgspec import structs

    usual = type(request)(name=request.name)
    unsaid = {
        name: getattr(template, name)
        for name in request.__struct_fields__
        if name not in _OWN and getattr(request, name) == getattr(usual, name)
    }
    if request.repo is not None or request.dir is not None:
        # A text that says it is ready fits any repository; the rest is about that one.
        stays = ("ready_marker",) if request.repo is not None else ()
        other = [key for key in _OF_PLACE if key not in stays]
        unsaid = {key: value for key, value in unsaid.items() if key not in other}
    return structs.replace(request, **unsaid, env={**template.env, **request.env})


def refuse_options(error: ConfigError) -> NoReturn:
    """A mistake in options needs no key: the option is named where a file would be."""
    shown = [str(replace(mistake, key="")) for mistake in error.mistakes]
    refuse_mistakes(shown, about="the options")


def refuse_mistakes(shown: list[str], *, about: str) -> NoReturn:
    """All of them, one a line; exit 2."""
    if len(shown) == 1:
        raise CommandError(shown[0])
    for line in shown:
        click.echo(line, err=True)
    raise CommandError(f"{len(shown)} mistakes in {about}")


def _entries(asked: Mapping[str, Any]) -> list[tuple[str, Value | None]]:
    from paddock.config.located import Items, Scalar, Table, written
    from paddock.config.mistakes import Place

    found: list[tuple[str, Value | None]] = []
    for key, value in asked.items():
        option = f"--{key.replace('_', '-')}"
        at = Place(option)
        if key in ("stdin", "from_file") or value in (None, (), False):
            continue
        if key == "env":
            entries: dict[str, Value] = {
                name: Scalar(at, text, text) for name, text in map(_variable, value)
            }
            found.append((key, Table(at, entries, dict.fromkeys(entries, at))))
        elif key == "resume":
            words = _words(value)
            found.append((key, Items(at, tuple(Scalar(at, each, each) for each in words))))
        elif key in _LISTS:
            found.append((key, Items(at, tuple(Scalar(at, each, each) for each in value))))
        elif key in _NUMBERS:
            found.append((key, written(value, file=option)))
        else:
            found.append((key, Scalar(at, value, str(value))))
    return found


def _from_stdin(asked: Mapping[str, Any], at: Place) -> Scalar:
    """A file that can be read like any other: the prompt is what comes in here."""
    if asked.get("stdin"):
        raise CommandError("--prompt-file: found - and --stdin; allowed: one of them reads stdin")
    from paddock.config.located import Scalar

    return Scalar(at, "/dev/stdin", "/dev/stdin")


def _words(text: str) -> list[str]:
    """As a shell would part them."""
    import shlex

    try:
        return shlex.split(text)
    except ValueError as error:
        raise CommandError(f"--resume: {str(error).lower()}; allowed: a command line") from None


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        # Not the text itself: it may be a secret that was pasted without its name.
        raise CommandError("--env: found no = in it; allowed: K=V, as in --env CI=1")
    if name.upper().startswith("PADDOCK_"):
        allowed = "allowed: K=V, where K does not begin with PADDOCK_, which is paddock's own"
        raise CommandError(f"--env: found the variable {name[:60]!r}; {allowed}")
    if _VARIABLE.fullmatch(name) is None:
        allowed = "allowed: K=V, as in --env CI=1, where K is letters, digits and _"
        raise CommandError(f"--env: found the variable {name[:60]!r}; {allowed}")
    return name, value


def _check_utf8(words: tuple[str, ...], asked: Mapping[str, Any]) -> None:
    texts = [*words, *(each for value in asked.values() for each in _texts(value))]
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(text)[:60]
            raise CommandError(f"{shown!r} is no UTF-8 text; allowed: UTF-8 arguments") from None


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return value if isinstance(value, tuple) else ()


def _check_directory(request: RunRequest) -> None:
    if request.dir is not None and not Path(request.dir).is_dir():
        raise CommandError(f"--dir: found no directory {request.dir!r}; allowed: one that is there")
