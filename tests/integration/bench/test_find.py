"""`bench find` on agents whose number is known by construction, with real memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from paddock.bench import report
from paddock.bench.ceiling import a_ceiling
from paddock.bench.find import Asked, find, said
from paddock.bench.traces import command, lines
from paddock.simulate.trace import Trace
from paddock.wire.run_request import RunRequest
from tests.kit.house import House, a_house

MIB = 1 << 20
FLAT = Trace([(10.0, 100 * MIB, 0.0)])
MOSTLY_HIGH = Trace([(1.0, 20 * MIB, 0.0), (9.0, 90 * MIB, 0.0)])
RAMP = Trace([(1.0, level * MIB, 0.0) for level in range(20, 130, 10)])


@pytest.mark.parametrize(
    ("trace", "wall_mib", "how", "truth"),
    [(FLAT, 450, "apart", 4), (MOSTLY_HIGH, 320, "apart", 3), (RAMP, 400, "together", 3)],
)
def test_the_number_is_within_one_of_the_truth(
    trace: Trace, wall_mib: int, how: str, truth: int
) -> None:
    asked = Asked(
        traces=(trace,),
        wall_bytes=wall_mib * MIB,
        total_bytes=1024 * MIB,
        rounds=2,
        seconds=1.0,
        together=how == "together",
    )
    told: list[str] = []
    found = find(asked, told.append)
    assert abs(found.agents - truth) <= 1
    assert found.rounds == 2
    assert any("one was killed" in line for line in told)
    assert found.memory_limit_bytes >= 1.25 * trace.peak_bytes
    assert said(asked, found)[-1] == f"max_concurrent_agents: {found.agents}"


def test_more_fit_than_the_wall_divided_by_a_peak() -> None:
    """Half of them peak early and half of them late, so that the peaks never meet: eight fit, and
    the search begins with four. A busy machine has 3 s between the one and the other."""
    early = Trace([(2.0, 90 * MIB, 0.0), (8.0, 12 * MIB, 0.0)])
    late = Trace([(8.0, 12 * MIB, 0.0), (2.0, 90 * MIB, 0.0)])
    wall = 440 * MIB
    assert wall // early.peak_bytes == 4
    asked = Asked(
        traces=(early, late),
        wall_bytes=wall,
        total_bytes=1024 * MIB,
        rounds=1,
        seconds=5.0,
        together=True,
    )
    told: list[str] = []
    found = find(asked, told.append)
    assert 7 <= found.agents <= 9, told
    assert "begins with 4 at once" in told[0], "said before anything is started"
    assert told[1].startswith("4 at once: held"), "where it begins"


def test_what_does_not_fit_even_once_is_said() -> None:
    asked = Asked(traces=(FLAT,), wall_bytes=64 * MIB, total_bytes=128 * MIB, rounds=1, seconds=0.5)
    found = find(asked, lambda _: None)
    assert found.agents == 0
    assert said(asked, found) == ["not even one of these agents fits in 64 MiB"]


# Long enough to be looked at twice, and once more on a busy machine.
HOLDS = "import time; held = bytearray(60 << 20); time.sleep(2.5)"


def learn(house: House) -> None:
    """Ten runs of one group, as many as count."""
    words = (sys.executable, "-I", "-S", "-c", HOLDS)
    runs = house.submit(
        *(RunRequest(name="x", command=words, group="mine", memory_bytes=96 * MIB),) * 10
    ).runs
    ended = house.ended([run.id for run in runs], within_s=100)
    assert [view.outcome for view in ended] == ["succeeded"] * 10


@pytest.mark.timeout(400)
def test_the_answer_of_history_is_written_with_its_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a host of 1 GiB, which is made of a cgroup: all memory of this one would be tried."""
    monkeypatch.setenv("PADDOCK_STATE", str(tmp_path / "beside"))
    mine = "# mine\nqueue: {depth: 50}\n"
    with (
        a_ceiling(1 << 30) as host,
        a_house(tmp_path, config=mine, before=host.join) as house,
    ):
        house.start()
        learn(house)
        words = ("--from-history", "--write", "--rounds", "1", "--seconds", "2")
        done = house.paddock("bench", "find", *words, "--json", before=host.join, within_s=200)
        assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    found = report.read(tmp_path / answer["report"])
    agents = int(found.verdicts[-1].removeprefix("max_concurrent_agents: "))
    # Each held about 64 MiB of the 512 that agents may have.
    assert 5 <= agents <= 10, found.verdicts
    first, *rest = (tmp_path / "config/paddock/config.yaml").read_text("utf-8").splitlines()
    assert first.startswith("# paddock bench find: 20") and "agents as in history: " in first
    assert f"{agents} at once held in 1 of 1 rounds (a breach in less than 95% of" in first
    assert first.endswith(f"report: {tmp_path / answer['report']}")
    assert rest == [
        *mine.splitlines(),
        "sandbox:",
        "  host_memory_reserve: 512M",
        "  memory_limit: 128M",
        "performance:",
        f"  max_concurrent_agents: {agents}",
    ]


def test_what_was_found_on_another_host_is_not_written(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        words = ("--within", "1G", "--shape", "steady", "--rounds", "1", "--seconds", "1")
        done = house.paddock("bench", "find", *words, "--write", within_s=100)
    assert done.returncode == 3
    assert "nothing is written" in done.stderr
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [("1 2\n", "line 1: found '1 2'"), ("", ""), ("0.01 9000000 0.5\n0 0 0\n", "")],
)
def test_a_player_by_itself(text: str, told: str) -> None:
    done = subprocess.run(
        command("-"), input=text, capture_output=True, text=True, check=False, timeout=60
    )
    assert told in done.stderr
    assert done.returncode == (1 if told else 0)
    assert lines(Trace([])) == ""
