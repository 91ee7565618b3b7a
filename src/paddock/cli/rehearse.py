"""`paddock rehearse`: the real agent program against a stand-in for its model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from .connecting import connected
from .exits import CommandError, ExitCode
from .printing import echo_json, safe
from .run_options import refuse_mistakes, request_of, run_options

if TYPE_CHECKING:
    from paddock.rehearsal.script import Scripts
    from paddock.wire.fleet_file import FleetFile
    from paddock.wire.run_request import RunRequest
    from paddock.wire.views import RunView

    from .rehearsing import Rehearsal

PROMPT: Final = "This is a rehearsal: do what you are asked for."


@click.command("rehearse")
@run_options
@click.option("--script", metavar="FILE", type=click.Path(), help="What the model asks for.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list of the runs, at the end.")
@click.argument("fleet", metavar="[FLEET]", required=False, type=click.Path(allow_dash=True))
def command(fleet: str | None, script: str | None, as_json: bool, **asked: Any) -> int:
    """The real agent program against a stand-in model on loopback: no tokens, no network.

    It runs as any run does, with walls, logs and a workspace, but in a network of its own, with a
    home of its own and none of your variables. What the model asks for (commands, files, waits,
    memory, errors, rate limits) is in a script. Of a fleet file every run that has an agent is
    rehearsed; plain commands run as they are.

    Ends as `run` and `fleet` do, or with 1 where the script was not played to its end.

    \b
    Examples:
      paddock rehearse --agent claude
      paddock rehearse --agent codex --script limits.yaml --memory 1G
      paddock rehearse payments.yaml
    """
    from .rehearsing import check_network

    scripts = _scripts(script)
    if fleet is not None:
        _refuse_beside_a_file(fleet, asked)
        file = _fleet(fleet)
        check_network()
        return _rehearse_fleet(file, scripts, as_json=as_json)
    if asked.get("agent") is None:
        raise CommandError("nothing to rehearse: say --agent claude, or name a fleet file")
    asked = {**asked, "prompt": asked.get("prompt") or PROMPT}
    request = request_of((), asked, about="paddock rehearse")
    check_network()
    return _rehearse_one(request, scripts, as_json=as_json)


def _rehearse_one(request: RunRequest, scripts: Scripts, *, as_json: bool) -> int:
    from .rehearsing import without_the_users
    from .run import code_of_followed, follow_one, submit_one

    with _rehearsal(scripts) as rehearsal:
        (prepared,) = _put_on(rehearsal, [request])
        taken = submit_one(prepared, alter=without_the_users)
        rehearsal.submitted([taken.id])
        followed = follow_one(taken, retries=request.retries, quiet=as_json)
        runs = [] if followed.run is None else [followed.run]
        return _tell(rehearsal, runs, code_of_followed(followed), as_json=as_json)


def _rehearse_fleet(file: FleetFile, scripts: Scripts, *, as_json: bool) -> int:
    from .fleet import submit_fleet, sum_up, watch_fleet

    with _rehearsal(scripts) as rehearsal:
        prepared = _put_on(rehearsal, file.runs)
        answer = submit_fleet(replace(file, runs=tuple(prepared)))
        rehearsal.submitted([run.id for run in answer.runs])
        watched = watch_fleet(answer, quiet=as_json)
        if not as_json and watched.code != ExitCode.LEFT_RUNNING:
            sum_up(watched)
        return _tell(rehearsal, watched.runs, watched.code, as_json=as_json)


def _rehearsal(scripts: Scripts) -> Rehearsal:
    from paddock.config.places import find_places

    from .rehearsing import Rehearsal

    return Rehearsal(scripts, state=find_places().state)


def _put_on(rehearsal: Rehearsal, requests: Sequence[RunRequest]) -> list[RunRequest]:
    prepared = rehearsal.put_on(requests)
    if not rehearsal.parts:
        raise CommandError(f"nothing to rehearse: {safe(rehearsal.nothing_in(requests))}")
    unknown = rehearsal.unknown_scripts()
    if unknown:
        known = ", ".join(rehearsal.names())
        raise CommandError(
            f"--script: found steps for {safe(unknown[0])!r}, which is no run with an agent; "
            f"allowed: {known}"
        )
    with connected() as client:
        rehearsal.clear_earlier(client)
    return prepared


def _tell(rehearsal: Rehearsal, runs: Sequence[RunView], code: int, *, as_json: bool) -> int:
    """What each model asked for and what came of it; 1 where a good end came too early."""
    rehearsal.ended(runs)
    whole = True
    found = []
    for run in runs:
        view = _as_json(run)
        if run.name in rehearsal.parts:
            played = rehearsal.played(run.name)
            whole = whole and played.whole
            view["rehearsal"] = played.as_json()
            if not as_json:
                click.echo(f"rehearsal of {run.name}: {_sentence(run, str(played))}")
                for address in played.unknown:
                    click.echo(f"  it asked for {safe(address)}, which the stand-in does not know")
        found.append(view)
    if as_json:
        echo_json(found)
    return code or (ExitCode.DONE if whole else ExitCode.ENDED_OTHERWISE)


def _sentence(run: RunView, played: str) -> str:
    from paddock.core.units import format_size

    peak = "" if run.peak_bytes is None else f", peak {format_size(run.peak_bytes)}"
    tries = f", {run.tries} tries" if run.tries > 1 else ""
    return f"{run.outcome or run.state}, {played}{peak}{tries}"


def _as_json(run: RunView) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(run)
    return found


def _scripts(script: str | None) -> Scripts:
    from paddock.config.mistakes import ConfigError
    from paddock.rehearsal.script import USUAL, Scripts

    if script is None:
        return Scripts(USUAL)
    from paddock.rehearsal.reading import read_scripts

    try:
        return read_scripts(Path(script))
    except ConfigError as error:
        refuse_mistakes(list(error.lines()), about=safe(script))


def _fleet(name: str) -> FleetFile:
    from .fleet import read_fleet

    file = read_fleet(name)
    if not file.heartbeats:
        return file
    # They would go on for as long as the file's runs, and say nothing of its agents.
    click.echo("paddock: heartbeats are left out of a rehearsal", err=True)
    return replace(file, heartbeats=())


def _refuse_beside_a_file(file: str, asked: Mapping[str, Any]) -> None:
    said = [name for name, value in asked.items() if value not in (None, (), False)]
    if said:
        option = f"--{said[0].replace('_', '-')}"
        where = f"a fleet file, {safe(file)}"
        raise CommandError(f"{option}: found beside {where}; say it in that file")
