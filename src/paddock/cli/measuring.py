"""What the measurements of `paddock bench` share: options, limits, and where reports go."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from paddock.core.units import format_size

from .exits import CommandError, ExitCode
from .here import here_directory, settings_here
from .params import AGENT_SIZE, HOST_SIZE, DurationType
from .printing import echo_json, note, safe

if TYPE_CHECKING:
    from paddock.bench.ceiling import Ceiling
    from paddock.bench.cpu import Cores
    from paddock.bench.report import Report
    from paddock.bench.works import Work

F = TypeVar("F", bound=Callable[..., Any])

LEAST_EVERY_S: Final = 0.1
MOST_EVERY_S: Final = 3600.0
MOST_AGENTS: Final = 1000


def with_rounds(*, most: int = 100, usual: int = 3, about: str = "Of each.") -> Callable[[F], F]:
    return click.option(
        "--rounds", type=click.IntRange(1, most), default=usual, show_default=True, help=about
    )


def with_agents(*, usual: int) -> Callable[[F], F]:
    kind = click.IntRange(1, MOST_AGENTS)
    return click.option("--agents", type=kind, default=usual, show_default=True, help="At once.")


class EveryType(DurationType):
    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = super().convert(value, param, ctx)
        if not LEAST_EVERY_S <= seconds <= MOST_EVERY_S:
            self.fail(f"{str(value)!r} is not from 100ms to 1h", param, ctx)
        return seconds


class ListType(click.ParamType[tuple[Any, ...]]):
    """`1,2,4`: each read by a type of its own, in the order said, none twice."""

    name = "list"

    def __init__(self, each: click.ParamType[Any]) -> None:
        self.each = each

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if not all(words):
            self.fail(f"{str(value)!r} is no list such as 1,2,4", param, ctx)
        return tuple(dict.fromkeys(self.each.convert(word, param, ctx) for word in words))


class CoresType(click.ParamType[Any]):
    name = "cores"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Cores:
        if value == "unlimited":
            return "unlimited"
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0.01 <= number <= 1024:
            self.fail(f"{str(value)!r} is no number of cores, and not unlimited", param, ctx)
        return number


EVERY: Final = EveryType()
AGENTS: Final = ListType(click.IntRange(1, MOST_AGENTS))
SIZES: Final = ListType(AGENT_SIZE)
CORES: Final = ListType(CoresType())


def measuring(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that all measurements share."""
    options = (
        click.option("--agent", "agent", metavar="CMD", help="What an agent runs, as in a shell."),
        click.option("--within", type=HOST_SIZE, help="All of it inside one cgroup of this size."),
        click.option(
            "--out",
            type=click.Path(file_okay=False, path_type=Path),
            help="Where reports go.  [default: .paddock/logs/benchmarks]",
        ),
        click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def words_of(text: str) -> tuple[str, ...]:
    """Read as a line of `submit --from` is."""
    from paddock.wire.run_lines import needs_shell

    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise CommandError(f"--agent {text!r} cannot be read as a shell would: {error}") from None
    if not words:
        raise CommandError("--agent says no command")
    return ("sh", "-c", text) if needs_shell(text.strip()) else words


def command_of(agent: str | None, task: str) -> tuple[str, ...]:
    from paddock.bench.works import shipped_command

    return words_of(agent) if agent is not None else shipped_command(task)


def directory_of(agent: str | None) -> str | None:
    """A command of the user's runs where the user is; the shipped work makes its own place."""
    return None if agent is None else str(here_directory())


def containers() -> str:
    """The configuration of containers as it is here, for the paddock of a measurement."""
    from paddock.bench.contained import sandbox_of

    found = sandbox_of(settings_here())
    if found is None:
        raise CommandError("--container: no image is configured; set sandbox.container_image")
    return found


def works_of(agent: str | None, *, matrix: bool, rehearse: bool) -> tuple[Work, ...]:
    """What a baseline measures, one after the other."""
    from paddock.bench.workload import TASKS
    from paddock.bench.works import commanded, shipped

    tasks = tuple(TASKS) if matrix else ("small",)
    if rehearse:
        if agent is None:
            raise CommandError("--rehearse needs an agent: say --agent claude")
        return _rehearsed(agent, tasks)
    if agent is None:
        return tuple(map(shipped, tasks))
    if matrix:
        raise CommandError(
            "--agent measures one command, --matrix three shipped ones: say one, or --rehearse"
        )
    return (commanded("agent", words_of(agent), told=agent, directory=here_directory()),)


def _rehearsed(agent: str, tasks: tuple[str, ...]) -> tuple[Work, ...]:
    from paddock.bench.rehearsed import rehearsed
    from paddock.rehearsal.putting_on import CannotRehearse

    from .rehearsing import check_network, refuse

    presets = settings_here().presets
    try:
        found = tuple(rehearsed(agent, task, presets) for task in tasks)
    except CannotRehearse as error:
        refuse(error)
    check_network()
    return found


@contextmanager
def safely(within: int | None) -> Iterator[Ceiling | None]:
    """And what can go wrong with a measurement as a whole, in one line."""
    from paddock.bench.ceiling import NoCeiling, a_ceiling
    from paddock.bench.cells import Unsafe
    from paddock.bench.pen import PenFailed

    # Whoever ends us ends the paddock that was begun for it as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if within is None:
            yield None
            return
        note(f"everything happens inside {format_size(within)}")
        with a_ceiling(within) as ceiling:
            yield ceiling
    except Unsafe as unsafe:
        text = f"stopped to keep the machine safe: {unsafe}; try fewer agents, or --within"
        raise CommandError(text, ExitCode.REFUSED) from None
    except (NoCeiling, PenFailed) as error:
        raise CommandError(str(error), ExitCode.REFUSED) from None


def keep(report: Report, out: Path | None, *, as_json: bool) -> Path:
    """Says what was found, and where its report lies."""
    from paddock.bench import report as reports
    from paddock.bench.page import page

    path = reports.path_for(report.kind, out or reports.DIRECTORY, made_at=report.made_at)
    reports.write(report, path)
    seen = path.with_suffix(".html")
    reports.write_whole(seen, page(report).encode())
    if as_json:
        echo_json({"report": str(path), "page": str(seen), "verdicts": report.verdicts})
        return path
    for verdict in report.verdicts:
        click.echo(safe(verdict))
    click.echo(f"report: {path}\npage:   {seen}")
    return path
