"""`paddock simulate`: what would happen, by the very code that schedules, on a virtual clock."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.capacity import this_machine
from paddock.cli.exits import CommandError, ExitCode
from paddock.cli.here import here_directory
from paddock.cli.live_line import LiveLine
from paddock.cli.params import CPUS, HOST_SIZE, SIZE, NumberType
from paddock.cli.printing import counted, note, terminal_width
from paddock.cli.run_options import refuse_mistakes
from paddock.cli.tables import fold
from paddock.core.capacity import host_reserve, nominal_total
from paddock.core.policy import Admission, Policy, SizingPolicy
from paddock.core.run import Priority
from paddock.core.units import GIB, format_duration, format_size
from paddock.simulate.report import Answer, CannotFit, Question, answer
from paddock.simulate.workloads import WORKLOADS

if TYPE_CHECKING:
    from paddock.simulate.fleet import FleetRun
    from paddock.wire.run_request import RunRequest

MOST_RUNS = 1_000_000
INDENT = 11
# The large host of the operational guide: 192 cores, 1.5 TB.
BYTES_PER_CPU = 8 * GIB


@click.command("simulate")
@click.option(
    "--ram", "ram_bytes", type=HOST_SIZE, help="Memory of the host [default: this one's]."
)
@click.option("--reserve", "reserve_bytes", type=SIZE, help="Kept for the host [default: by size].")
@click.option(
    "--cpus", type=CPUS, help="Cores [default: this host's; with --ram one for every 8G]."
)
@click.option(
    "--runs", type=click.IntRange(1, MOST_RUNS), default=1000, show_default=True, help="In all."
)
@click.option(
    "--fleet",
    "fleet_file",
    metavar="FILE|-",
    type=click.Path(allow_dash=True),
    help="The runs of this fleet file instead.",
)
@click.option(
    "--workload",
    type=click.Choice(list(WORKLOADS)),
    default="mixed",
    show_default=True,
    help="What the pretend agents are like.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    help="The same seed, the same report.",
)
@click.option(
    "--admission",
    type=click.Choice([str(each) for each in Admission]),
    default=str(Admission.LEARNED),
    show_default=True,
    help="By learned sizes, or always by the full limit.",
)
@click.option(
    "--warm", is_flag=True, help="The host has run this workload before: sizes are known."
)
@click.option(
    "--risk",
    type=NumberType(1e-6, 3000.0),
    default=SizingPolicy().touches_per_hour,
    show_default=True,
    help="How often an hour the fleet may touch its wall; from 1800 on bursts take turns.",
)
@click.option(
    "--max-agents",
    type=click.IntRange(1, 1_000_000),
    help="At once, as a profile's cap [default: none].",
)
@click.option(
    "--quota",
    metavar="FILE|-|NAMESPACE",
    help="In a cluster instead: how many agents fit into a namespace's quotas.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(fleet_file: str | None, quota: str | None, as_json: bool, **asked: Any) -> None:
    """Say what would happen to a fleet on this host or another, without running anything.

    Pretend agents use memory and CPU over time; the scheduler is the real one. The same seed
    gives the same answer, byte by byte. The answer is held against the time that nobody can beat
    and against a scheduler that knows every burst beforehand.

    With --fleet the runs, their needs, priorities and walls are those of a fleet file; how long
    they last and how their memory moves within the wall is drawn from the workload.

    With --quota the host is a namespace of a cluster: by its ResourceQuotas, LimitRanges and what
    stands there already, from manifests or from the cluster itself, it says how many agents of each
    role fit at once; with --fleet also who would run when.

    \b
    Workloads:
      steady   modest and even       bursty   small, with short bursts to 4G
      builds   few and heavy         mixed    a bit of everything, with priorities and needs
      storm    everything at once    leaky    memory that only grows

    \b
    Examples:
      paddock simulate --ram 64G --workload bursty --runs 500
      paddock simulate --ram 1536G --cpus 192 --runs 10000 --workload mixed --seed 1 --json
      paddock simulate --ram 16G --fleet examples/fleet.yaml --workload builds
      paddock kubernetes render | paddock simulate --quota - --fleet examples/fleet.yaml
    """
    if quota is not None:
        from .simulate_quota import in_namespace

        in_namespace(quota, fleet_file, asked, as_json=as_json)
        return
    question = _question(**asked)
    if fleet_file is not None:
        _check_alone(click.get_current_context())
        question = _with_fleet(question, fleet_file)
    try:
        with LiveLine() as line:
            found = answer(question, progress=_progress(question.runs, line))
    except CannotFit as error:
        raise CommandError(f"{error}, or use more --ram", ExitCode.REFUSED) from error
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        click.echo("\n".join(_in_words(found, terminal_width())))


def _question(
    ram_bytes: int | None,
    reserve_bytes: int | None,
    cpus: float | None,
    max_agents: int | None,
    admission: str,
    risk: float,
    **rest: Any,
) -> Question:
    measured = this_machine()[1] if ram_bytes is None else ram_bytes
    total = nominal_total(measured)
    reserve = host_reserve(total) if reserve_bytes is None else reserve_bytes
    if reserve >= total:
        raise CommandError(
            f"--reserve {format_size(reserve)} leaves nothing of {format_size(total)} for agents; "
            f"reserve less, or use more --ram"
        )
    if cpus is None:
        cpus = float(os.cpu_count() or 1) if ram_bytes is None else max(1, total // BYTES_PER_CPU)
    policy = Policy(
        total_bytes=total,
        reserve_bytes=reserve,
        admission=Admission(admission),
        max_agents=max_agents,
        queue_depth=MOST_RUNS,
        sizing=SizingPolicy(touches_per_hour=risk),
    )
    return Question(policy=policy, cpus=float(cpus), **rest)


def _check_alone(ctx: click.Context) -> None:
    """What a fleet file says itself cannot be said beside it."""
    from click.core import ParameterSource

    for name in ("runs", "warm"):
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise CommandError(f"--fleet: found --{name} as well; allowed: one of the two")


def _with_fleet(question: Question, file: str) -> Question:
    from paddock.simulate.fleet import fleet_plans

    from .fleet import read_fleet

    fleet = read_fleet(file)
    if not fleet.runs:
        raise CommandError(f"{fleet.name}: found heartbeats only; allowed: runs, to simulate them")
    if fleet.heartbeats:
        beats = counted(len(fleet.heartbeats), "heartbeat")
        note(f"{beats} left out of the simulation")
    limit = _usual_limit(question.policy.total_bytes)
    runs = [fleet_run(run, run.memory_bytes or limit) for run in fleet.runs]
    plans = fleet_plans(runs, workload=question.workload, seed=question.seed)
    return replace(question, runs=len(plans), fleet=fleet.name, plans=plans)


def fleet_run(run: RunRequest, limit_bytes: int) -> FleetRun:
    from paddock.simulate.fleet import FleetRun

    return FleetRun(
        name=run.name,
        group=run.group_in(PurePath(run.dir or "").name),
        priority=int(Priority[run.priority.upper()]),
        limit_bytes=limit_bytes,
        needs=run.needs,
        retries=run.retries,
    )


def _usual_limit(total_bytes: int) -> int:
    """The wall of a run that asks for none, as configured here and as it fits that host."""
    from paddock.config.layers import load_settings
    from paddock.config.mistakes import ConfigError
    from paddock.config.policy import run_defaults

    try:
        return run_defaults(load_settings(here_directory()), total_bytes).limit_bytes
    except ConfigError as error:
        refuse_mistakes(list(error.lines()), about="the configuration")


def _progress(runs: int, line: LiveLine) -> Callable[[int], None]:
    def show(ended: int) -> None:
        at = f"{ended:,} of {counted(runs, 'run')} have ended"
        line.now(at if ended < runs else f"{at}; how a perfect scheduler would do")

    return show


def _in_words(found: Answer, width: int | None) -> Iterable[str]:
    facts, policy = found.as_json(), found.question.policy
    sizes = "full limits" if policy.admission is Admission.GUARANTEED else "learned sizes"
    known = ", known beforehand" if found.question.warm else ""
    yield from fold(
        f"{counted(facts['runs'], 'run')} of {_whose(facts)} on {format_size(policy.total_bytes)} "
        f"({format_size(policy.wall_bytes)} for agents), {_cores(facts['cpus'])}, "
        f"by {sizes}{known}, {_cap(policy)}, seed {facts['seed']}",
        width,
    )
    yield ""
    room = None if width is None else max(20, width - INDENT)
    for name, text in _rows(facts):
        first, *rest = fold(text, room)
        yield f"{name:>{INDENT - 2}}  {first}"
        yield from (" " * INDENT + line for line in rest)


def _cap(policy: Policy) -> str:
    """Said, because a daemon has one: its profile's."""
    if policy.max_agents is None:
        return "no cap on agents at once (--max-agents sets one)"
    return f"{counted(policy.max_agents, 'agent')} at once at most"


def _cores(cpus: float) -> str:
    return "1 core" if cpus == 1 else f"{cpus:g} cores"


def _whose(facts: dict[str, Any]) -> str:
    return f"{facts['fleet']} as {facts['workload']}" if facts["fleet"] else str(facts["workload"])


def _rows(facts: dict[str, Any]) -> Iterable[tuple[str, str]]:
    makespan, best = facts["makespan_s"], facts["clairvoyant_s"]
    yield (
        "time",
        f"{format_duration(makespan)}; lower bound {format_duration(facts['lower_bound_s'])}; "
        f"with perfect foresight {format_duration(best)} (ours is {makespan / best:.2f} × that)",
    )
    waits = facts["wait_s"]
    half, most = format_duration(waits["p50"]), format_duration(waits["p95"])
    yield "wait", f"half start within {half}, 95 % within {most}"
    yield "at once", f"{facts['mean_agents']:.1f} agents on average, {facts['peak_agents']} at most"
    peak, wall = format_size(facts["peak_bytes"]), format_size(facts["wall_bytes"])
    yield "memory", f"{peak} at most, of the fleet's {wall}"
    yield "cores", f"{facts['mean_cpus']:.1f} of {facts['cpus']:g} at work on average"
    outcomes = ", ".join(f"{n} {name}" for name, n in facts["outcomes"].items())
    yield "ended", f"{outcomes}; {facts['lost']} lost"
    yield (
        "trouble",
        f"{facts['preemptions']} preempted ({format_duration(facts['work_lost_s'])} of work lost), "
        f"{facts['oom_kills']} killed for memory, fleet wall touched {facts['wall_touches']} ×, "
        f"host out of memory {facts['host_ooms']} ×",
    )
    yield "ladder", _ladder(facts["ladder_s"], facts["ladder_because"])


def _ladder(seconds: dict[str, int], because: str | None) -> str:
    """With the reason, where the fleet was held back for most of the time."""
    total = sum(seconds.values())
    shown = ", ".join(f"{name} {100 * s / total:.0f} %" for name, s in seconds.items() if s)
    calm = 2 * seconds.get("calm", 0) >= total
    return shown if calm or not because else f"{shown}; mostly: {because}"
