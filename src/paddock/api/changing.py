"""Requests that change what is there: kill, retry, priority, freeze, breakers, the daemon's end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from paddock.core.events import (
    BreakerReset,
    CancelRequested,
    Event,
    FreezeRequested,
    HeartbeatRemoved,
    PriorityChanged,
    Submitted,
    ThawRequested,
)
from paddock.core.run import Ended, Outcome, Priority, Run, RunSpec
from paddock.core.steps import has_more
from paddock.ports import Recipe
from paddock.supervisor.keepsakes import AFTER_LABEL
from paddock.supervisor.stepping import ORIGIN_LABEL, origin_of
from paddock.wire.run_checks import check_environment, check_run
from paddock.wire.run_request import RunRequest
from paddock.wire.views import (
    Again,
    BreakerView,
    DaemonView,
    Kill,
    Killed,
    Otherwise,
    ResetBreaker,
    RunView,
    SetPriority,
    StopDaemon,
    Submission,
)
from paddock.workspaces.errors import WorkspaceError

from . import fleets, views_of
from . import recipes as r
from .alone import alone
from .asking import Asked
from .bodies import MIB
from .desk import Desk
from .ids import find_ids
from .installed import is_still_missing
from .problems import bad_request, has_ended, not_found, raise_any, refused
from .receipts import receipt_of_one
from .repositories import SECRET_LABEL
from .submitting import LARGEST

MOST_KILLED: Final = 10_000
SAVING_S: Final = 300.0
# Asked together they are remembered together: ten thousand one by one would take a minute.
AT_ONCE: Final = 500


async def kill(desk: Desk, asked: Asked) -> Killed:
    """All that are named are found before any is killed; one that has ended is no mistake."""
    body = await asked.body(Kill, most=MIB)
    if not body.runs and not body.all and body.fleet is None:
        raise bad_request("runs: found none; allowed: names or ids, a fleet, or all")
    if len(body.runs) > MOST_KILLED:
        raise bad_request(f"runs: allowed: {MOST_KILLED:,} at most")
    victims, beats = await _meant(desk, body)
    removed = await _all(desk, beats, HeartbeatRemoved)
    cancelled = await _all(
        desk, victims, lambda now, run: CancelRequested(now, run, force=body.force)
    )
    return Killed(runs=tuple(cancelled), heartbeats=tuple(removed))


async def _meant(desk: Desk, body: Kill) -> tuple[list[str], list[str]]:
    """Runs, and heartbeats."""
    fleet = desk.supervisor.fleet
    unended = [run for run in fleet.runs.values() if not isinstance(run.state, Ended)]
    if body.all:
        return [run.id for run in unended], list(fleet.heartbeats)
    beats = [name for name in body.runs if name in fleet.heartbeats]
    victims = [(await desk.find(text)).id for text in body.runs if text not in beats]
    if body.fleet is not None:
        of_fleet = await fleets.unended_of(desk, body.fleet, unended)
        of_fleet = of_fleet or await fleets.newest_of(desk, body.fleet)  # or there is none
        victims += [run.id for run in of_fleet]
        beats += await fleets.heartbeats_of(desk, body.fleet)
    return victims + _beating(desk, beats), beats


def _beating(desk: Desk, names: Sequence[str]) -> list[str]:
    """The beats of these heartbeats that are under way."""
    fleet = desk.supervisor.fleet
    last = (fleet.heartbeats[name].last_run for name in names)
    known = (fleet.runs.get(run) for run in last if run is not None)
    return [run.id for run in known if run is not None and not isinstance(run.state, Ended)]


async def _all(
    desk: Desk, targets: Sequence[str], make: Callable[[float, str], Event]
) -> list[str]:
    """Those that were not refused."""
    done: list[str] = []
    ask, unique = desk.supervisor.ask, list(dict.fromkeys(targets))
    for first in range(0, len(unique), AT_ONCE):
        some = unique[first : first + AT_ONCE]
        answers = await asyncio.gather(*(ask(_about(one, make)) for one in some))
        done += [one for one, refusals in zip(some, answers, strict=True) if not refusals]
    return done


def _about(one: str, make: Callable[[float, str], Event]) -> Callable[[float], Event]:
    return lambda now: make(now, one)


async def retry(desk: Desk, asked: Asked) -> Submission:
    """The same spec and command once more, as a new run, with the environment of who asks."""
    body = await asked.body(Again, most=LARGEST)
    problem = check_environment(body.environment) or _check_otherwise(body.otherwise)
    if problem is not None:
        raise bad_request(problem)
    run = await desk.find(asked.path["run"])
    async with alone(desk, body.key):
        if not isinstance(run.state, Ended):
            raise has_ended(f"{run.spec.name} ({run.id}): it has not ended; `paddock kill` ends it")
        return await _retry(desk, body, run)


async def _retry(desk: Desk, body: Again, run: Run) -> Submission:
    name = run.spec.name
    [(new, before)], recipe = await desk.aside(
        lambda: (find_ids(desk, body.key, [name]), desk.supervisor.store.recipe(run.id))
    )
    if before is None:
        if recipe is None:
            raise refused(f"{name} ({run.id}): how it was started is no longer known")
        if r.REHEARSAL_LABEL in recipe.labels:
            raise refused(f"{name} ({run.id}): a rehearsal cannot be retried; rehearse again")
        if recipe.stdin is not None:
            raise r.no_stdin_left(name)
        if SECRET_LABEL in recipe.labels:
            said = "the password in its repository's address was not kept"
            raise refused(f"{name} ({run.id}): {said}: submit it anew")
        await desk.aside(lambda: r.check_directory(str(recipe.directory)))
        if _labels_after(run, recipe, body):
            await _save(desk, run)
        spec = structs.replace(run.spec, id=new, needs=(), heartbeat=None, **_going_on(run, body))
        spec = _changed(spec, body.otherwise)
        if (old := spec.bounds) is not None:
            policy, of = desk.supervisor.fleet.policy, desk.defaults
            bounds = await desk.aside(lambda: of.bounds_again(old, policy))
            spec = structs.replace(spec, bounds=bounds)
        environment = r.environment_again(recipe, body.environment)
        if spec.lacks_program:
            missing = await desk.aside(lambda: is_still_missing(recipe, environment))
            spec = structs.replace(spec, lacks_program=missing)
        labels = {
            **_of_its_fleet(recipe),
            **_high_of(recipe, was=run.spec.limit_bytes, now=spec.limit_bytes),
            r.KEY_LABEL: body.key,
            **_labels_after(run, recipe, body),
        }
        once_more = replace(recipe, environment=environment, labels=labels)
        desk.ids.add((new,))
        raise_any(
            await desk.supervisor.ask(lambda now: Submitted(now, (spec,)), recipes={new: once_more})
        )
    return receipt_of_one(desk, new, name)


async def _save(desk: Desk, run: Run) -> None:
    """What it had not committed goes on its branch: there the new run goes on."""
    room, why = desk.facts.workspaces, f"run {run.id} is tried once more"

    def work() -> None:
        if room is not None and room.path(run.id) is not None:
            room.save(run.id, because=why, of=run.attempts)

    try:
        await desk.aside(work, within_s=SAVING_S)
    except WorkspaceError as error:
        raise refused(
            f"{run.spec.name} ({run.id}): what it had not committed could not be saved: {error}; "
            "with --from-start the new run begins without it"
        ) from None


def _going_on(run: Run, body: Again) -> dict[str, Any]:
    """Steps that are done are not done again; one that succeeded is run anew."""
    if body.from_start or not has_more(run):
        return {"first_step": 0, "first_in_doubt": False}
    return {"first_step": run.steps_done, "first_in_doubt": run.in_doubt}


def _check_otherwise(asked: Otherwise) -> str | None:
    """By the rules of any request."""
    said = {name: value for name, value in structs.asdict(asked).items() if value is not None}
    problem = check_run(RunRequest(name="retry", command=("true",), **said))
    return None if problem is None else problem.removeprefix("retry: ")


def _changed(spec: RunSpec, asked: Otherwise) -> RunSpec:
    """A soft limit or a soft timeout that no longer lies below the hard one gives way to it."""
    facts: dict[str, Any] = {}
    if asked.memory_bytes is not None:
        soft = None if spec.soft_limit_bytes is None else asked.memory_bytes
        facts |= {"limit_bytes": asked.memory_bytes, "soft_limit_bytes": soft}
    if asked.timeout_s is not None:
        hard_s = math.inf if asked.timeout_s == "none" else asked.timeout_s
        soft_s = spec.soft_timeout_s
        fits = soft_s is not None and soft_s < hard_s
        facts |= {"hard_timeout_s": hard_s, "soft_timeout_s": soft_s if fits else None}
    if asked.priority is not None:
        facts["priority"] = Priority[asked.priority.upper()]
    if asked.retries is not None:
        facts["retries"] = asked.retries
    return structs.replace(spec, **facts)


def _high_of(recipe: Recipe, *, was: int, now: int) -> dict[str, str]:
    """Where it is held back stays at the same share of its wall."""
    high = recipe.labels.get(r.HIGH_LABEL)
    return {} if high is None or was == now else {r.HIGH_LABEL: str(int(high) * now // was)}


def _of_its_fleet(recipe: Recipe) -> dict[str, str]:
    """It stays one of them, under the submission that they came with."""
    its_own = (AFTER_LABEL, ORIGIN_LABEL)  # whom that one went on with
    labels = {name: text for name, text in recipe.labels.items() if name not in its_own}
    if r.FLEET_LABEL in labels:
        labels.setdefault(fleets.FLEET_KEY_LABEL, labels[r.KEY_LABEL])
    return labels


def _labels_after(run: Run, recipe: Recipe, body: Again) -> dict[str, str]:
    assert isinstance(run.state, Ended)
    if body.from_start or run.state.outcome is Outcome.SUCCEEDED:
        return {}
    return {AFTER_LABEL: run.id, ORIGIN_LABEL: origin_of(run.id, recipe.labels)}


async def priority(desk: Desk, asked: Asked) -> RunView:
    body = await asked.body(SetPriority)
    word = Priority[body.priority.upper()]
    return await _change(desk, asked, lambda now, run: PriorityChanged(now, run, word))


async def freeze(desk: Desk, asked: Asked) -> RunView:
    return await _change(desk, asked, FreezeRequested, freezes=True)


async def thaw(desk: Desk, asked: Asked) -> RunView:
    return await _change(desk, asked, ThawRequested)


async def _change(
    desk: Desk, asked: Asked, make: Callable[[float, str], Event], *, freezes: bool = False
) -> RunView:
    run = await desk.find(asked.path["run"])
    if freezes:
        _check_freezing(desk, run)
    about = f"{run.spec.name} ({run.id})"
    if isinstance(run.state, Ended):
        raise has_ended(f"{about}: it has already ended")
    raise_any(await desk.supervisor.ask(lambda now: make(now, run.id)), about=about)
    return views_of.run_view(desk.supervisor, run)


def _check_freezing(desk: Desk, run: Run) -> None:
    driver = desk.supervisor.hands.driver_of(run.attempt)
    if driver is not None and not driver.guarantees.can_freeze:
        name = driver.guarantees.name
        raise refused(f"{run.spec.name}: the driver {name} cannot freeze on this host")


async def reset_breaker(desk: Desk, asked: Asked) -> BreakerView:
    body, fleet = await asked.body(ResetBreaker), desk.supervisor.fleet
    if body.group not in fleet.groups:
        raise not_found(f"there is no group {body.group[:60]!r}; `paddock breaker` lists them")
    raise_any(await desk.supervisor.ask(lambda now: BreakerReset(now, body.group)))
    return views_of.breaker_view(fleet, body.group, fleet.group(body.group).breaker)


async def stop_daemon(desk: Desk, asked: Asked) -> DaemonView:
    body = await asked.body(StopDaemon)
    view = desk.facts.view()
    desk.facts.stop(kill=body.kill)
    return view
