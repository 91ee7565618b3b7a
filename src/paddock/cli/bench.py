"""`paddock bench`: measure agents and this machine; reports as JSON and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from paddock.core.units import GIB, MIB

from .comparing import compare, schema
from .exits import CommandError, ExitCode
from .finding import chosen, wall_of, write_found
from .live_line import LiveLine
from .measuring import (
    AGENTS,
    CORES,
    EVERY,
    SIZES,
    command_of,
    containers,
    directory_of,
    keep,
    measuring,
    safely,
    with_agents,
    with_rounds,
    works_of,
)
from .params import AGENT_SIZE, HOST_SIZE, NumberType, SizeType

if TYPE_CHECKING:
    from paddock.bench.cpu import Cores

SHAPES: Final = ("steady", "bursty", "builds", "mixed")
USUAL_AGENTS: Final = "1,2,4,6,8"
USUAL_MEMORY: Final = "2G,4G,6G,8G"
USUAL_CORES: Final = "0.5,1,2,unlimited"


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


@command.command("baseline", short_help="One agent, bare and behind walls.")
@measuring
@click.option("--matrix", is_flag=True, help="Small, medium and large work, one after the other.")
@click.option("--every", type=EVERY, default="5s", show_default=True, help="Between samples.")
@with_rounds()
@click.option("--memory", type=AGENT_SIZE, default=4 * GIB, help="The agent's wall.  [default: 4G]")
@click.option("--container", is_flag=True, help="In a container as well.")
@click.option("--rehearse", is_flag=True, help="--agent names a preset: its program, no tokens.")
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
    rehearse: bool,
) -> None:
    """One agent at a time, bare and behind walls: peak, cores, leaks, and what walls cost.

    Without --agent a shipped piece of work is measured: edits, tests and commits in a repository
    made for it. With --rehearse the real agent program does that work, and a stand-in for its model
    asks for it: no tokens, no network. A command of your own runs in the directory you are in.

    \b
    Examples:
      paddock bench baseline --matrix --every 1s
      paddock bench baseline --agent claude --rehearse --matrix --every 200ms
      paddock bench baseline --agent 'claude -p "Mend the tests"' --rounds 1
    """
    from paddock.bench.baseline import Baseline
    from paddock.bench.baseline import baseline as measure

    if rehearse and container:
        raise CommandError("--rehearse: a rehearsal has no container; leave out --container")
    works = works_of(agent, matrix=matrix, rehearse=rehearse)
    with safely(within) as ceiling, LiveLine() as line:
        asked = Baseline(
            works=works,
            memory_bytes=memory,
            rounds=rounds,
            every_s=every,
            container=containers() if container else None,
            ceiling=ceiling,
        )
        report = measure(asked, line.say)
    keep(report, out, as_json=as_json)


@command.command("stress", short_help="More and more agents at once, by size of wall.")
@measuring
@click.option("--agents", type=AGENTS, default=USUAL_AGENTS, show_default=True, help="At once.")
@click.option("--memory", type=SIZES, default=USUAL_MEMORY, show_default=True, help="Walls.")
@with_rounds(usual=1, about="Of each; with 3 times can be compared.")
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
    rounds: int,
    every: float,
    floor: int | None,
) -> None:
    """More and more agents at once, for each size of wall, until something gives.

    A kill at the wall of an agent ends its column. Swap above 50 %, too little free memory, or a
    kill for memory at no wall of ours ends all. With --within nothing of it can touch the rest of
    the machine.

    \b
    Examples:
      paddock bench stress --within 4G --agents 1,2,4 --memory 512M,1G
      paddock bench stress --agent 'make -j2 test' --memory 4G --rounds 3
    """
    from paddock.bench.cells import USUAL, Limits
    from paddock.bench.stress import Grid
    from paddock.bench.stress import stress as measure

    usual = USUAL.free_mib if within is None else within / 8 / MIB
    limits = Limits(free_mib=usual if floor is None else floor / MIB)
    with safely(within) as ceiling, LiveLine() as line:
        grid = Grid(
            command=command_of(agent, "medium"),
            directory=directory_of(agent),
            agents=agents,
            memory_bytes=memory,
            rounds=rounds,
            every_s=every,
            ceiling=ceiling,
            limits=limits,
            now=line.now,
        )
        report = measure(grid, line.say)
    keep(report, out, as_json=as_json)


@command.command("cpu", short_help="The same agents with less and less of a core.")
@measuring
@click.option("--cores", type=CORES, default=USUAL_CORES, show_default=True, help="Of each agent.")
@with_agents(usual=4)
@click.option("--memory", type=AGENT_SIZE, default=GIB, help="Of each.  [default: 1G]")
@with_rounds()
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

    with safely(within) as ceiling, LiveLine() as line:
        grid = CpuGrid(
            command=command_of(agent, "small"),
            directory=directory_of(agent),
            agents=agents,
            cores=cores,
            memory_bytes=memory,
            rounds=rounds,
            ceiling=ceiling,
            now=line.now,
        )
        report = measure(grid, line.say)
    keep(report, out, as_json=as_json)


@command.command("soak", short_help="Agents for hours: does paddock itself grow?")
@measuring
@click.option(
    "--hours", type=NumberType(0.001, 1000), default=8.0, show_default=True, help="How long."
)
@with_agents(usual=2)
@click.option("--runs", type=click.IntRange(1, 10_000_000), help="End after so many.")
@click.option("--accelerated", is_flag=True, help="Very short agents: as many as fit, or --runs.")
@click.option(
    "--warm-up",
    type=click.IntRange(0, 100_000),
    help="Short runs before anything is looked at.  [default: 1000 with --accelerated]",
)
@click.option("--memory", type=AGENT_SIZE, default=GIB, help="Of each.  [default: 1G]")
@click.option("--every", type=EVERY, default="5s", show_default=True, help="Between samples.")
def soak(
    agent: str | None,
    within: int | None,
    out: Path | None,
    as_json: bool,
    hours: float,
    agents: int,
    runs: int | None,
    accelerated: bool,
    warm_up: int | None,
    memory: int,
    every: float,
) -> int:
    """Agents for hours, and whether paddock itself grows: memory, descriptors, database, output.

    Ends with 1 if the daemon or its keeper grew by more than 5 %.

    \b
    Examples:
      paddock bench soak --hours 8 --agents 2
      paddock bench soak --accelerated --hours 0.17 --runs 2000
    """
    from paddock.bench.soak import WARM_UP_RUNS, Soak, is_sound, short_command
    from paddock.bench.soak import soak as measure

    if agent is not None and accelerated:
        raise CommandError("--accelerated has agents of its own: leave out --agent")
    seconds = hours * 3600
    short = short_command(seconds * agents / runs if runs else 0.0)
    with safely(within) as ceiling, LiveLine() as line:
        asked = Soak(
            command=short if accelerated else command_of(agent, "medium"),
            directory=directory_of(agent),
            seconds=seconds,
            agents=agents,
            runs=runs,
            warm_up_runs=WARM_UP_RUNS * accelerated if warm_up is None else warm_up,
            memory_bytes=memory,
            every_s=every,
            ceiling=ceiling,
            now=line.now,
        )
        report = measure(asked, line.say)
    keep(report, out, as_json=as_json)
    return ExitCode.DONE if is_sound(report) else ExitCode.ENDED_OTHERWISE


@command.command("scenario", short_help="A load that is known to hurt.")
@click.argument("number", type=click.IntRange(1, 5))
@click.option(
    "--size", type=SizeType(least_bytes=MIB), help="Of its repository, or of what is written."
)
@click.option("--minutes", type=NumberType(0.01, 10_000), default=31.0, help="Of 3.  [default: 31]")
@click.option("--within", type=HOST_SIZE, help="All of it inside one cgroup of this size.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Where reports go.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def scenario(
    number: int,
    size: int | None,
    minutes: float,
    within: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """A load that is known to hurt: ends with 1 if anything went as it should not.

    \b
      1  five agents on a repository of 1 GB
      2  ten agents that write a lot
      3  agents that run for more than half an hour
      4  memory pressure: walls that are twice what there is (say --within)
      5  five agents on a monorepo, each with one of its projects

    \b
    Examples:
      paddock bench scenario 1
      paddock bench scenario 4 --within 4G
    """
    from paddock.bench.cells import USUAL, Limits
    from paddock.bench.scenarios import Asked
    from paddock.bench.scenarios import scenario as measure

    # Inside a ceiling it is the ceiling that keeps the machine safe.
    limits = USUAL if within is None else Limits(free_mib=0)
    with safely(within) as ceiling, LiveLine() as line:
        asked = Asked(
            size_bytes=size, minutes=minutes, ceiling=ceiling, limits=limits, now=line.now
        )
        report, well = measure(number, asked, line.say)
    keep(report, out, as_json=as_json)
    return ExitCode.DONE if well else ExitCode.ENDED_OTHERWISE


@command.command("find", short_help="How many agents this machine really holds.")
@click.option(
    "--within", type=HOST_SIZE, help="As if the host had only so much.  [default: all of it]"
)
@click.option("--shape", type=click.Choice(SHAPES), help="Of the agents.  [default: bursty]")
@click.option("--from-history", is_flag=True, help="Agents as your own runs have been.")
@click.option("--group", metavar="GROUP", help="With --from-history: only of this group.")
@with_rounds(most=1000, usual=10, about="That must hold.")
@click.option("--seconds", type=NumberType(1, 600), default=8.0, show_default=True, help="Each.")
@click.option("--together", is_flag=True, help="All from their begin, so that peaks meet.")
@click.option(
    "--seed", type=click.IntRange(0, 2**31), default=1, show_default=True, help="Of what is random."
)
@click.option("--write", is_flag=True, help="Put what was found into your configuration.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Where reports go.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def find(
    within: int | None,
    shape: str | None,
    from_history: bool,
    group: str | None,
    rounds: int,
    seconds: float,
    together: bool,
    seed: int,
    write: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """How many agents this machine really holds: found by trying, without a model or a token.

    Processes live the memory of agents, squeezed in time, all at once inside a cgroup of what
    agents may have, so that the rest of the machine is not touched. The largest number of which
    none was killed is tried --rounds times.

    \b
    Examples:
      paddock bench find --within 4G --shape steady
      paddock bench find --from-history --write
    """
    from paddock.bench.find import Asked, report_of
    from paddock.bench.find import find as measure

    of, traces = chosen(shape, group, from_history=from_history, seed=seed)
    total, wall = wall_of(within)
    with safely(None), LiveLine() as line:
        asked = Asked(
            traces=traces,
            wall_bytes=wall,
            total_bytes=total,
            rounds=rounds,
            seconds=seconds,
            together=together,
            seed=seed,
            now=line.now,
        )
        found = measure(asked, line.say)
    kept = keep(report_of(asked, found, of=of), out, as_json=as_json)
    if write:
        write_found(asked, found, of=of, kept=kept)


command.add_command(compare)
command.add_command(schema)
