"""`paddock simulate --quota`: how many agents fit into a namespace, and who would run when."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from paddock.cluster.quantities import NoQuantity, number_of
from paddock.cluster.quota import plain
from paddock.core.run import Priority
from paddock.core.units import format_duration, format_size

from .clusters import Cluster
from .exits import CommandError, ExitCode
from .here import here_directory
from .kubernetes_check import read_objects
from .printing import coloured, counted, echo_json, note, safe, terminal_width
from .run_options import refuse_mistakes
from .tables import Column, fold, table

if TYPE_CHECKING:
    from paddock.cluster.client import Api, Object
    from paddock.config.settings import Settings
    from paddock.simulate.in_cluster import ClusterAnswer
    from paddock.simulate.quota import Alone, Namespace, Rules, Wish
    from paddock.wire.run_request import RunRequest

# Of a host, and of nothing else.
OF_A_HOST: Final = (
    *("ram_bytes", "reserve_bytes", "cpus", "runs", "admission", "warm", "risk", "max_agents"),
)
PATIENCE_S: Final = 10.0
MOST_MOMENTS: Final = 20  # shown; JSON has them all
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_ROLES: Final = (
    Column("ROLE"),
    Column("MODEL", leaves=1),
    Column("REQUESTS", leaves=2),
    Column("LIMITS"),
    Column("VOLUME", right=True, leaves=3),
    Column("FIT", right=True),
    Column("HELD BY", gives_way=1, below=True),
)


def in_namespace(
    said: str, fleet_file: str | None, asked: dict[str, Any], *, as_json: bool
) -> None:
    from paddock.simulate.quota import Namespace, NoQuota, sizes_of

    _check_alone(click.get_current_context())
    if said == "-" and fleet_file == "-":
        raise CommandError("--quota and --fleet: both found -; allowed: stdin for one of the two")
    chosen = _of_clusters(_settings())
    try:
        namespace = Namespace(_objects(said))
        roles = [namespace.alone(sized) for sized in sizes_of(chosen)]
    except NoQuota as error:
        raise CommandError(f"--quota {safe(said)}: {error}") from None
    except (NoQuantity, KeyError, TypeError, AttributeError) as error:
        what = f"not as Kubernetes would take it ({safe(str(error))})"
        how = "paddock kubernetes check says what is wrong"
        raise CommandError(f"--quota {safe(said)}: {what}; {how}") from None
    known = _lines(namespace)
    fleet = None
    if fleet_file is not None:
        fleet = _fleet(fleet_file, namespace, chosen, asked)
    if as_json:
        echo_json(as_object(namespace.name, known, roles, fleet))
        return
    width = terminal_width()
    for line in in_words(namespace.name, known, roles, width):
        click.echo(line)
    if fleet is not None:
        click.echo("")
        for line in fleet_in_words(fleet, asked, width):
            click.echo(line)


# -- what is asked --------------------------------------------------------------------------------


def _check_alone(ctx: click.Context) -> None:
    from click.core import ParameterSource

    options = {param.name: param.opts[0] for param in ctx.command.params}
    for name in OF_A_HOST:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            what = options[name]
            raise CommandError(f"--quota: found {what} as well, which is of a host; leave it out")


def _settings() -> Settings:
    from paddock.config.layers import load_settings
    from paddock.config.mistakes import ConfigError

    try:
        return load_settings(here_directory())
    except ConfigError as error:
        refuse_mistakes(list(error.lines()), about="the configuration")


def _of_clusters(settings: Settings) -> Rules:
    """Where no classes are named, those that the rendered manifests give to agents."""
    from paddock.config import cluster_settings as c
    from paddock.manifests.values import HIGH, LOW, STANDARD
    from paddock.simulate.quota import rules_of

    high, normal, low = (settings[one] for one in (c.HIGH_CLASS, c.STANDARD_CLASS, c.LOW_CLASS))
    if not (high or normal or low):
        high, normal, low = HIGH, STANDARD, LOW
    said = zip(Priority, (high, high, normal, low), strict=True)
    classes = {priority: name for priority, name in said if name}
    return rules_of(settings[c.TIERS], classes, volumes=settings[c.VOLUMES])


def _objects(said: str) -> list[Object]:
    if said == "-" or Path(said).exists():
        return [one for one in read_objects(Path(said)) if isinstance(one, dict)]
    if not _NAMESPACE.fullmatch(said):
        raise CommandError(f"--quota: found no file {safe(said)!r}, and no namespace is called so")
    return Cluster(None, None).ask(said, _in_force)


async def _in_force(api: Api) -> list[Object]:
    """What holds agents in the namespace, with what is used of it."""
    from paddock.cluster.client import QUOTA, Kind

    found: list[Object] = []
    for kind in (QUOTA, Kind("", "v1", "LimitRange", "limitranges")):
        items, _ = await api.list(kind, patience_s=PATIENCE_S)
        found += [{**one, "kind": kind.kind} for one in items]
    return found


# -- a fleet --------------------------------------------------------------------------------------


def _fleet(file: str, namespace: Namespace, chosen: Rules, asked: dict[str, Any]) -> ClusterAnswer:
    from paddock.simulate.fleet import fleet_plans
    from paddock.simulate.in_cluster import answer
    from paddock.simulate.quota import Gate, size_of

    from .fleet import read_fleet
    from .simulate import fleet_run

    fleet = read_fleet(file)
    if not fleet.runs:
        raise CommandError(f"{fleet.name}: found heartbeats only; allowed: runs, to simulate them")
    if fleet.heartbeats:
        note(f"{counted(len(fleet.heartbeats), 'heartbeat')} left out of the simulation")
    wishes = [_wish(run, chosen) for run in fleet.runs]
    for wish in wishes:
        if (problem := namespace.refused(size_of(wish, chosen))) is not None:
            raise CommandError(f"{wish.attempt.run}: {problem}", ExitCode.REFUSED)
    limits = {wish.attempt.run: wish.limit_bytes for wish in wishes}
    runs = [fleet_run(run, limits[run.name]) for run in fleet.runs]
    plans = fleet_plans(runs, workload=asked["workload"], seed=asked["seed"])
    return answer(fleet.name, plans, Gate(namespace, wishes, chosen))


def _wish(run: RunRequest, chosen: Rules) -> Wish:
    from paddock.cluster.tiers import place_of, tier_of
    from paddock.simulate.quota import wish_of

    role, model = run.role or "", run.model or ""
    tier = tier_of(role, model, chosen.tiers, at=place_of(run.name))
    limit = run.memory_bytes or tier.memory_limit_bytes
    cpu = "" if run.cpu is None else str(run.cpu)
    labels = {"role": role, "model": model, "complexity": run.complexity or "", "cpu": cpu}
    return wish_of(run.name, limit, labels, Priority[run.priority.upper()])


# -- telling --------------------------------------------------------------------------------------


def _lines(namespace: Namespace) -> list[dict[str, Any]]:
    """Every resource of every quota, as it is before anybody of the question is there."""
    return [
        {
            "quota": quota["metadata"]["name"],
            "resource": name,
            "hard": str(hard),
            "used": quota["status"]["used"][name],
        }
        for quota in namespace.quotas()
        for name, hard in quota["spec"].get("hard", {}).items()
    ]


def as_object(
    name: str,
    known: Sequence[dict[str, Any]],
    roles: Sequence[Alone],
    fleet: ClusterAnswer | None,
) -> dict[str, Any]:
    """Keys are only ever added."""
    return {
        "namespace": name or None,
        "quotas": list(known),
        "roles": [
            {
                "role": one.sized.role or None,
                "model": one.sized.model or None,
                "share": one.sized.share,
                **{part: dict(one.sized.resources[part]) for part in ("requests", "limits")},
                "volume_bytes": one.sized.volume_bytes,
                "fit": one.count,
                "held_by": list(one.held_by),
            }
            for one in roles
        ],
        "fleet": None if fleet is None else fleet.as_json(),
    }


def in_words(
    name: str, known: Sequence[dict[str, Any]], roles: Sequence[Alone], width: int | None
) -> Iterator[str]:
    quotas = counted(len({one["quota"] for one in known}), "quota")
    taken = [one for one in known if number_of(one["used"]) > 0]
    said = ", ".join(f"{plain(number_of(one['used']))} {one['resource']}" for one in taken)
    there = f"; {said} taken already" if said else ""
    whose = safe(name) if name else "this namespace"
    yield from fold(f"{whose}, {quotas}: how many of each fit at once, each alone{there}", width)
    yield ""
    rows = [_row(one) for one in roles]
    yield from table(_ROLES, rows, width=width, colour=coloured(sys.stdout))


def _row(one: Alone) -> list[str]:
    sized = one.sized
    sizes = [
        f"{sized.resources[part]['cpu']} CPU {sized.resources[part]['memory']}"
        for part in ("requests", "limits")
    ]
    volume = format_size(sized.volume_bytes) if sized.volume_bytes else "-"
    some = "" if sized.share == 100 else f" ({sized.share} % of them)"
    return [
        (safe(sized.role) or "any other") + some,
        safe(sized.model) or "any",
        *sizes,
        volume,
        str(one.count),
        ", ".join(one.held_by),
    ]


def fleet_in_words(fleet: ClusterAnswer, asked: dict[str, Any], width: int | None) -> Iterator[str]:
    facts = fleet.as_json()
    half, most = (format_duration(facts["wait_s"][one]) for one in ("p50", "p95"))
    outcomes = ", ".join(f"{count} {name}" for name, count in facts["outcomes"].items())
    yield from fold(
        f"{counted(fleet.runs, 'run')} of {safe(fleet.fleet)} as {asked['workload']}, "
        f"seed {asked['seed']}: {format_duration(facts['makespan_s'])}; "
        f"{facts['peak_agents']} at once at most ({_roles(facts['peak_roles'])}, "
        f"first after {format_duration(facts['peak_at_s'])}), "
        f"{facts['mean_agents']:.1f} on average; half start within {half}, 95 % within {most}; "
        f"{outcomes}; {facts['lost']} lost",
        width,
    )
    yield ""
    rows = [
        [format_duration(at), str(sum(found.values())), _roles(found)]
        for at, found in _thinned(fleet.moments)
    ]
    columns = (Column("AFTER", right=True), Column("RUN", right=True), Column("WHO", gives_way=1))
    yield from table(columns, rows, width=width, colour=coloured(sys.stdout))


def _roles(found: dict[str, int]) -> str:
    return ", ".join(f"{count} {safe(role)}" for role, count in found.items()) or "nobody"


def _thinned(
    moments: Sequence[tuple[float, dict[str, int]]],
) -> list[tuple[float, dict[str, int]]]:
    """As many as can be read: evenly over the time, each as it was then."""
    if len(moments) <= MOST_MOMENTS:
        return list(moments)
    first, last = moments[0][0], moments[-1][0]
    chosen = []
    for number in range(MOST_MOMENTS):
        at = first + (last - first) * number / (MOST_MOMENTS - 1)
        chosen.append((at, [found for since, found in moments if since <= at + 1e-9][-1]))
    return chosen
