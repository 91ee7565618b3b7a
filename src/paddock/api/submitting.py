"""Taking submissions: whole or not at all, and the same key again changes nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from msgspec import structs

from paddock.config.mistakes import ConfigError
from paddock.core.actions import Refuse
from paddock.core.events import Event, HeartbeatDeclared, Submitted
from paddock.core.run import Ended, Outcome, RunSpec
from paddock.core.submission import cannot_ever_fit
from paddock.ports import Recipe
from paddock.supervisor.thoughts import Answer
from paddock.supervisor.wanted import FLEETING_LABEL
from paddock.wire.fleet_file import MOST_HEARTBEATS, MOST_RUNS
from paddock.wire.run_checks import check_environment, check_heartbeat, check_run
from paddock.wire.run_request import HeartbeatRequest, RunRequest, to_spec
from paddock.wire.views import Submission, Submit

from . import recipes as r
from . import repositories
from .alone import alone
from .asking import Asked
from .bodies import MIB
from .defaults import Given
from .desk import PATIENCE_S, Desk
from .ids import Found, find_ids, id_of
from .in_clusters import in_cluster
from .installed import check_presets
from .preflight import too_many
from .presets import Filled, filled, uses_preset
from .problems import bad_request, raise_any, refused, trouble
from .receipts import AT_ONCE, receipt
from .repositories import Seen
from .views_of import SENTENCES

LARGEST: Final = 64 * MIB
T = TypeVar("T")


@dataclass(slots=True)
class Plan:
    """A submission, ready to be taken."""

    specs: list[RunSpec] = field(default_factory=list)
    recipes: dict[str, Recipe] = field(default_factory=dict)
    beats: list[tuple[RunSpec, float, Recipe]] = field(default_factory=list)
    known: dict[str, Outcome] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Looked:
    """What the files and the store say about a submission."""

    ids: list[Found]
    given: Mapping[str | None, Given]  # by the profile a run asked for
    stdin: Path | None
    seen: Seen = field(default_factory=Seen)

    def factor(self, request: RunRequest) -> float:
        return self.seen.factors.get(request.repo or "", 1.0)


async def submit(desk: Desk, asked: Asked) -> Submission:
    body = await asked.body(Submit, most=LARGEST)
    async with alone(desk, body.key):
        return await _submit(desk, body)


async def _submit(desk: Desk, body: Submit) -> Submission:
    await check(body)
    looked = look_here(desk, body)
    if looked is None:
        looked = await _beside(desk, _every(body), lambda: _look(desk, body))
    if any(run is not None for _, run in looked.ids):
        return await _again(desk, body, looked)
    remembered: asyncio.Future[Sequence[Refuse]] = asyncio.get_running_loop().create_future()
    plan = await planned(desk, body, looked)
    put(desk, plan, answer=remembered)
    if not plan.beats and len(body.runs) < SENTENCES:
        # While the disk is at work: the answer is what this very step has made of them.
        answer = await answer_now(desk, body, looked, plan)
        raise_any(await remembered)
        return answer
    if plan.specs:
        raise_any(await remembered)
    await _declare(desk, plan)
    return await answer_now(desk, body, looked, plan)


def put(desk: Desk, plan: Plan, *, answer: Answer) -> None:
    """It is thought when this returns, and remembered when the answer is given."""
    if desk.supervisor.trouble is not None:
        raise trouble(desk.supervisor.trouble)
    desk.ids.add(plan.recipes)
    if plan.specs:
        specs, known = tuple(plan.specs), plan.known
        desk.supervisor.request(
            lambda now: Submitted(now, specs, known), recipes=plan.recipes, answer=answer
        )


async def answer_now(desk: Desk, body: Submit, looked: Looked, plan: Plan) -> Submission:
    known = desk.supervisor.fleet.runs
    found = [(run, known.get(run)) for run, _ in looked.ids]
    return await receipt(desk, body, found, plan.notes)


# -- looking ------------------------------------------------------------------------------------


async def check(body: Submit) -> None:
    if not body.runs and not body.heartbeats:
        raise bad_request("runs: found nothing to run")
    if len(body.runs) > MOST_RUNS or len(body.heartbeats) > MOST_HEARTBEATS:
        raise bad_request(f"runs: allowed: {MOST_RUNS:,} runs and {MOST_HEARTBEATS} heartbeats")
    if body.umask is not None and not 0 <= body.umask <= 0o777:
        raise bad_request("umask: allowed: 0 to 511 (0777)")
    _raise(check_environment(body.environment))
    if body.fleet is not None:
        _raise(check_run(RunRequest(name=body.fleet, command=("true",))))
    for number, request in enumerate(body.runs, start=1):
        _raise(check_run(request))
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
    for heartbeat in body.heartbeats:
        _raise(check_heartbeat(heartbeat))
    if sum(request.stdin for request in body.runs) != (body.stdin is not None):
        raise bad_request("stdin: what was uploaded is for exactly one run, the one that says so")


def _raise(problem: str | None) -> None:
    if problem is not None:
        raise bad_request(problem)


def look_here(desk: Desk, body: Submit) -> Looked | None:
    """Without a visit to another thread, where nothing can keep us waiting."""
    every = _every(body)
    if body.stdin is not None or any(place not in desk.trusted for place in _places(body, every)):
        return None
    if _has_repository(every):
        return None  # git is asked about it
    if any(map(uses_preset, every)):
        return None  # presets are a file, and patterns to compile
    ids = [id_of(body.key, index) for index in range(len(body.runs))]
    if not desk.ids.surely_new(ids) or len(set(ids)) < len(ids):
        return None
    if not desk.programs.are_there(body):
        return None
    for directory in _places(body, every):
        desk.trusted.check(directory)
    return Looked([(run, None) for run in ids], _given(desk, body, every), None)


async def _beside(desk: Desk, every: Sequence[RunRequest], work: Callable[[], T]) -> T:
    """By hands that may have to wait for other machines, where one is asked."""
    if repositories.has_address(every):
        return await desk.ask_afar(work, within_s=repositories.PATIENCE_S)
    within_s = repositories.PATIENCE_S if _has_repository(every) else PATIENCE_S
    return await desk.aside(work, within_s=within_s)


def _every(body: Submit) -> list[RunRequest]:
    return [*body.runs, *(heartbeat.run for heartbeat in body.heartbeats)]


def _has_repository(every: Sequence[RunRequest]) -> bool:
    return any(one.repo is not None for one in every)


def _places(body: Submit, every: Sequence[RunRequest]) -> set[str]:
    return {body.directory, *(one.dir for one in every if one.dir is not None)}


def _look(desk: Desk, body: Submit) -> Looked:
    """In a thread of its own: files may be slow, and the store may be at work."""
    ids = find_ids(desk, body.key, [request.name for request in body.runs])
    if any(run is not None for _, run in ids):
        return Looked(ids, {}, None)
    every = _every(body)
    r.check_directory(body.directory)
    for directory, name in {one.dir: one.name for one in every if one.dir is not None}.items():
        r.check_directory(directory, of=name)
    given, seen = _ground(desk, body, every)
    desk.programs.look_for(body)
    for directory in _places(body, every):
        desk.trusted.look_at(directory)  # last: whoever trusts it relies on what was seen
    return Looked(ids, given, r.stdin_of(body.stdin, desk.facts.places), seen)


def _ground(
    desk: Desk, body: Submit, every: Sequence[RunRequest]
) -> tuple[dict[str | None, Given], Seen]:
    given = _given(desk, body, every)
    desk.projects.look_at(_places(body, every))
    if any(map(uses_preset, every)):
        check_presets(desk.supervisor, body, every, given)
    known = None if desk.facts.workspaces is None else desk.repositories
    return given, repositories.look(every, given, known)


def _given(desk: Desk, body: Submit, every: Sequence[RunRequest]) -> dict[str | None, Given]:
    policy, where = desk.supervisor.fleet.policy, body.directory
    try:
        return {
            name: desk.defaults.at(
                where, policy, profile=name or body.profile, said=body.environment
            )
            for name in {one.performance_profile for one in every}
        }
    except ConfigError as error:
        raise bad_request(_first_of(error)) from None


def _first_of(error: ConfigError) -> str:
    """The other mistakes are counted: an answer is one line."""
    more = len(error.mistakes) - 1 + error.left_out
    rest = f" (and {more} more; `paddock config check` lists them)" if more > 0 else ""
    return f"{error.mistakes[0]}{rest}"


# -- planning -----------------------------------------------------------------------------------


async def planned(desk: Desk, body: Submit, looked: Looked) -> Plan:
    if desk.supervisor.trouble is not None:
        raise trouble(desk.supervisor.trouble)
    plan, of = Plan(), r.sent(body, looked.stdin)
    ids = {request.name: run for request, (run, _) in zip(body.runs, looked.ids, strict=True)}
    outside = await _needs(desk, body, ids, plan)
    for number, (request, (run, _)) in enumerate(zip(body.runs, looked.ids, strict=True), start=1):
        given = looked.given[request.performance_profile]
        made = _filled(desk, request, given, of=of, plan=plan)
        # Names need not be unique, so each run brings its own id along.
        own = {need: outside.get(need) or ids[need] for need in request.needs}
        ids_of = own | {request.name: run}
        spec, driver = _spec(desk, made.request, looked, ids=ids_of, of=of)
        plan.specs.append(spec)
        recipe = r.recipe_of(made.request, of, given.run, driver=driver, agents=made.agents)
        plan.recipes[run] = recipe
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
    for heartbeat in body.heartbeats:
        _plan_beat(desk, heartbeat, looked, of, plan)
    _preflight(desk, body, looked, plan)
    return plan


def _filled(desk: Desk, request: RunRequest, given: Given, *, of: r.Sent, plan: Plan) -> Filled:
    """With the command that its preset makes; what is worth saying about that is noted once."""
    largest = desk.supervisor.fleet.policy.largest_bytes
    made = filled(request, given.presets, of.environment, largest_bytes=largest)
    plan.notes += [note for note in made.notes if note not in plan.notes]
    return made


def _spec(
    desk: Desk, request: RunRequest, looked: Looked, *, ids: Mapping[str, str], of: r.Sent
) -> tuple[RunSpec, str]:
    supervisor, given = desk.supervisor, looked.given[request.performance_profile]
    factor = looked.factor(request)
    policy, drivers = supervisor.fleet.policy.timeouts, supervisor.drivers
    default, absent = supervisor.default_driver, supervisor.absent
    driver = r.driver_of(request, given.run.driver, default, drivers, absent)
    known = drivers[driver].guarantees
    if known.away:
        tiers = getattr(drivers[driver], "tiers", ())
        request = in_cluster(request, tiers, run=ids[request.name])
    project = desk.projects.name(request.dir or str(of.directory))
    spec = to_spec(request, given.run, ids=ids, hard_wall=known.hard_memory_wall, project=project)
    if known.away:
        spec = structs.replace(spec, away=True)
    if spec.hard_timeout_s is None and given.simple_s != policy.simple_s:
        # The core guesses by the daemon's settings; these are the project's or the profile's.
        spec = structs.replace(spec, simple_s=given.simple_s)
    if driver == "local" and desk.programs.is_missing(request, of):
        spec = structs.replace(spec, lacks_program=True)
    if factor != 1.0:
        spec = structs.replace(spec, repository_factor=factor)
    if given.bounds is not None:
        spec = structs.replace(spec, bounds=given.bounds)
    return spec, driver


def _plan_beat(
    desk: Desk, heartbeat: HeartbeatRequest, looked: Looked, of: r.Sent, plan: Plan
) -> None:
    given = looked.given[heartbeat.run.performance_profile]
    made = _filled(desk, structs.replace(heartbeat.run, priority="low"), given, of=of, plan=plan)
    request = made.request
    ids = {request.name: request.name}
    spec, driver = _spec(desk, request, looked, ids=ids, of=of)
    fleet = desk.supervisor.fleet
    problem = cannot_ever_fit(spec.limit_bytes, fleet.policy, away=spec.away)
    if problem is not None:
        raise refused(f"{spec.name}: {problem}")
    recipe = r.recipe_of(request, of, given.run, driver=driver, agents=made.agents)
    labels = {**recipe.labels, FLEETING_LABEL: "1"} if request.repo else recipe.labels
    if looked.ids:
        labels = {**labels, r.WHILE_LABEL: " ".join(run for run, _ in looked.ids)}
    recipe = replace(recipe, labels=labels)
    if spec.id in fleet.heartbeats:
        plan.notes.append(f"there was a heartbeat {spec.name} already; this one takes its place")
    plan.beats.append((spec, heartbeat.every_s, recipe))


async def _needs(desk: Desk, body: Submit, own: Mapping[str, str], plan: Plan) -> dict[str, str]:
    """The ids of needs that are no names of this submission."""
    found: dict[str, str] = {}
    needed = dict.fromkeys(need for request in body.runs for need in request.needs)
    if not needed:
        return found
    twice = Counter(request.name for request in body.runs)
    for need in needed:
        if twice[need] > 1:
            raise bad_request(
                f"needs: {twice[need]} runs are called {need}; give each its own name"
            )
        if need in own:
            continue
        run = await desk.find(need)
        found[need] = run.id
        if isinstance(run.state, Ended):
            plan.known[run.id] = run.state.outcome
    return found


def _preflight(desk: Desk, body: Submit, looked: Looked, plan: Plan) -> None:
    """What is taken differently than asked is said; a strict run is refused instead."""
    plan.notes += looked.seen.notes
    said = (sentence for given in looked.given.values() for sentence in given.unheeded)
    plan.notes += dict.fromkeys(said)
    silent = [request for request in body.runs if request.memory_bytes is None]
    for request in silent:
        reduced = looked.given[request.performance_profile].reduced
        if reduced is not None and request.strict:
            raise refused(f"{request.name}: {reduced}, and it is strict: say --memory")
        if reduced is not None and reduced not in plan.notes:
            plan.notes.append(reduced)
    unheld = r.not_held(body.runs, desk.supervisor.drivers[desk.supervisor.default_driver])
    if unheld is not None:
        plan.notes.append(unheld)
    here = [spec for spec in plan.specs if not spec.away]
    problem = too_many(here, desk.supervisor.fleet.policy)
    if problem is None:
        return
    sentence, level = problem
    strict = (run for (run, _), one in zip(looked.ids, body.runs, strict=True) if one.strict)
    if any(run in level for run in strict):
        raise refused(f"{sentence}, and --strict refuses that")
    plan.notes.append(sentence)


# -- taking and answering -----------------------------------------------------------------------


async def _declare(desk: Desk, plan: Plan) -> None:
    for spec, every_s, recipe in plan.beats:
        recipes = {spec.id: recipe}
        declared = _declared(spec, every_s)
        raise_any(await desk.supervisor.ask(declared, heartbeat_recipes=recipes))
        desk.facts.beat_while(spec.id, recipe)


def _declared(spec: RunSpec, every_s: float) -> Callable[[float], Event]:
    return lambda now: HeartbeatDeclared(now, spec, every_s)


async def _again(desk: Desk, body: Submit, looked: Looked) -> Submission:
    """What became of it; heartbeats that an interrupted first time did not declare follow."""
    under_way = any(run is not None and not isinstance(run.state, Ended) for _, run in looked.ids)
    plan = Plan()
    missing = [
        one for one in body.heartbeats if one.run.name not in desk.supervisor.fleet.heartbeats
    ]
    if missing and under_way:
        every = [one.run for one in missing]
        given, seen = await _beside(desk, every, lambda: _ground(desk, body, every))
        whole = Looked(looked.ids, given, None, seen)
        for heartbeat in missing:
            _plan_beat(desk, heartbeat, whole, r.sent(body, None), plan)
        await _declare(desk, plan)
    return await receipt(desk, body, looked.ids, plan.notes)
