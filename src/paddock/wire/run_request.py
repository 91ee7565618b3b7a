"""What somebody asks to be run, with every option of `run` and `submit`; and what the core sees."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import PurePath
from posixpath import normpath
from typing import TYPE_CHECKING, Final, Literal
from zlib import crc32

import msgspec

if TYPE_CHECKING:
    from paddock.config.kinds import Share
    from paddock.config.policy import RunDefaults
    from paddock.core.run import Complexity, Priority, RunSpec

PriorityWord = Literal["critical", "high", "normal", "low"]
ComplexityWord = Literal["simple", "medium", "complex"]
EachWord = Literal["stream", "chunk"]
CutWord = Literal["bytes", "lines"]
AgainWord = Literal["replay", "seek"]
DriverWord = Literal["auto", "local", "container", "kubernetes", "fake"]


PLAIN: Final = "plain"  # the preset of any program

_INTERPRETER: Final = re.compile(
    r"(ba|da|z|k|fi)?sh|python[0-9.]*|node(js)?|perl|ruby|deno|bun|env", re.ASCII
)
_SECRET: Final = frozenset({"env", "repo"})
_TEXT_FOLLOWS: Final = ("-c", "-e", "-lc", "-ec", "-euc", "--eval")


# Structs: to decode one is a twentieth of what a dataclass takes (9.7 us).
class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a stepped run; a checkpoint follows it (STEP-1)."""

    name: str
    command: tuple[str, ...] = ()
    agent: str | None = None  # with a prompt, instead of a command
    prompt: str | None = None
    arguments: tuple[str, ...] = ()
    program: str | None = None  # as of a run
    stream: bool = False  # what it writes goes to the next step, in chunks, while both run
    each: EachWord = "stream"  # of one that reads a stream: once for all of it, or once a chunk
    cut: CutWord = "bytes"  # where its chunks may end
    resume: AgainWord = "replay"  # of the first: after a kill it says all again, or goes on itself


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Exactly one of `command`, `agent` with `prompt`, and `steps` is set.

    None means that nothing was said: the configuration decides. `math.inf` is no JSON, so what
    has no bound is a word.
    """

    name: str
    command: tuple[str, ...] = ()
    agent: str | None = None
    prompt: str | None = None
    arguments: tuple[str, ...] = ()  # more words for the agent's program
    program: str | None = None  # in place of the agent's own: how a rehearsal stands before it
    steps: tuple[Step, ...] = ()
    resume: tuple[str, ...] = ()  # instead of the command, after an attempt that was cut short
    priority: PriorityWord = "normal"
    memory_bytes: int | None = None
    memory_high_bytes: int | None = None
    memory_high_percent: float | None = None
    cpu: float | Literal["unlimited"] | None = None
    pids: int | None = None
    timeout_s: float | Literal["none"] | None = None
    soft_timeout_s: float | None = None
    complexity: ComplexityWord | None = None
    dir: str | None = None
    # A path or an address, which may hold a password: like the environment, it shows nowhere.
    repo: str | None = None
    branch: str | None = None
    shallow: bool = False
    sparse: tuple[str, ...] = ()  # all that is checked out: directories in the repository
    submodules: bool = False
    any_size: bool = False  # of the repository: the answer to a question that may come
    ready_marker: str | None = None
    role: str | None = None
    model: str | None = None
    group: str | None = None
    needs: tuple[str, ...] = ()
    retries: int = 0
    # Values are secrets: they show in no message, log or story.
    env: dict[str, str] = {}
    stdin: bool = False
    on_end: str | None = None
    driver: DriverWord | None = None
    performance_profile: str | None = None
    strict: bool = False

    def __repr__(self) -> str:
        shown = (name for name in self.__struct_fields__ if name not in _SECRET)
        return f"RunRequest({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def group_in(self, project: str) -> str:
        """Agent × repository × role, as far as they are known: `claude/payments/review`. Without a
        repository the project counts in whose directory it runs: red tests of one must not close
        the door on those of another."""
        if self.group is not None:
            return self.group
        parts = (_agent_word(self), _repository_word(self) or project, self.role)
        return "/".join(part for part in parts if part) or self.name


class HeartbeatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A periodic run of low priority; `run.name` names it."""

    every_s: float
    run: RunRequest


def to_spec(
    request: RunRequest,
    defaults: RunDefaults,
    *,
    ids: Mapping[str, str],
    hard_wall: bool = True,
    project: str = "",
) -> RunSpec:
    """What decisions need of a request. `ids` gives the id of each name, its own included; a need
    that is not in it is an id already. Without a hard wall the driver samples a soft limit.
    `project` is the word of the directory it runs in."""
    make, priorities, complexities = _core()
    limit = limit_bytes(request, defaults)
    # A run that asked for its memory gets it: the configured soft limit is for those that did not.
    soft = limit if request.memory_bytes else min(defaults.soft_limit_bytes, limit)
    said = request.soft_timeout_s
    return make(
        id=ids[request.name],
        name=request.name,
        group=request.group_in(project),
        limit_bytes=limit,
        priority=priorities[request.priority],
        soft_limit_bytes=None if hard_wall else soft,
        complexity=complexities[request.complexity or "medium"],
        hard_timeout_s=math.inf if request.timeout_s == "none" else request.timeout_s,
        soft_timeout_s=defaults.soft_timeout_s if said is None else said,
        needs=tuple(ids.get(need, need) for need in request.needs),
        retries=request.retries,
        agent=agents_of(request),
        steps=tuple(" | ".join(step.name for step in stage) for stage in stages(request.steps)),
    )


def agents_of(request: RunRequest) -> str:
    """The presets that it uses, for people; empty where it is a plain command."""
    steps = (step.agent for step in request.steps)
    return " ".join(dict.fromkeys(name for name in (request.agent, *steps) if name))


def limit_bytes(request: RunRequest, defaults: RunDefaults) -> int:
    """Its wall. Steps that stream to each other share one of their own, unless more is said."""
    if request.memory_bytes is None and any(step.stream for step in request.steps):
        return defaults.stream_limit_bytes  # STEP-2
    return request.memory_bytes or defaults.limit_bytes


def stages(steps: tuple[Step, ...]) -> list[tuple[Step, ...]]:
    """Steps that stream to each other live together, and are one to everybody else."""
    found: list[tuple[Step, ...]] = []
    joined: tuple[Step, ...] = ()
    for step in steps:
        joined = (*joined, step)
        if not step.stream:
            found.append(joined)
            joined = ()
    return found


# Every client imports this module, and `paddock status` must be quick: the configuration and the
# core are 60 ms to import, and only the daemon needs them. Once, since to ask again costs, too.


@cache
def _core() -> tuple[type[RunSpec], dict[str, Priority], dict[str, Complexity]]:
    from paddock.core.run import Complexity, Priority, RunSpec

    words = {one.word: one for one in Priority}
    return RunSpec, words, {str(one): one for one in Complexity}


@cache
def _sizes() -> tuple[type[Share], Callable[[int | Share, int], int]]:
    from paddock.config.kinds import Share
    from paddock.config.policy import high_bytes

    return Share, high_bytes


def memory_high_bytes(request: RunRequest, defaults: RunDefaults) -> int:
    """Where throttling begins for this run; always below its limit."""
    share, high_bytes = _sizes()
    limit = limit_bytes(request, defaults)
    if request.memory_high_percent is not None:
        return share(request.memory_high_percent).of(limit)
    return high_bytes(request.memory_high_bytes or defaults.memory_high, limit)


def _agent_word(request: RunRequest) -> str:
    first = request.steps[0] if request.steps else request
    agent, command = first.agent, request.command or first.command
    if agent == PLAIN and first.arguments:
        command = first.arguments  # any program: what it is says more
    elif agent is not None:
        return agent
    return _program_word(command) if command else ""


def _program_word(command: tuple[str, ...]) -> str:
    """What runs, not what runs it: for `python3 train.py` the script, for `sh -c …` its text.

    Otherwise three failures of one script would close the door on everything that is a script.
    """
    program = command[0]
    if "/" in program:
        program = PurePath(program).name
    if not _INTERPRETER.fullmatch(program):
        return program
    for at, word in enumerate(command[1:], start=1):
        if word in _TEXT_FOLLOWS and at + 1 < len(command):
            return f"{program}-{crc32(command[at + 1].encode(errors='replace')):08x}"
        if not word.startswith("-"):
            return PurePath(word).name or program
    return program


def _repository_word(request: RunRequest) -> str:
    where = request.repo or ""
    if "://" in where:
        from paddock.workspaces.secrets import without_secrets

        where = without_secrets(where).partition("?")[0]
    return PurePath(normpath(where.replace(":", "/"))).name.removesuffix(".git") if where else ""
