"""Core dataclasses to rows and back, exactly.

Fields that this version does not know are passed over; a field that is missing or of the wrong
kind is an error, never a guess.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, TypeVar, get_type_hints

import msgspec
from msgspec import structs

from paddock.core.breaker import Breaker, Closed, HalfOpen, Open
from paddock.core.group import GroupFacts
from paddock.core.heartbeat import Heartbeat
from paddock.core.run import (
    Ended,
    Queued,
    Run,
    Running,
    RunSpec,
    Starting,
    State,
    StepDone,
    Stopping,
)
from paddock.core.sizing import SizeFacts
from paddock.ports import Recipe

from .errors import Unfit

T = TypeVar("T")
Row = tuple[Any, ...]

_STATES: Final[Mapping[str, type[State]]] = {
    kind.__name__.lower(): kind for kind in (Queued, Starting, Running, Stopping, Ended)
}
_BREAKERS: Final[Mapping[str, type[Breaker]]] = {
    "closed": Closed,
    "open": Open,
    "half_open": HalfOpen,
}
_BREAKER_WORDS: Final = {kind: word for word, kind in _BREAKERS.items()}
_FLOAT: Final = "$float"
_PLAIN: Final = (int, str, type(None))
_SAFE: Final = (int, str, bool, int | None, str | None, tuple[str, ...], frozenset[str])
_doubtful: Final[dict[type, tuple[str, ...] | None]] = {}
_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_DECODERS: Final[dict[type, msgspec.json.Decoder[Any]]] = {}


class Broken(Exception):
    """A row that does not hold what it should."""


# -- JSON ---------------------------------------------------------------------------------------


def pack(value: object) -> str:
    # Sets have no order of their own; sorted, the same facts give the same bytes.
    with suppress(UnicodeEncodeError):
        text = _encode(value).decode()
        # A null may be infinity: where that is not plain to see, the long way round tells.
        if "null" not in text or _surely_finite(value):
            return text
    plain = _plain(msgspec.to_builtins(value, order="deterministic"))
    return msgspec.json.encode(plain).decode()


def unpack(text: str, kind: type[T]) -> T:
    try:
        if f'"{_FLOAT}"' not in text:
            if kind not in _DECODERS:
                _DECODERS[kind] = msgspec.json.Decoder(kind)
            decoded: T = _DECODERS[kind].decode(text)
            return decoded
        return msgspec.convert(_exotic(msgspec.json.decode(text)), kind)
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
        raise Broken(f"{kind.__name__}: {error}") from None


def _surely_finite(value: object) -> bool:
    """Whether a quick look finds plain facts only."""
    kind = type(value)
    if kind not in _doubtful:
        _doubtful[kind] = _doubtful_fields(kind)
    names = _doubtful[kind]
    return names is not None and all(_is_plain(getattr(value, name)) for name in names)


def _is_plain(fact: object) -> bool:
    if isinstance(fact, float):
        return math.isfinite(fact)
    return isinstance(fact, _PLAIN) or fact == () or _surely_finite(fact)


def _doubtful_fields(kind: type) -> tuple[str, ...] | None:
    """Those that may hold an infinity; None for a kind that has no fields to look at."""
    if not (is_dataclass(kind) or issubclass(kind, msgspec.Struct)):
        return None
    return tuple(name for name, fact in get_type_hints(kind).items() if fact not in _SAFE)


def _plain(value: Any) -> Any:
    """JSON knows neither infinity (a timeout of `none`) nor lone surrogates (odd file names)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else {_FLOAT: repr(value)}
    if isinstance(value, str):
        return legible(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _exotic(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_FLOAT}:
            return float(value[_FLOAT])
        return {key: _exotic(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_exotic(item) for item in value]
    return value


def legible(text: str) -> str:
    """Text that UTF-8 can hold; what it cannot is shown as an escape."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


# -- runs ---------------------------------------------------------------------------------------


def state_word(state: State) -> str:
    return type(state).__name__.lower()


def run_row(run: Run) -> Row:
    """In the order of `queries.PUT_RUN`."""
    spec = run.spec
    names = (legible(spec.id), legible(spec.name), legible(spec.group))
    state, end = _standing(run)
    return (pack(spec), *state, *names, run.sequence, *end)


def move_row(run: Run) -> Row:
    """In the order of `queries.MOVE_RUN`."""
    state, end = _standing(run)
    return (*state, *end, legible(run.spec.id))


def step_done_row(done: StepDone) -> Row:
    """In the order of `queries.PUT_STEP_DONE`."""
    facts = (done.step, legible(done.name), done.at, done.attempt, done.exit_code)
    return (*facts, done.output_digest, done.commit, legible(done.run))


def _standing(run: Run) -> tuple[Row, Row]:
    state = run.state
    ended = state if isinstance(state, Ended) else None
    facts = (state_word(state), pack(state), pack(_Counts(*_counts_in(run))))
    return facts, (ended and ended.since_at, ended and str(ended.outcome))


def run_of(row: Row) -> Run:
    spec, word, facts, counts = row
    if word not in _STATES:
        raise Broken(f"no state is called {word!r}")
    others = msgspec.structs.asdict(unpack(counts, _Counts))
    return Run(spec=unpack(spec, RunSpec), state=unpack(facts, _STATES[word]), **others)


def _counts() -> type[msgspec.Struct]:
    """All fields of a run but its spec and state: one that is added later needs no new column."""
    found = [each for each in structs.fields(Run) if each.name not in ("spec", "state")]
    return msgspec.defstruct(
        "Counts",
        [
            (each.name, each.type) if each.required else (each.name, each.type, each.default)
            for each in found
        ],
    )


_Counts: Final = _counts()
_counts_in: Final = attrgetter(*_Counts.__struct_fields__)


# -- groups and heartbeats ----------------------------------------------------------------------


def group_row(name: str, facts: GroupFacts, *, at: float) -> Row:
    word = _BREAKER_WORDS[type(facts.breaker)]
    return (
        legible(name), at, word, pack(facts.breaker), pack(facts.size), pack(facts.durations_s)
    )  # fmt: skip


def group_of(row: Row) -> tuple[str, GroupFacts]:
    name, word, breaker, size, durations_s = row
    if word not in _BREAKERS:
        raise Broken(f"no breaker is called {word!r}")
    return name, GroupFacts(
        breaker=unpack(breaker, _BREAKERS[word]),
        size=unpack(size, SizeFacts),
        durations_s=unpack(durations_s, tuple[float, ...]),
    )


def heartbeat_row(heartbeat: Heartbeat) -> Row:
    return legible(heartbeat.name), pack(heartbeat)


def heartbeat_of(text: str) -> Heartbeat:
    return unpack(text, Heartbeat)


# -- recipes ------------------------------------------------------------------------------------
# Arguments, paths and variables are bytes to the kernel, and no text may be lost on the way: each
# ends with a zero byte, the one that none of them can hold.


def recipe_row(recipe: Recipe) -> Row:
    stdin = None if recipe.stdin is None else _path(recipe.stdin)
    labels = {legible(key): legible(value) for key, value in sorted(recipe.labels.items())}
    return (
        _joined(recipe.command, what="an argument of the command"),
        _path(recipe.directory),
        stdin,
        msgspec.json.encode(labels).decode(),
    )


def check_recipe(recipe: Recipe) -> None:
    """Unfit where no store can keep it."""
    recipe_row(recipe)
    environment_row(recipe.environment or {})


def environment_row(environment: Mapping[str, str]) -> tuple[bytes, bytes]:
    if any("=" in name or not name for name in environment):
        raise Unfit("a variable of the environment has an empty name or one with a '='")
    pairs = (f"{name}={environment[name]}" for name in sorted(environment))
    variables = _joined(pairs, what="a variable of the environment")
    return hashlib.blake2b(variables, digest_size=16).digest(), variables


def recipe_of(row: Row, environment: Mapping[str, str] | None) -> Recipe:
    command, directory, stdin, labels = row
    return Recipe(
        command=tuple(_split(command)),
        directory=Path(os.fsdecode(directory)),
        environment=environment,
        stdin=None if stdin is None else Path(os.fsdecode(stdin)),
        labels=_labels(labels),
    )


def _labels(text: str) -> dict[str, str]:
    """Not through `unpack`: here the user chooses the keys."""
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except (msgspec.DecodeError, RecursionError) as error:
        raise Broken(f"labels: {error}") from None


def environment_of(variables: bytes) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in _split(variables))
    return {name: value for name, _, value in pairs}


def _path(path: Path) -> bytes:
    return _joined([str(path)], what="a path")[:-1]


def _joined(texts: Iterable[str], *, what: str) -> bytes:
    parts = list(texts)
    text = "".join([f"{part}\0" for part in parts])
    if text.count("\0") != len(parts):
        raise Unfit(f"{what} holds a zero byte")
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        raise Unfit(f"{what} is no text that a program can be given") from None


def _split(data: bytes) -> list[str]:
    return os.fsdecode(data).split("\0")[:-1]
