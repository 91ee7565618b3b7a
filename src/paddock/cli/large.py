"""The question that a large repository raises: continue, shallow, sparse or cancel."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from .exits import CommandError, ExitCode
from .printing import note

if TYPE_CHECKING:
    from paddock.client.errors import Refused
    from paddock.wire.run_request import RunRequest
    from paddock.wire.views import Submit

ANSWERS: Final = ("continue", "shallow", "sparse", "cancel")


def answered(order: Submit, question: Refused) -> Submit:
    """The same with an answer for all runs of that repository; the question, if nobody is there."""
    asked = _asked_about(order, question)
    if asked is None or not on_terminal():
        raise question
    note(question.message)
    answer = click.prompt("Your answer", type=click.Choice(ANSWERS), default="cancel", err=True)
    if answer == "cancel":
        raise CommandError("cancelled: nothing was submitted", ExitCode.REFUSED)
    return _with(order, asked.repo, _said(answer))


def on_terminal() -> bool:
    """Where somebody can read the question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _asked_about(order: Submit, question: Refused) -> RunRequest | None:
    """The run that the daemon names; one that has its answer is not asked about again."""
    name = question.message.partition(": ")[0]
    every = [*order.runs, *(beat.run for beat in order.heartbeats)]
    return next((run for run in every if run.name == name and _is_open(run)), None)


def _is_open(run: RunRequest) -> bool:
    return run.repo is not None and not (run.any_size or run.shallow or run.sparse)


def _said(answer: str) -> dict[str, Any]:
    if answer == "continue":
        return {"any_size": True}
    if answer == "shallow":
        return {"shallow": True}
    text = click.prompt("Which directories, with spaces between", value_proc=_directories, err=True)
    return {"sparse": tuple(text)}


def _directories(text: str) -> Sequence[str]:
    import shlex

    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if not words:
        raise click.BadParameter("say one at least, as in src/web")
    return words


def _with(order: Submit, repo: str | None, said: dict[str, Any]) -> Submit:
    import msgspec

    def answer(run: RunRequest) -> RunRequest:
        return msgspec.structs.replace(run, **said) if run.repo == repo and _is_open(run) else run

    return msgspec.structs.replace(
        order,
        runs=tuple(answer(run) for run in order.runs),
        heartbeats=tuple(
            msgspec.structs.replace(beat, run=answer(beat.run)) for beat in order.heartbeats
        ),
    )
