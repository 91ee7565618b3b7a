"""`paddock doctor`: which isolation this host gives, what is missing, and whether it holds."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from paddock import __version__

from .connecting import door, explained
from .exits import ExitCode
from .here import here_directory
from .live_line import meanwhile
from .params import DURATION
from .printing import coloured, counted, echo_json, note, paint, safe, terminal_width
from .tables import fold

if TYPE_CHECKING:
    from paddock.cli.doctor_pen import RunPen
    from paddock.client import Client
    from paddock.host.doctor.checks import Problem
    from paddock.host.doctor.containment import Containment
    from paddock.host.doctor.facts import Facts
    from paddock.host.doctor.proofs import Proof
    from paddock.wire.run_request import DriverWord
    from paddock.wire.views import DaemonView, SilenceView

INDENT: Final = 13
_LEVELS: Final = {"wrong": "red", "hint": "yellow"}
_VERDICTS: Final = {
    "held": "green",
    "late": "yellow",
    "broken": "red",
    "not proven": "red",
    "not promised": "yellow",
}


@click.command("doctor")
@click.option("--prove", is_flag=True, help="Let canaries go over their limits, and see who dies.")
@click.option(
    "--driver",
    type=click.Choice(("local", "container")),
    help="What --prove is about [default: the daemon's own choice].",
)
@click.option(
    "--within",
    "within_s",
    type=DURATION,
    default="20s",
    show_default=True,
    help="For all proofs together.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(prove: bool, driver: DriverWord | None, within_s: float, as_json: bool) -> int:
    """Say which isolation this host gives agents, what is missing, and the command that mends it.

    With --prove, real runs go over a 64M wall, fork, spread over sessions and try to leave their
    cgroup: bounded, in a few seconds, harmless to others. It starts the daemon if none runs, and
    stops it again. Exit 0 when nothing is wrong, 1 when something is.

    \b
    Examples:
      paddock doctor
      paddock doctor --prove
      paddock doctor --json | jq .problems
    """
    with _daemon(start=prove) as (client, view, trouble):
        examined = examine(view, trouble, silent=_silent_cluster(client))
        if not as_json:
            _show(examined)
        proofs = None
        if prove and client is not None:
            proofs = list(_proofs(client, examined, driver, within_s=within_s, as_json=as_json))
    if as_json:
        echo_json(as_object(examined, proofs))
    else:
        note(_summary(examined, proofs))
    bad = any(problem.level == "wrong" for problem in examined.problems)
    return ExitCode.ENDED_OTHERWISE if bad or any(_bad(proofs)) else ExitCode.DONE


class Examined(NamedTuple):
    facts: Facts
    containment: Containment
    problems: list[Problem]


# -- the daemon ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _daemon(*, start: bool) -> Iterator[tuple[Client | None, DaemonView | None, str | None]]:
    """A client, who the daemon is, and why there is none if there should be one. One that was
    started only for a proof is stopped again, unless somebody has found a use for it."""
    from paddock.client.errors import ClientError, NoDaemon

    with contextlib.ExitStack() as stack:
        was_there, trouble = True, None
        try:
            client = stack.enter_context(door()(start=False))
            view = client.daemon()
        except NoDaemon:
            was_there = False
        except ClientError as error:
            yield None, None, f"the daemon does not answer: {error}"
            return
        if not was_there and not start:
            yield None, None, None
            return
        if not was_there:
            try:
                client = stack.enter_context(door()(start=True))
                view = client.daemon()
            except ClientError as error:
                trouble = f"the daemon cannot be started: {explained(error).format_message()}"
                yield None, None, trouble
                return
        try:
            yield client, view, None
        finally:
            if not was_there:
                _stop_again(client)


def _stop_again(client: Client) -> None:
    from paddock.client.errors import ClientError

    with contextlib.suppress(ClientError):
        if not client.runs():
            client.stop_daemon()


def _silent_cluster(client: Client | None) -> SilenceView | None:
    from paddock.client.errors import ClientError

    with contextlib.suppress(ClientError):
        return None if client is None else client.status().silent_cluster
    return None


def examine(
    view: DaemonView | None, trouble: str | None, *, silent: SilenceView | None = None
) -> Examined:
    from paddock.host.doctor.checks import Problem, problems
    from paddock.host.doctor.containment import of_daemon, predicted, without_walls
    from paddock.host.doctor.facts import read_facts

    given, chosen = _given(view)
    facts = read_facts(given)
    if chosen == "none":
        walls = without_walls("no walls, as sandbox.containment says", chosen=True)
    else:
        walls = predicted(facts) if view is None else of_daemon(view.pid, facts)
    found = problems(facts, walls)
    if trouble is not None:
        found.insert(0, Problem("daemon", "wrong", trouble, "paddock daemon run"))
    if silent is not None:
        found.append(_cluster_problem(silent))
    return Examined(facts, walls, found)


def _cluster_problem(silent: SilenceView) -> Problem:
    from paddock.host.doctor.checks import Problem

    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(silent.since_at))
    what = f"the cluster does not answer since {at}: {silent.because}"
    if silent.runs:
        what += f"; {counted(silent.runs, 'run')} there taken for alive until it does"
    mend = "paddock kubernetes check --cluster says what is there; kubernetes.kubeconfig is which"
    return Problem("cluster", "wrong" if silent.runs else "hint", what, mend)


def _given(view: DaemonView | None) -> tuple[Any, str]:
    """What the configuration says: agents at once, and the walls that are wanted."""
    from paddock.config import settings as s
    from paddock.config.layers import load_settings
    from paddock.config.mistakes import ConfigError
    from paddock.config.places import find_places
    from paddock.config.policy import to_policy
    from paddock.host.doctor.facts import Given
    from paddock.host.memory import MemoryUnreadable
    from paddock.host.probe import probe_for_this_machine

    mistake, agents, chosen, image, driver = None, 1, "auto", None, "auto"
    try:
        # Of this directory: its project may name an image, and what is proven is what runs get.
        here = load_settings(here_directory())
        image, driver = here[s.CONTAINER_IMAGE], here[s.SANDBOX_DRIVER]
        settings = load_settings(None)
        chosen = settings[s.CONTAINMENT]
        total_bytes = probe_for_this_machine().read().memory.total_bytes
        agents = to_policy(settings, total_bytes).max_agents or _safe_number(total_bytes)
    except ConfigError as error:
        mistake = str(error).splitlines()[0]
    except MemoryUnreadable as error:
        mistake = f"this machine's memory cannot be read: {error}"
    version = None if view is None else view.version
    state = find_places().state
    return Given(state, agents, __version__, version, mistake, image, driver), chosen


def _safe_number(total_bytes: int) -> int:
    from paddock.core.capacity import DEFAULT_AGENT_BYTES, capacity

    return capacity(total_bytes, per_agent_bytes=DEFAULT_AGENT_BYTES).max_agents


# -- the proof ----------------------------------------------------------------------------------


def _proofs(
    client: Client,
    examined: Examined,
    driver: DriverWord | None,
    *,
    within_s: float,
    as_json: bool,
) -> Iterator[Proof]:
    from paddock.cli.doctor_pen import RunPen, container_pen
    from paddock.host.doctor.containment import NO_IMAGE
    from paddock.host.doctor.proofs import Proof

    given, walls = examined.facts.given, examined.containment
    in_containers = (driver or given.driver) == "container"
    if in_containers and not given.image:
        found: Iterator[Proof] = iter([Proof("container", "not proven", NO_IMAGE)])
    elif in_containers:
        found = _proven(container_pen(client, examined.facts, walls), within_s=within_s)
    else:
        found = _proven(RunPen(client, walls, driver=driver), within_s=within_s)
    said: set[str] = set()
    while (proof := _awaited(found)) is not None:
        if not as_json:
            told = "likewise" if proof.is_bad and proof.evidence in said else proof.evidence
            _line(proof.name, f"{proof.verdict}: {told}", _VERDICTS[proof.verdict])
        said.add(proof.evidence)
        yield proof


def _awaited(found: Iterator[Proof]) -> Proof | None:
    with meanwhile("canaries go over their limits"):
        return next(found, None)


def _proven(pen: RunPen, *, within_s: float) -> Iterator[Proof]:
    from paddock.client.errors import ClientError
    from paddock.host.doctor.proofs import Patience, Proof, prove

    patience = Patience.for_all(within_s)
    pen.start_s = patience.begin_s
    try:
        yield from prove(pen, patience)
    except ClientError as error:
        yield Proof("daemon", "not proven", f"it went away meanwhile: {error}")
    finally:
        with contextlib.suppress(ClientError):
            pen.close()


def _bad(proofs: list[Proof] | None) -> list[Proof]:
    return [proof for proof in proofs or () if proof.is_bad]


# -- telling ------------------------------------------------------------------------------------


def as_object(examined: Examined, proofs: list[Proof] | None) -> dict[str, Any]:
    walls = examined.containment
    return {
        "containment": walls.word,
        "because": walls.because,
        "guarantees": walls.promises.as_json(),
        "engines": examined.facts.engines,
        "problems": [
            {"name": each.name, "level": each.level, "what": each.what, "mend": each.mend}
            for each in examined.problems
        ],
        "proof": None if proofs is None else [_proof_object(proof) for proof in proofs],
    }


def _proof_object(proof: Proof) -> dict[str, Any]:
    return {
        "name": proof.name,
        "verdict": proof.verdict,
        "evidence": proof.evidence,
        "seconds": proof.seconds,
    }


def _show(examined: Examined) -> None:
    from paddock.host.doctor.containment import said_of_containers

    walls = examined.containment
    _line("containment", f"{walls.word}: {walls.because}", "bold")
    promises = walls.promises.as_json()
    held = [name.replace("_", " ") for name, is_held in promises.items() if is_held]
    lacks = [name.replace("_", " ") for name, is_held in promises.items() if not is_held]
    _line("promised", ", ".join(held))
    if lacks:
        _line("not promised", ", ".join(lacks), "yellow")
    _line("containers", said_of_containers(examined.facts, walls))
    for problem in examined.problems:
        _line(problem.name, f"{problem.level}: {problem.what}", _LEVELS[problem.level])
        if problem.mend:
            _line("", f"mend: {problem.mend}")


def _line(head: str, text: str, colour: str | None = None) -> None:
    width = terminal_width()
    room = None if width is None else max(20, width - INDENT - 2)
    on = coloured(sys.stdout)
    for index, part in enumerate(fold(safe(text), room)):
        shown = head if index == 0 else ""
        click.echo(f"{shown:>{INDENT}}  {paint(part, colour, on=on)}")


def _summary(examined: Examined, proofs: list[Proof] | None) -> str:
    wrong = sum(problem.level == "wrong" for problem in examined.problems)
    hints = len(examined.problems) - wrong
    parts = [f"{counted(wrong, 'thing')} wrong"] if wrong else []
    if not wrong and not _bad(proofs):
        parts.append("nothing is wrong")
    if hints:
        parts.append(counted(hints, "hint"))
    if proofs is not None:
        held = sum(proof.verdict in ("held", "late") for proof in proofs)
        found: Counter[str] = Counter(proof.verdict for proof in proofs)
        late = f" ({found['late']} of them late)" if found["late"] else ""
        parts.append(f"{held} of {counted(len(proofs), 'proof')} held{late}")
        others = [word for word in _VERDICTS if word in found and word not in ("held", "late")]
        parts += [f"{found[word]} {word}" for word in others]
    return ", ".join(parts)
