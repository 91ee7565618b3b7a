"""`paddock relieve`: kill agents until memory is free. Needs no daemon, and little memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from paddock.core.units import format_size

from .exits import CommandError, ExitCode
from .params import NumberType
from .printing import counted, note, safe

if TYPE_CHECKING:
    from paddock.rescue.agents import Agent
    from paddock.rescue.ladder import Goal
    from paddock.rescue.machine import Machine
    from paddock.rescue.memory import Reading
    from paddock.rescue.relief import Kill, Relief

PERCENT: Final = NumberType(1, 99)


@click.command("relieve")
@click.option("--dry-run", is_flag=True, help="Only say whom it would kill.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("percent", type=PERCENT, required=False)
def command(percent: float | None, dry_run: bool, as_json: bool) -> int:
    """Kill agents, at once, until less than PERCENT of this machine's memory is in use.

    Without PERCENT: the ladder's relief target, which is 75 unless the daemon was told otherwise.
    The lowest priority goes first, then the largest use over its expected size, then the newest;
    the critical only when nobody else is left. Works with the daemon dead. Exit code 1: nobody is
    left to kill, and it is still above.

    \b
    Examples:
      paddock relieve 75
      paddock relieve --dry-run
    """
    from paddock.rescue.ladder import Goal, read_ladder
    from paddock.rescue.memory import Unreadable

    try:
        machine = this_machine()
        ladder = read_ladder(machine.yard.records.ladder)
        goal = Goal(ladder.relief_target if percent is None else percent)
        if dry_run:
            return _plan(machine, goal, as_json=as_json)
        return _relieve(machine, goal, round_s=ladder.kill_round_s, as_json=as_json)
    except Unreadable as error:
        raise CommandError(
            f"cannot read this machine's memory, so nobody is killed: {error}"
        ) from None


def this_machine(*, thorough: bool = False) -> Machine:
    from paddock.config.places import find_places
    from paddock.rescue.machine import Machine
    from paddock.rescue.records import NotOurs

    try:
        return Machine(str(find_places().state), thorough=thorough)
    except NotOurs as error:
        raise CommandError(safe(str(error)), ExitCode.REFUSED) from None


def _relieve(machine: Machine, goal: Goal, *, round_s: float, as_json: bool) -> int:
    from paddock.rescue.relief import relieve

    machine.prepare()
    relief = relieve(machine, goal, round_s=round_s)
    if as_json:
        click.echo(json.dumps(as_object(relief), indent=2))
    else:
        for kill in relief.kills:
            click.echo(kill_line(kill))
        click.echo(summary(relief))
    return ExitCode.DONE if relief.reached else ExitCode.ENDED_OTHERWISE


def _plan(machine: Machine, goal: Goal, *, as_json: bool) -> int:
    from paddock.rescue.relief import cause_of, planned, readable
    from paddock.rescue.victims import because

    reading = readable(machine.look())
    agents = machine.agents()
    victims = planned(agents, goal.over_bytes(reading))
    spared = [agent for agent in agents if agent not in victims]
    cause = cause_of(reading, goal)
    if as_json:
        plan = [agent_object(victim) for victim in victims]
        said = {"target_percent": goal.percent, "used_percent": reading.used_percent}
        click.echo(json.dumps(said | {"would_kill": plan}, indent=2))
        return ExitCode.DONE
    for victim in victims:
        text = because(victim, cause=cause, spared=spared)
        click.echo(f"would kill {who(victim)}: {safe(text)}")
    if not victims:
        note(f"nobody would be killed: {now_at(reading)}, target {goal.percent:g} %")
    return ExitCode.DONE


# -- in words and in JSON, also for `watch` -----------------------------------------------------


def who(agent: Agent) -> str:
    return f"{safe(agent.facts.name)} ({safe(agent.facts.run)})"


def kill_line(kill: Kill) -> str:
    done = "killed" if kill.gone else "could not kill"
    return f"{done} {who(kill.agent)}: {safe(kill.because)}"


def summary(relief: Relief) -> str:
    text = now_at(relief.after)
    if relief.kills:
        killed = sum(kill.gone for kill in relief.kills)
        text += f"; {counted(killed, 'agent')} killed, {format_size(relief.freed_bytes)} came back"
    if relief.reached:
        return text if relief.kills else f"{text}: nothing to do"
    return f"{text}; still above {relief.goal.percent:g} %, and nobody is left to kill"


def now_at(reading: Reading) -> str:
    if reading.available_bytes is None or reading.used_percent is None:
        return "memory cannot be read"
    free, total = format_size(reading.available_bytes), format_size(reading.total_bytes)
    return f"memory at {reading.used_percent:.0f} %, {free} of {total} available"


def as_object(relief: Relief) -> dict[str, Any]:
    return {
        "reached": relief.reached,
        "target_percent": relief.goal.percent,
        "used_percent_before": relief.before.used_percent,
        "used_percent": relief.after.used_percent,
        "available_bytes": relief.after.available_bytes,
        "freed_bytes": relief.freed_bytes,
        "killed": [
            agent_object(kill.agent) | {"because": kill.because, "gone": kill.gone}
            for kill in relief.kills
        ],
        "spared": [agent_object(agent) for agent in relief.spared],
    }


def agent_object(agent: Agent) -> dict[str, Any]:
    from paddock.rescue.victims import word_of

    facts = agent.facts
    return {
        "id": facts.run,
        "name": facts.name,
        "attempt": facts.attempt,
        "priority": word_of(agent),
        "memory_bytes": agent.used_bytes,
        "expected_bytes": facts.expected_bytes,
    }
