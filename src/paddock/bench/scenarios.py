"""`bench scenario N`: the five loads of DIAG-7, each in a paddock of its own, with a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from paddock import __version__
from paddock.core.units import format_size
from paddock.simulate.trace import Trace
from paddock.wire.run_request import PriorityWord, RunRequest
from paddock.wire.views import RunView

from . import machine, repositories
from .ceiling import Ceiling
from .cells import CONFIG, USUAL, Limits, Outcome, until_ended
from .pen import Pen, a_pen
from .report import Figure, Report
from .soak import Growth, grown, look
from .telling import Tell, how_far, silent
from .traces import command, lines
from .watching import MIB, Watcher

GIB: Final = 1 << 30
MOST_DAEMON_MIB: Final = 250.0  # with verbose agents (LOG)
_COMMIT: Final = (
    "date >> notes.txt && git add -A && "
    "git -c user.name=bench -c user.email=bench@localhost commit -qm work"
)
_PRIORITIES: Final[tuple[PriorityWord, ...]] = (
    "low",
    "low",
    "normal",
    "normal",
    "high",
    "critical",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    size_bytes: int | None = None  # of the repository, or of what is written; None: as DIAG-7 says
    minutes: float = 31.0  # of long-running agents
    every_s: float = 1.0
    ceiling: Ceiling | None = None
    limits: Limits = USUAL
    now: Tell = silent


@dataclass(slots=True)
class Done:
    """What came of one: its runs, paddock itself over time, and sentences of its own."""

    outcome: Outcome
    growth: Growth
    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # what should not have been


@dataclass(frozen=True, slots=True)
class Scenario:
    told: str
    play: Callable[[Asked, Tell], Done]


def scenario(number: int, asked: Asked, tell: Tell) -> tuple[Report, bool]:
    """And whether all went as it should."""
    one = SCENARIOS[number]
    tell(one.told)
    done = one.play(asked, tell)
    outcome = done.outcome
    unfinished = [view for view in outcome.views if view.outcome != "succeeded"]
    wrong = [*(f"{view.name}: {view.outcome}: {view.because}" for view in unfinished), *done.wrong]
    daemon = [value for _, value in done.growth.series.get("daemon", [])]
    many = len(outcome.views)
    said = [
        f"{outcome.completed:.0%} of {many} agents completed in {outcome.wall_s:.1f} s",
        f"daemon and keeper: {_most(done.growth)} at most",
        *done.said,
        *(f"wrong: {each}" for each in wrong),
    ]
    report = Report(
        kind=f"scenario-{number}",
        paddock=__version__,
        made_at=time.time(),
        machine=machine.describe(),
        settings={
            "scenario": one.told,
            "size": format_size(asked.size_bytes) if asked.size_bytes else None,
        },
        figures=(
            Figure(name="wall time", unit="s", samples=(outcome.wall_s,), better="lower"),
            Figure(name="peak of an agent", unit="MiB", samples=outcome.peaks_mib, better="lower"),
            Figure(name="daemon", unit="MiB", samples=tuple(daemon), better="lower"),
        ),
        curves=outcome.curves(),
        verdicts=tuple(said),
    )
    return report, not wrong


def _most(growth: Growth) -> str:
    both = zip(growth.series.get("daemon", []), growth.series.get("keeper", []), strict=False)
    most = max((daemon[1] + keeper[1] for daemon, keeper in both), default=0.0)
    return format_size(round(most * MIB))


# -- the five -----------------------------------------------------------------------------------


def _large_repository(asked: Asked, tell: Tell) -> Done:
    size = asked.size_bytes or GIB

    def requests(pen: Pen) -> list[RunRequest]:
        tell(f"a repository of {format_size(size)} is made")
        repo = repositories.large(pen.home / "repo", size, checkout=False)
        return [_on(repo, f"agent-{n + 1}") for n in range(5)]

    return _played(asked, requests, agents=5)


def _verbose(asked: Asked, _tell: Tell) -> Done:
    size = asked.size_bytes or 200 << 20
    each = size // 10
    talk = f"head -c {each} /dev/zero | tr '\\0' x | fold -w 120"
    requests = [_plain(f"agent-{n + 1}", ("sh", "-c", talk)) for n in range(10)]
    done = _played(asked, lambda _: requests, agents=10)
    most = max((value for _, value in done.growth.series.get("daemon", [])), default=0.0)
    done.said.append(f"{format_size(size)} were written by ten agents")
    if most > MOST_DAEMON_MIB:
        done.wrong.append(f"the daemon had {most:.0f} MiB, {MOST_DAEMON_MIB:.0f} are allowed")
    return done


def _long_running(asked: Asked, _tell: Tell) -> Done:
    seconds = asked.minutes * 60
    times = max(1, round(seconds / 60))
    # A base and a burst a minute, as agents have it.
    minute = ((0.95, 200 << 20, 0.05), (0.05, 500 << 20, 0.5))
    phases = [(share * seconds / times, level, cores) for share, level, cores in minute]
    trace = Trace(phases * times)

    def requests(pen: Pen) -> list[RunRequest]:
        return [_player(pen, f"agent-{n + 1}", trace) for n in range(2)]

    done = _played(asked, requests, agents=2)
    for name in ("daemon", "keeper"):
        done.said.append(grown(done.growth, name))
    return done


def _pressure(asked: Asked, _tell: Tell) -> Done:
    """Twelve agents whose walls are twice what there is; they need most of it now and then."""
    room = asked.ceiling.limit_bytes if asked.ceiling else asked.size_bytes or 4 * GIB
    wall = room // 6
    trace = Trace([(1.5, wall // 4, 0.1), (1.0, wall * 8 // 10, 0.5), (1.5, wall // 4, 0.1)])

    def requests(pen: Pen) -> list[RunRequest]:
        return [
            _player(pen, f"{word}-{n + 1}", trace, memory_bytes=wall, priority=word)
            for n, word in enumerate(_PRIORITIES * 2)
        ]

    done = _played(asked, requests, agents=12)
    again = sum(view.attempt - 1 for view in done.outcome.views)
    done.said.append(f"{again} attempts gave way or were tried again")
    kills = asked.ceiling.counters().oom_kills if asked.ceiling else done.outcome.ooms
    if kills:
        done.wrong.append(f"the kernel killed {kills} processes for want of memory")
    return done


def _monorepo(asked: Asked, tell: Tell) -> Done:
    size = asked.size_bytes or 2 * GIB
    taken: list[int] = []

    def requests(pen: Pen) -> list[RunRequest]:
        tell(f"a monorepo of {format_size(size)} is made")
        repo = repositories.monorepo(pen.home / "repo", size, checkout=False)
        return [_on(repo, f"agent-{n}", sparse=(f"projects/project{n:02}",)) for n in range(5)]

    def at_end(pen: Pen) -> None:
        taken.append(_taken_bytes(pen.places.state / "workspaces"))

    done = _played(asked, requests, agents=5, at_end=at_end)
    share = taken[0] / size
    done.said.append(
        f"five sparse workspaces take {format_size(taken[0])}, {share:.0%} of the tree"
    )
    if share > 0.5:
        done.wrong.append("workspaces are not sparse")
    return done


SCENARIOS: Final[Mapping[int, Scenario]] = {
    1: Scenario("five agents on a repository of 1 GB", _large_repository),
    2: Scenario("ten agents that write a lot", _verbose),
    3: Scenario("agents that run for more than half an hour", _long_running),
    4: Scenario("memory pressure: walls that are twice what there is", _pressure),
    5: Scenario("five agents on a monorepo, each with one of its projects", _monorepo),
}


# -- parts --------------------------------------------------------------------------------------


def _played(
    asked: Asked,
    requests: Callable[[Pen], Sequence[RunRequest]],
    *,
    agents: int,
    at_end: Callable[[Pen], None] = lambda _: None,
) -> Done:
    growth = Growth()
    with a_pen(CONFIG.format(agents=agents), ceiling=asked.ceiling) as pen:
        wanted = requests(pen)
        with Watcher(pen, every_s=asked.every_s, ceiling=asked.ceiling) as watched:
            began = time.monotonic()
            ids = [taken.id for taken in pen.submit(wanted).runs]

            def note(views: Sequence[RunView]) -> None:
                growth.add(time.monotonic() - began, look(pen))
                asked.now(how_far(views))

            views = until_ended(pen, ids, watched, asked.limits, each=note)
            wall_s = time.monotonic() - began
            outcome = Outcome(wall_s, views, watched, watched.cpu_wait.percent())
        at_end(pen)
    return Done(outcome, growth)


def _plain(name: str, words: tuple[str, ...]) -> RunRequest:
    return RunRequest(name=name, command=words, memory_bytes=256 << 20, timeout_s="none")


def _on(repo: Path, name: str, *, sparse: tuple[str, ...] = ()) -> RunRequest:
    return RunRequest(
        name=name,
        command=("sh", "-c", _COMMIT),
        memory_bytes=256 << 20,
        timeout_s="none",
        repo=str(repo),
        sparse=sparse,
        any_size=True,
    )


def _player(
    pen: Pen,
    name: str,
    trace: Trace,
    *,
    memory_bytes: int = GIB,
    priority: PriorityWord = "normal",
) -> RunRequest:
    path = pen.home / f"{name}.trace"
    path.write_text(lines(trace), encoding="ascii")
    return RunRequest(
        name=name,
        command=command(str(path)),
        memory_bytes=memory_bytes,
        priority=priority,
        timeout_s="none",
    )


def _taken_bytes(directory: Path) -> int:
    """What the files of runs take: not git's own, nor spare workspaces, whose names have a dot."""
    found = (path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
    mine = (path for path in found if not _is_hidden(path.relative_to(directory)))
    return sum(path.stat().st_size for path in mine)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
