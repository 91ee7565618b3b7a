"""What a soak calls growth."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from paddock.bench.pen import PenFailed
from paddock.bench.report import Figure, Report
from paddock.bench.soak import (
    WARM_UP_RUNS,
    Growth,
    check_whole,
    is_sound,
    judged,
    look,
    short_command,
)
from paddock.config.places import Places
from paddock.core.policy import Policy
from paddock.wire.views import DaemonView


def grown(daemon: list[float], descriptors: list[float]) -> Growth:
    growth = Growth()
    for at, (memory, open_ones) in enumerate(zip(daemon, descriptors, strict=True)):
        facts = {"daemon": memory, "keeper": 10.0, "descriptors": open_ones, "database": at / 100}
        growth.add(float(at), facts)
    return growth


def test_warming_up_is_no_growth() -> None:
    growth = grown([20.0] * 10 + [50.0] * 90, [30.0] * 100)
    assert growth.of("daemon") == 0.0


def test_what_keeps_growing_is_found() -> None:
    growth = grown([50.0 + n / 5 for n in range(100)], [30.0 + n % 3 for n in range(100)])
    assert (growth.of("daemon") or 0.0) > 0.2
    assert growth.rise("descriptors") == 0
    said = judged(growth, Counter(succeeded=9, failed=1), 3600.0)
    assert said[0] == "10 runs in 1.00 h: 1 failed"
    # Between the middles of two fifths, and beside it from 50.0 to 69.8.
    assert said[1].startswith(
        "the daemon grew: +21.5% from the second fifth of the time to the last "
        "(+39.6% from the first look to the last); "
    )
    assert said[2].startswith("the keeper did not grow: +0.0% from the second fifth")
    assert said[3] == "descriptors: +0"
    assert said[4] == "the database: +1.0 MiB, 101.4 KiB a run"


def test_too_short_a_soak_says_nothing() -> None:
    short = grown([1.0, 2.0], [1.0, 2.0])
    assert short.of("daemon") is None
    told = "whether the daemon grew cannot be told: 2 looks are too few"
    assert judged(short, Counter(succeeded=1), 1.0)[1] == told
    assert Growth().rise("descriptors") == 0.0


def a_sound_report(**other: tuple[float, ...]) -> Report:
    figures: dict[str, tuple[float, ...]] = {
        **{f"growth of the {name}": (0.0,) for name in ("daemon", "keeper")},
        **{f"looks without the {name}": (0.0,) for name in ("daemon", "keeper")},
        "more descriptors": (0.0,),
        "runs that ended otherwise": (0.0,),
    }
    figures |= {name.replace("_", " "): samples for name, samples in other.items()}
    made = (Figure(name=name, unit="", samples=samples) for name, samples in figures.items())
    return Report(kind="soak", paddock="1", made_at=0.0, machine={}, figures=tuple(made))


def test_sound_is_what_did_not_grow() -> None:
    assert is_sound(a_sound_report(growth_of_the_daemon=(4.9,)))
    assert not is_sound(a_sound_report(growth_of_the_daemon=(5.1,)))
    assert not is_sound(a_sound_report(growth_of_the_keeper=(5.1,)))
    assert not is_sound(a_sound_report(more_descriptors=(1.0,)))
    failed = a_sound_report(runs_that_ended_otherwise=(1.0,))
    assert not is_sound(failed), "a run that failed was no load"


def test_what_was_not_measured_is_not_sound() -> None:
    assert not is_sound(a_sound_report(growth_of_the_keeper=()))
    assert not is_sound(a_sound_report(looks_without_the_keeper=(1.0,)))
    assert not is_sound(Report(kind="soak", paddock="1", made_at=0.0, machine={}))


def test_a_keeper_that_is_away_is_told() -> None:
    growth = Growth()
    for at in range(40):
        there = {} if at in (7, 8) else {"keeper": 10.0}
        growth.add(float(at), {"daemon": 50.0, "descriptors": 30.0, **there})
    said = judged(growth, Counter(succeeded=9), 3600.0)
    assert said[2] == "the keeper was not there at 2 of 40 looks"


class NobodyThere:
    """A paddock whose daemon has no keeper."""

    def __init__(self, state: Path) -> None:
        self.places = Places(state)

    def daemon(self) -> DaemonView:
        return DaemonView(pid=os.getpid(), keeper_pid=None, version="1", socket="", uptime_s=1.0)


def test_without_a_keeper_there_is_no_soak(tmp_path: Path) -> None:
    pen: Any = NobodyThere(tmp_path)
    facts = look(pen)
    assert facts["daemon"] > 1 and "keeper" not in facts
    with pytest.raises(PenFailed, match="its keeper cannot be seen"):
        check_whole(pen, within_s=0.0)


def test_short_agents_fill_the_time_that_is_said_and_write() -> None:
    assert short_command(0.61) == ("sh", "-c", "seq 1000; sleep 0.56")
    assert short_command(0.0) == ("seq", "1000")


def test_warming_up_fills_what_the_daemon_keeps() -> None:
    kept = next(each.default for each in fields(Policy) if each.name == "keep_ended")
    assert kept == WARM_UP_RUNS
