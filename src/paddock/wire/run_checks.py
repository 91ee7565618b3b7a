"""The rules of a run that came over the wire: the same as those of a fleet file.

Whoever sends is not trusted, so the daemon looks again. A value of the environment is never part
of a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from paddock.config.kinds import Kind, Wrong, compact_size
from paddock.config.located import Scalar
from paddock.config.mistakes import Place, printable
from paddock.config.settings import AGENT_SIZE

from .run_fields import (
    EVERY,
    OF_REPO,
    RUN_KINDS,
)
from .run_request import HeartbeatRequest, RunRequest, Step
from .run_words import LONGEST_WORD, MOST_NEEDS, MOST_WORDS, is_directory
from .step_fields import MOST_STEPS, step_problem, stream_problem

_AT: Final = Place("")
_BEYOND: Final = 1 << 62
_NAME: Final = RUN_KINDS["name"]
# Fields whose kind reads one scalar; where a field is named otherwise in a file, its name there.
_SCALARS: Final[tuple[tuple[str, Kind[Any]], ...]] = tuple(
    (field, RUN_KINDS[key])
    for field, key in (
        *((same, same) for same in ("agent", "prompt", "dir", "repo", "branch", "ready_marker")),
        *((same, same) for same in ("role", "model", "group", "on_end", "driver")),
        *((same, same) for same in ("performance_profile", "cpu", "pids", "complexity")),
        ("memory_bytes", "memory"),
        ("memory_high_bytes", "memory"),
        ("timeout_s", "timeout"),
        ("soft_timeout_s", "soft_timeout"),
    )
)
_SCALAR_VALUES: Final = attrgetter(*(field for field, _ in _SCALARS))
_of_repo: Final = attrgetter(*OF_REPO)
_SHORT: Final = 64
_ONE_OF: Final = "allowed: exactly one of command, agent with prompt, and steps"


def is_name(text: str) -> bool:
    """Whether a run may be called so; `check_run` says what is wrong with it."""
    return _problem_of("name", _NAME, text) is None


def check_run(request: RunRequest) -> str | None:
    """What is wrong with it, in one line; None when nothing is."""
    try:
        _NAME.read(_scalar(request.name))
    except Wrong as wrong:
        return f"name: {wrong}"
    problem = next(_problems(request), None)
    return None if problem is None else f"{request.name}: {problem}"


def check_heartbeat(request: HeartbeatRequest) -> str | None:
    problem = check_run(request.run)
    if problem is not None:
        return problem
    run = request.run
    if run.needs or run.retries or run.steps or run.stdin:
        return f"{run.name}: a heartbeat has no needs, retries, steps or stdin"
    try:
        EVERY.read(_scalar(request.every_s))
    except Wrong as wrong:
        return f"{run.name}: every: {wrong}"
    return None


def check_environment(variables: Mapping[str, str]) -> str | None:
    """What a process cannot be given: `=` or a zero byte in a name, a zero byte in a value."""
    if len(variables) > MOST_WORDS:
        return f"environment: found {len(variables):,} variables; allowed: {MOST_WORDS:,} at most"
    # Nearly all are fine, and one look at all of them is ten times as quick as one at each.
    names, values = "".join(variables), "".join(variables.values())
    together = len(names) + len(values)
    if together * 4 <= LONGEST_WORD and "=" not in names and "\0" not in names + values:
        return None if "" not in variables else "environment: found a variable without a name"
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name or len(name) > LONGEST_WORD:
            return f"environment: found the variable {printable(name, 40)!r}; allowed: a name"
        if not fits_process(value):
            return f"environment: found a value for {printable(name, 40)} that no process can get"
    return None


def fits_process(text: str) -> bool:
    """Whether the kernel takes it as one argument or variable."""
    if "\0" in text:
        return False
    # Most are so short that they need not be encoded to know.
    return len(text) * 4 <= LONGEST_WORD or len(text.encode()) <= LONGEST_WORD


def _problems(request: RunRequest) -> Iterator[str]:
    yield from _work(request)
    for number, value in enumerate(_SCALAR_VALUES(request)):
        if value is not None:
            problem = _scalar_problem(number, value)
            if problem is not None:
                yield problem
    if not 0 <= request.retries <= 100:
        found = _scalar(request.retries).text
        yield f"retries: found {found}; {RUN_KINDS['retries'].allowed}"
    if request.needs:
        yield from _needs(request.needs)
    if request.env:
        yield from _variables(request.env)
    yield from _together(request)


def _work(request: RunRequest) -> Iterator[str]:
    kinds = [word for word in ("command", "agent", "steps") if getattr(request, word)]
    if len(kinds) != 1 or (request.prompt is not None) != (kinds == ["agent"]):
        yield f"found {' and '.join(kinds) or 'nothing to run'}; {_ONE_OF}"
    for words in (request.command, request.resume, *(step.command for step in request.steps)):
        yield from _words(words)
    for more in (request.arguments, *(step.arguments for step in request.steps)):
        yield from _words(("agent", *more) if more else ())
    named = [(request.program, request.agent)]
    named += [(step.program, step.agent) for step in request.steps]
    for program, agent in named:
        if program is not None and not _is_program(program, agent):
            yield "program: found no path beside an agent; allowed: an absolute path, with agent"
    if request.arguments and request.agent is None:
        yield "arguments: found no agent beside them; allowed: only together with agent"
    if request.steps:
        yield from _steps(request.steps)
    if request.resume and not request.command:
        yield "resume: found no command beside it; allowed: only together with command"


def _steps(steps: tuple[Step, ...]) -> Iterator[str]:
    names = [step.name for step in steps]
    if len(steps) > MOST_STEPS or len(set(names)) < len(names):
        yield f"steps: allowed: {MOST_STEPS} at most, each with a name of its own"
    for step in steps:
        problem = _problem_of("steps", _NAME, step.name)
        if problem is not None:
            yield problem
        for key in ("agent", "prompt"):
            value = getattr(step, key)
            problem = None if value is None else _problem_of(f"steps: {key}", RUN_KINDS[key], value)
            if problem is not None:
                yield problem
        wrong = step_problem(step)
        if wrong is not None:
            yield f"steps: found {wrong}; allowed: a command, or an agent with a prompt, for each"
    streams = stream_problem(steps)
    if streams is not None:
        yield f"steps: found {streams[0]}; allowed: {streams[1]}"


def _words(words: tuple[str, ...]) -> Iterator[str]:
    if len(words) > MOST_WORDS:
        yield f"command: found {len(words):,} words; allowed: {MOST_WORDS:,} at most"
    if words and not words[0].strip():
        yield "command: found an empty program; allowed: a program and its arguments"
    if not all(map(fits_process, words)):
        yield f"command: found a word that no process can get; allowed: {LONGEST_WORD:,} bytes"


def _needs(needs: tuple[str, ...]) -> Iterator[str]:
    if len(needs) > MOST_NEEDS:
        yield f"needs: found {len(needs):,} names; allowed: {MOST_NEEDS:,} at most"
    for need in needs:
        problem = _problem_of("needs", _NAME, need)
        if problem is not None:
            yield problem


def _variables(env: Mapping[str, str]) -> Iterator[str]:
    problem = check_environment(env)
    if problem is not None:
        yield problem
    for name in env:
        if name.upper().startswith("PADDOCK_"):
            yield f"env: found the variable {printable(name, 40)}; PADDOCK_ is paddock's own"


def _together(request: RunRequest) -> Iterator[str]:
    if request.dir is not None and request.repo is not None:
        yield "found dir and repo; allowed: dir (as it is) or repo (a workspace of its own)"
    if any(_of_repo(request)):
        yield from _about_repo(request)
    high, percent, limit = (
        request.memory_high_bytes,
        request.memory_high_percent,
        request.memory_bytes,
    )
    if high is not None and high >= (limit or AGENT_SIZE.most):
        above = compact_size(limit or AGENT_SIZE.most)
        yield f"memory_high: found {compact_size(high)}; allowed: less than its {above}"
    if percent is not None and not 1 <= percent <= 99:
        yield f"memory_high: found {percent:g}%; allowed: a share from 1% to 99%"
    soft, hard = request.soft_timeout_s, request.timeout_s
    if soft is not None and isinstance(hard, int | float) and soft >= hard:
        yield f"soft_timeout: found {soft:g} s; allowed: less than its timeout of {hard:g} s"


def _about_repo(request: RunRequest) -> Iterator[str]:
    if request.repo is None:
        said = next(name for name in OF_REPO if getattr(request, name))
        yield f"{said}: found no repo beside it; allowed: only together with repo"
    directories = RUN_KINDS["sparse"].allowed
    if len(request.sparse) > MOST_NEEDS or not all(map(is_directory, request.sparse)):
        yield f"sparse: found what cannot name one; allowed: {directories}"


def _scalar_problem(number: int, value: str | float) -> str | None:
    """Most runs say what others have said; what is long is not kept."""
    short = not isinstance(value, str) or len(value) <= _SHORT
    read = _known_problem if short else _known_problem.__wrapped__
    return read(number, type(value).__name__, value)


@lru_cache(1024)
def _known_problem(number: int, _kind: str, value: str | float) -> str | None:
    """The kind is part of the question: 1, 1.0 and True are the same key."""
    return _problem_of(*_SCALARS[number], value)


def _problem_of(field: str, kind: Kind[Any], value: str | float) -> str | None:
    try:
        kind.read(_scalar(value))
    except Wrong as wrong:
        name = field.removesuffix("_bytes").removesuffix("_s")
        return f"{name}: {wrong}"
    return None


def _scalar(value: str | float) -> Scalar:
    """As it would stand in a file."""
    if isinstance(value, str):
        return Scalar(_AT, value, value)
    if not abs(value) < _BEYOND:
        return Scalar(_AT, "a number beyond all bounds", "a number beyond all bounds")
    whole = int(value)
    return Scalar(_AT, whole, str(whole)) if whole == value else Scalar(_AT, value, f"{value:f}")


def _is_program(path: str, agent: str | None) -> bool:
    return agent is not None and path.startswith("/") and "\0" not in path and len(path) < 4096
