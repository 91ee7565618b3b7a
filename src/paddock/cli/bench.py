"""`paddock bench`: measure agents and this machine; reports as JSON and as a page."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from paddock.core.units import GIB, MIB, format_size

from .exits import CommandError, ExitCode
from .params import AGENT_SIZE, HOST_SIZE, DurationType, SizeType
from .printing import echo_json, note, safe

if TYPE_CHECKING:
    from paddock.bench.ceiling import Ceiling
    from paddock.bench.cpu import Cores
    from paddock.bench.report import Report

LEAST_EVERY_S: Final = 0.1
MOST_EVERY_S: Final = 3600.0
MOST_AGENTS: Final = 1000
USUAL_AGENTS: Final = "1,2,4,6,8"
USUAL_MEMORY: Final = "2G,4G,6G,8G"
USUAL_CORES: Final = "0.5,1,2,unlimited"


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


@click.group("bench")
def command() -> None:
    """Measure what agents need and what this machine holds.

    Each measurement has a paddock of its own, beside the one you use. Reports go to
    .paddock/logs/benchmarks, as JSON and as a page (.html). Every subcommand takes --json.

    \b
    Examples:
      paddock bench baseline --agent 'make test'
      paddock bench stress --within 4G --agents 1,2,4 --memory 512M,1G
      paddock bench compare before.json after.json
    """


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


@command.command("baseline")
@measuring
@click.option("--matrix", is_flag=True, help="Small, medium and large work, one after the other.")
@click.option("--every", type=EVERY, default="5s", show_default=True, help="Between samples.")
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--memory", type=AGENT_SIZE, default=4 * GIB, help="The agent's wall.  [default: 4G]")
@click.option("--container", is_flag=True, help="In a container as well.")
def baseline(
    agent: str | None,
    within: int | None,
    out: Path | None,
    as_json: bool,
    matrix: bool,
    every: float,
    rounds: int,
    memory: int,
    container: bool,
) -> None:
    """One agent at a time, bare and behind walls: peak, cores, leaks, and what walls cost.

    Without --agent a shipped piece of work is measured: edits, tests and commits in a repository
    made for it.

    \b
    Examples:
      paddock bench baseline --matrix --every 1s
      paddock bench baseline --agent 'claude -p "Mend the tests"' --rounds 1
    """
    from paddock.bench.baseline import Baseline, Work, shipped
    from paddock.bench.baseline import baseline as measure
    from paddock.bench.workload import TASKS

    if agent is not None and matrix:
        raise CommandError("--agent measures one command, --matrix three shipped ones: say one")
    works: tuple[Work, ...] = (shipped("small"),)
    if matrix:
        works = tuple(map(shipped, TASKS))
    if agent is not None:
        works = (Work(name="agent", command=_words(agent), told=agent),)
    with _limits(within) as ceiling:
        asked = Baseline(
            works=works,
            memory_bytes=memory,
            rounds=rounds,
            every_s=every,
            container=container,
            ceiling=ceiling,
        )
        _keep(measure(asked, note), out, as_json=as_json)


@command.command("stress")
@measuring
@click.option("--agents", type=AGENTS, default=USUAL_AGENTS, show_default=True, help="At once.")
@click.option("--memory", type=SIZES, default=USUAL_MEMORY, show_default=True, help="Walls.")
@click.option("--every", type=EVERY, default="1s", show_default=True, help="Between samples.")
@click.option(
    "--floor",
    type=SizeType(least_bytes=MIB),
    help="Less free memory ends all.  [default: 512M, or an eighth of --within]",
)
def stress(
    agent: str | None,
    within: int | None,
    out: Path | None,
    as_json: bool,
    agents: tuple[int, ...],
    memory: tuple[int, ...],
    every: float,
    floor: int | None,
) -> None:
    """More and more agents at once, for each size of wall, until something gives.

    An agent that hits its wall ends its column. Swap above 50 % or too little free memory ends all.
    With --within nothing of it can touch the rest of the machine.

    \b
    Examples:
      paddock bench stress --within 4G --agents 1,2,4 --memory 512M,1G
      paddock bench stress --agent 'make -j2 test' --memory 4G
    """
    from paddock.bench.cells import USUAL, Limits
    from paddock.bench.stress import Grid
    from paddock.bench.stress import stress as measure

    usual = USUAL.free_mib if within is None else within / 8 / MIB
    limits = Limits(free_mib=usual if floor is None else floor / MIB)
    with _limits(within) as ceiling:
        grid = Grid(
            command=_command(agent, "medium"),
            agents=agents,
            memory_bytes=memory,
            every_s=every,
            ceiling=ceiling,
            limits=limits,
        )
        _keep(measure(grid, note), out, as_json=as_json)


@command.command("cpu")
@measuring
@click.option("--cores", type=ListType(CoresType()), default=USUAL_CORES, show_default=True)
@click.option("--agents", type=click.IntRange(1, MOST_AGENTS), default=4, show_default=True)
@click.option("--memory", type=AGENT_SIZE, default=GIB, help="Of each.  [default: 1G]")
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True)
def cpu(
    agent: str | None,
    within: int | None,
    out: Path | None,
    as_json: bool,
    cores: tuple[Cores, ...],
    agents: int,
    memory: int,
    rounds: int,
) -> None:
    """The same agents with less and less of a core: how long they take, how long they wait.

    \b
    Example:
      paddock bench cpu --agents 4 --cores 0.5,1,unlimited
    """
    from paddock.bench.cpu import CpuGrid
    from paddock.bench.cpu import cpu as measure

    with _limits(within) as ceiling:
        grid = CpuGrid(
            command=_command(agent, "small"),
            agents=agents,
            cores=cores,
            memory_bytes=memory,
            rounds=rounds,
            ceiling=ceiling,
        )
        _keep(measure(grid, note), out, as_json=as_json)


@command.command("compare")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def compare(before: Path, after: Path, as_json: bool) -> int:
    """Whether a second report is worse than a first: more than 10 %, and not by chance.

    Ends with 1 if anything is worse.

    \b
    Example:
      paddock bench compare release.json today.json
    """
    from paddock.bench import report
    from paddock.bench.compare import Change
    from paddock.bench.compare import compare as compared

    try:
        found = compared(report.read(before), report.read(after))
    except report.BadReport as error:
        raise CommandError(str(error)) from None
    if not found:
        raise CommandError(f"{before} and {after} have no figure in common that could be compared")
    worse = [one for one in found if one.change is Change.WORSE]
    if as_json:
        echo_json({"worse": len(worse), "figures": found})
    else:
        for one in found:
            click.echo(safe(str(one)))
    return ExitCode.ENDED_OTHERWISE if worse else ExitCode.DONE


# -- shared -------------------------------------------------------------------------------------


def _words(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise CommandError(f"--agent {text!r} cannot be read as a shell would: {error}") from None
    if not words:
        raise CommandError("--agent says no command")
    return words


def _command(agent: str | None, task: str) -> tuple[str, ...]:
    from paddock.bench.baseline import shipped

    return _words(agent) if agent is not None else shipped(task).command


@contextmanager
def _limits(within: int | None) -> Iterator[Ceiling | None]:
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


def _keep(report: Report, out: Path | None, *, as_json: bool) -> None:
    from paddock.bench import report as reports
    from paddock.bench.page import page

    path = reports.path_for(report.kind, out or reports.DIRECTORY, made_at=report.made_at)
    reports.write(report, path)
    seen = path.with_suffix(".html")
    reports.write_whole(seen, page(report).encode())
    if as_json:
        echo_json({"report": str(path), "page": str(seen), "verdicts": report.verdicts})
        return
    for verdict in report.verdicts:
        click.echo(safe(verdict))
    click.echo(f"report: {path}\npage:   {seen}")
