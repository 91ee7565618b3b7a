"""What a soak calls growth."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from paddock.bench.report import Figure, Report
from paddock.bench.soak import WARM_UP_RUNS, Growth, is_sound, judged, short_command
from paddock.core.policy import Policy


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
    assert growth.of("daemon") > 0.2
    assert growth.rise("descriptors") == 0
    said = judged(growth, Counter(succeeded=9, failed=1), 3600.0)
    assert said[0] == "10 runs in 1.00 h: 1 failed"
    assert said[1].startswith("the daemon grew: +")
    assert said[2].startswith("the keeper did not grow: +0.0%")
    assert said[3] == "descriptors: +0"
    assert said[4] == "the database: +1.0 MiB, 101.4 KiB a run"


def test_too_short_a_soak_says_nothing() -> None:
    assert grown([1.0, 2.0], [1.0, 2.0]).of("daemon") == 0.0
    assert Growth().rise("descriptors") == 0.0


def test_sound_is_what_did_not_grow() -> None:
    def report(percent: float, descriptors: float, otherwise: float = 0) -> Report:
        figures = (
            Figure(name="growth of the daemon", unit="%", samples=(percent,)),
            Figure(name="more descriptors", unit="", samples=(descriptors,)),
            Figure(name="runs that ended otherwise", unit="", samples=(otherwise,)),
        )
        return Report(kind="soak", paddock="1", made_at=0.0, machine={}, figures=figures)

    assert is_sound(report(4.9, 0))
    assert not is_sound(report(5.1, 0))
    assert not is_sound(report(0, 1))
    assert not is_sound(report(0, 0, otherwise=1)), "a run that failed was no load"


def test_short_agents_fill_the_time_that_is_said() -> None:
    assert short_command(0.61) == ("sleep", "0.56")
    assert short_command(0.0) == ("true",)


def test_warming_up_fills_what_the_daemon_keeps() -> None:
    kept = next(each.default for each in fields(Policy) if each.name == "keep_ended")
    assert kept == WARM_UP_RUNS
