"""`paddock host setup`: shows, makes and takes back the changes that many agents need."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from .exits import CommandError, ExitCode
from .printing import coloured, counted, echo_json, note, paint, safe, terminal_width
from .tables import fold

if TYPE_CHECKING:
    from paddock.host.setup.changes import Step
    from paddock.host.setup.ground import Ground
    from paddock.host.setup.readings import User
    from paddock.host.setup.running import Done, StepDone

INDENT: Final = 8
HEADING: Final = "#"  # stands where a line's name is, for the name of a step


@click.command("setup")
@click.option("--dry-run", is_flag=True, help="Show every change and make none.")
@click.option("--undo", is_flag=True, help="Take back exactly what was changed.")
@click.option(
    "--user", "name", metavar="NAME", help="For whom [default: who called sudo, or root]."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(dry_run: bool, undo: bool, name: str | None, as_json: bool) -> int:
    """Prepare this host for many agents, once, as root. A second time it changes nothing.

    Swap off, cgroups for the user, directories, the kernel's parameters for many processes, a
    scratch space in memory. What was there before is kept in /var/lib/paddock/setup.json.

    \b
    Examples:
      paddock host setup --dry-run
      sudo paddock host setup
      sudo paddock host setup --undo
    """
    if undo and name:
        raise CommandError("--user has no meaning with --undo, which takes back all that was done")
    _check_this_machine(may_read_only=dry_run)
    from paddock.host.setup.ground import Failed, Ground

    show = _Shown(as_json=as_json, dry_run=dry_run)
    try:
        return _undo(Ground(), show) if undo else _set_up(Ground(), user_of(name), show)
    except Failed as error:
        raise CommandError(str(error)) from error


def _check_this_machine(*, may_read_only: bool) -> None:
    if sys.platform != "linux":
        raise CommandError(
            "`paddock host setup` is for Linux; elsewhere nothing has to be prepared"
        )
    if os.geteuid() != 0 and not may_read_only:
        raise CommandError(
            "this changes the machine and needs root: sudo paddock host setup "
            "(paddock host setup --dry-run only shows what it would do)"
        )


def user_of(name: str | None) -> User:
    import pwd

    from paddock.host.setup.changes import Owner
    from paddock.host.setup.readings import User

    wanted = name or os.environ.get("SUDO_USER") or pwd.getpwuid(os.geteuid()).pw_name
    try:
        found = pwd.getpwnam(wanted)
    except KeyError:
        raise CommandError(f"--user: there is no user {wanted!r} on this machine") from None
    return User(found.pw_name, Owner(found.pw_uid, found.pw_gid))


class _Shown:
    """What is told: line by line as it happens, or one JSON object at the end."""

    def __init__(self, *, as_json: bool, dry_run: bool) -> None:
        self.as_json = as_json
        self.dry_run = dry_run
        self.width = terminal_width()
        self.colour = coloured(sys.stdout)

    def lines(self, lines: Iterable[tuple[str, str, str | None]]) -> None:
        if self.as_json:
            return
        room = None if self.width is None else max(20, self.width - INDENT)
        for head, text, colour in lines:
            if head == HEADING:
                click.echo(paint(text, colour, on=self.colour))
                continue
            for index, part in enumerate(fold(safe(text), room)):
                shown = head if index == 0 else ""
                click.echo(f"{shown:>{INDENT - 2}}  {paint(part, colour, on=self.colour)}")


# -- setting up ---------------------------------------------------------------------------------


def _set_up(ground: Ground, user: User, show: _Shown) -> int:
    from paddock.host.memory import MemoryUnreadable
    from paddock.host.setup.plan import plan
    from paddock.host.setup.readings import read_host
    from paddock.host.setup.running import StepDone, set_up

    try:
        steps = plan(read_host(ground, user))
    except MemoryUnreadable as error:
        raise CommandError(f"cannot read this machine's memory: {error}") from error
    planned = (StepDone(step, ()) for step in steps)
    told = []
    for each in planned if show.dry_run else set_up(steps, ground):
        told.append(each)
        show.lines(step_lines(each, dry_run=show.dry_run))
    if show.as_json:
        echo_json(as_object(told, dry_run=show.dry_run))
    else:
        note(summary(told, dry_run=show.dry_run))
    return ExitCode.ENDED_OTHERWISE if any(each.problems for each in told) else ExitCode.DONE


def step_lines(each: StepDone, *, dry_run: bool) -> Iterator[tuple[str, str, str | None]]:
    step = each.step
    yield HEADING, step.name, "bold"
    yield "now", step.now, None
    yield "new", step.new, None
    yield "why", step.why, None
    if dry_run:
        yield from (("would", change.says, "yellow") for change in step.changes)
    for done in each.done:
        yield "did", done.change.says, "green" if done.problem is None else "red"
        if done.problem:
            yield "failed", done.problem, "red"
    if step.stuck:
        yield "stuck", step.stuck, "red"
    elif not step.changes:
        yield "", "nothing to change", None
    yield from (("note", text, None) for text in step.notes)


def summary(told: list[StepDone], *, dry_run: bool) -> str:
    changes = sum(len(each.step.changes) for each in told)
    problems = [text for each in told for text in each.problems]
    if dry_run:
        did = f"{counted(changes, 'change')} would be made, none was"
    else:
        made = sum(done.problem is None for each in told for done in each.done)
        did = f"{counted(made, 'change')} made" if changes else "nothing had to be changed"
    return f"{did}; {counted(len(problems), 'problem')}" if problems else did


def as_object(told: list[StepDone], *, dry_run: bool) -> dict[str, Any]:
    made = 0 if dry_run else sum(done.problem is None for each in told for done in each.done)
    return {
        "dry_run": dry_run,
        "changed": made,
        "steps": [_step_object(each.step, each.done) for each in told],
        "problems": [text for each in told for text in each.problems],
    }


def _step_object(step: Step, done: tuple[Done, ...]) -> dict[str, Any]:
    from paddock.host.setup.changes import as_json

    problems = {id(each.change): each.problem for each in done}
    return {
        "name": step.name,
        "why": step.why,
        "now": step.now,
        "new": step.new,
        "stuck": step.stuck,
        "notes": step.notes,
        "changes": [
            {
                "says": change.says,
                "done": id(change) in problems and problems[id(change)] is None,
                "problem": problems.get(id(change)),
                **as_json(change),
            }
            for change in step.changes
        ],
    }


# -- undoing ------------------------------------------------------------------------------------


def _undo(ground: Ground, show: _Shown) -> int:
    from paddock.host.setup.running import Done, recorded, undo

    if show.dry_run:
        done = [Done(change) for change in reversed(recorded(ground))]
        show.lines(("would", f"take back: {each.change.says}", "yellow") for each in done)
    else:
        done = []
        for each in undo(ground):
            done.append(each)
            show.lines(_undone(each))
    left = [each.problem for each in done if each.problem]
    if show.as_json:
        back = [] if show.dry_run else [e.change.says for e in done if e.problem is None]
        planned = [each.change.says for each in done]
        told = {"dry_run": show.dry_run, "planned": planned, "taken_back": back, "problems": left}
        echo_json(told)
    else:
        note(_undo_summary(done, dry_run=show.dry_run))
    return ExitCode.ENDED_OTHERWISE if left else ExitCode.DONE


def _undone(each: Done) -> Iterator[tuple[str, str, str | None]]:
    if each.problem is None:
        yield "undone", each.change.says, "green"
    else:
        yield "left", f"{each.change.says}: {each.problem}", "red"


def _undo_summary(done: list[Done], *, dry_run: bool) -> str:
    if not done:
        return "nothing to take back: `paddock host setup` has changed nothing on this machine"
    if dry_run:
        return f"{counted(len(done), 'change')} would be taken back, none was"
    left = sum(each.problem is not None for each in done)
    back = counted(len(done) - left, "change")
    return f"{back} taken back" + (f", {left} left; try again when that is mended" if left else "")
