"""`paddock bench` as a user calls it: real daemons, real walls, and nothing left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from paddock.bench import report
from paddock.bench.bare import run_bare
from paddock.bench.pen import a_pen
from paddock.rescue.records import Records, read_home
from tests.integration.container import engine_room
from tests.kit import leaks
from tests.kit.waiting import until

from .yard import Yard, figure

HOG = "x = bytearray(400 << 20)"
PYTHON = f"{sys.executable} -I -S -c"


def test_a_grid_inside_a_ceiling(yard: Yard) -> None:
    """The agents need 400 MiB: at 256 the first one ends its column, at 1 GiB all complete."""
    found = yard.report(
        *("stress", "--within", "4G", "--agents", "1,2", "--memory", "256M,1G"),
        *("--every", "100ms", "--agent", f"{PYTHON} '{HOG}; import time; time.sleep(0.7)'"),
    )
    first, second, third, fourth = found.cells
    assert (first.row, first.column) == ("1 agent", "256 MiB")
    assert (figure(first, "completed"), figure(first, "OOM kills")) == (0, 1)
    assert second.skipped == "an agent hit its wall with 1 agent"
    for cell in (third, fourth):
        assert (figure(cell, "completed"), figure(cell, "OOM kills")) == (100, 0)
        assert 400 <= figure(cell, "peak of an agent") < 500
    assert {curve.name for curve in fourth.curves} == {"agent-1", "agent-2", "host"}
    assert max(value for _, value in fourth.curves[0].points) > 300, "the curve was sampled"
    assert found.verdicts == ("256 MiB each: none completed", "1 GiB each: 2 at once completed")
    assert found.settings["within"] == "4 GiB"


@pytest.mark.parametrize("then", ["sleep 0.5", "exit 0"])
def test_a_killed_child_of_an_agent_that_lives_on_is_a_kill(yard: Yard, then: str) -> None:
    """The agent succeeds, and its end may be the end of the cgroup that has counted."""
    agent = f"{PYTHON} '{HOG}'; {then}"
    words = ("--within", "2G", "--agents", "1,2", "--memory", "128M", "--every", "1s")
    first, second = yard.report("stress", *words, "--agent", agent).cells
    assert figure(first, "completed") == 100
    assert figure(first, "OOM kills") == 1
    assert "1 killed at its wall" in first.verdict
    assert second.skipped == "an agent hit its wall with 1 agent"


def test_rounds_of_a_grid_are_samples(yard: Yard) -> None:
    words = ("--agents", "1", "--memory", "64M", "--every", "100ms", "--rounds", "3")
    [cell] = yard.report("stress", *words, "--agent", "sleep 0.2").cells
    for name in ("completed", "OOM kills", "wall time", "peak of an agent"):
        assert len(next(one for one in cell.figures if one.name == name).samples) == 3
    assert cell.verdict.startswith("100% completed in ") and "(3 rounds)" in cell.verdict


def test_too_little_free_memory_ends_all(yard: Yard) -> None:
    found = yard.report(
        *("stress", "--within", "2G", "--floor", "1900M", "--agents", "1,2", "--memory", "1G"),
        *("--every", "100ms", "--agent", f"{PYTHON} '{HOG}; import time; time.sleep(60)'"),
    )
    assert all(cell.skipped for cell in found.cells)
    assert found.verdicts[0].startswith("stopped before its end: 1 agent of 1 GiB: only ")


def test_a_baseline_says_what_walls_cost(yard: Yard) -> None:
    agent = f"{PYTHON} 'x = bytearray(64 << 20); import time; time.sleep(0.6)'"
    found = yard.report(
        "baseline", "--agent", agent, "--rounds", "2", "--every", "100ms", "--memory", "256M"
    )
    assert found.kind == "resource-baseline"
    bare, walls = found.cells
    for cell in (bare, walls):
        assert 64 <= figure(cell, "peak") < 120
        assert figure(cell, "wall time") >= 0.6
        assert cell.verdict.startswith("ended well")
    assert any("× the bare time" in verdict for verdict in found.verdicts)
    assert "too few to tell a leak" in walls.verdict


@pytest.fixture
def near_yard() -> Iterator[Yard]:
    """The socket of a container engine has a path of 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="paddock-") as name:
        yard = Yard(Path(name))
        yield yard
        until(lambda: not yard.left(), within_s=30)


def test_a_baseline_says_what_a_container_costs(near_yard: Yard) -> None:
    lacking = engine_room.lacking()
    if lacking is not None:
        pytest.skip(lacking)
    yard = near_yard
    words = ("baseline", "--agent", "sh -c 'sleep 0.4'", "--rounds", "1", "--every", "100ms")
    refused = yard.bench(*words, "--container")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "set sandbox.container_image" in refused.stderr
    yard.use_containers()
    found = yard.report(*words, "--memory", "64M", "--container")
    assert [cell.column for cell in found.cells] == ["bare", "walls", "container"]
    assert found.cells[2].verdict.startswith("ended well"), found.cells[2].verdict
    assert figure(found.cells[2], "wall time") >= 0.4
    assert any("container" in said and "× the bare time" in said for said in found.verdicts)


def test_a_process_that_really_grows_is_told(yard: Yard) -> None:
    """1 MB every 50 ms, with something of 20 MB that comes and goes. Real leaks of a minute are in
    bench/bench_leaks.py."""
    leak = (
        "import time; kept = []\n"
        "for n in range(120):\n"
        " kept.append(bytearray(1 << 20)); noise = bytearray((n * 7 % 20) << 20); time.sleep(0.05)"
    )
    found = yard.report(
        *("baseline", "--agent", f"{PYTHON} '{leak}'", "--rounds", "1"),
        *("--every", "100ms", "--memory", "512M"),
    )
    said = next(verdict for verdict in found.verdicts if "ended well" in verdict)
    assert "ended well; grew by " in said and "too short to call it a leak" in said


def test_results_are_said_once(yard: Yard) -> None:
    done = yard.bench("baseline", "--agent", "true", "--rounds", "1", "--every", "100ms")
    assert done.returncode == 0, done.stderr
    assert "peak" in done.stdout and "peak" not in done.stderr
    assert done.stderr.startswith("paddock: measures ") and "(1 of 1)" in done.stderr
    assert "\r" not in done.stderr


def test_a_command_runs_where_its_user_is(yard: Yard) -> None:
    (yard.root / "here/given").touch()
    yard.report("baseline", "--agent", "cp given taken", "--rounds", "1", "--every", "100ms")
    (yard.root / "here/taken").unlink()
    found = yard.report("stress", "--agents", "1", "--memory", "64M", "--agent", "cp given taken")
    assert figure(found.cells[0], "completed") == 100
    assert (yard.root / "here/taken").exists()


def test_the_shipped_work_is_real_and_ends_well(yard: Yard) -> None:
    [bare, walls] = yard.report("baseline", "--rounds", "1", "--every", "200ms").cells
    assert bare.verdict == "ended well"
    assert walls.verdict.startswith("ended well")
    assert list((yard.root / "here").iterdir()) == [yard.root / "here/.paddock"]


def test_less_of_a_core_takes_longer(yard: Yard) -> None:
    busy = f"{PYTHON} 'import time\nwhile time.process_time() < 0.4: pass'"
    found = yard.report(
        "cpu", "--agent", busy, "--agents", "1", "--rounds", "1", "--cores", "0.2,unlimited"
    )
    little, all_of_it = found.cells
    assert figure(little, "wall time") > 1.6, "0.4 s of a core are 2 s of a fifth of it"
    assert figure(all_of_it, "completed") == 100
    assert figure(little, "CPU wait") >= 0
    # Up to four fifths of its time; on a busy machine it seldom gets as much as its fifth.
    assert figure(little, "CPU throttled") > 0
    assert figure(all_of_it, "CPU throttled") == 0
    assert "was held back by its quota" in little.verdict


@pytest.fixture
def heard() -> Iterator[None]:
    """A shell without a terminal lets what it starts with & ignore SIGINT, and so would the child:
    whoever started the tests must not decide that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_whoever_breaks_it_off_leaves_nothing(yard: Yard, how: signal.Signals) -> None:
    words = ("stress", "--within", "1G", "--agents", "1", "--memory", "64M", "--agent", "sleep 99")
    child = subprocess.Popen(**yard.command(*words), stderr=subprocess.DEVNULL)
    try:
        until(lambda: leaks.commanded("sleep\0" + "99"), within_s=60)
        child.send_signal(how)
        assert child.wait(60) == 130
    finally:
        child.kill()
        child.wait()


def test_what_a_killed_one_left_goes_with_the_next(yard: Yard) -> None:
    words = ("stress", "--within", "1G", "--agents", "1", "--memory", "64M", "--agent", "sleep 98")
    child = subprocess.Popen(**yard.command(*words), stderr=subprocess.DEVNULL)
    try:
        until(lambda: leaks.commanded("sleep\0" + "98"), within_s=60)
    finally:
        child.kill()
        child.wait()
    assert yard.left()
    yard.report("stress", "--within", "1G", "--agents", "1", "--memory", "64M", "--agent", "true")
    until(lambda: not leaks.commanded("sleep\0" + "98"), within_s=60)


def test_a_soak_watches_paddock_itself(yard: Yard) -> None:
    done = yard.bench(
        *("soak", "--accelerated", "--hours", "0.001", "--runs", "30", "--every", "100ms"),
        *("--warm-up", "5"),
        *("--within", "1G", "--memory", "32M", "--json"),
    )
    answer = json.loads(done.stdout)
    found = report.read(yard.root / "here" / answer["report"])
    many, _, ended = found.verdicts[0].partition(" runs in ")
    assert 2 <= int(many) <= 30, "as many as the time holds, those that warmed it up not counted"
    assert ended.endswith("all succeeded")
    assert {curve.name for curve in found.curves} == {
        *("daemon", "keeper", "descriptors", "database", "output")
    }
    assert all(value > 5 for _, value in found.curves[0].points)
    output = found.figure("output of a run")
    assert output is not None and output.middle > 1, "its agents write"


def test_on_a_terminal_a_measurement_says_what_it_is_at(yard: Yard) -> None:
    """Every second; the same words in a pipe would only be in the way."""
    words = ("--agents", "1", "--memory", "64M", "--agent", "sleep 4")
    ours, theirs = os.openpty()
    yard.env["TERM"] = "xterm"
    with subprocess.Popen(
        **yard.command("stress", *words), stdout=subprocess.DEVNULL, stderr=theirs
    ) as child:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # EIO: nobody writes there any more
            while more := os.read(ours, 4096):
                shown += more
        assert child.wait(60) == 0
    os.close(ours)
    text = shown.decode()
    assert "\r\x1b[K1 agent of 64 MiB: 0 of 1 ended, 1 running · " in text
    assert text.rstrip().endswith("\r\x1b[K"), "and takes it away"


def test_reports_are_compared(yard: Yard) -> None:
    def made(name: str, *samples: float) -> str:
        figures = (report.Figure(name="time", unit="s", samples=samples, better="lower"),)
        one = report.Report(kind="x", paddock="1", made_at=0.0, machine={}, figures=figures)
        report.write(one, yard.root / "here" / name)
        return name

    before, same = made("a.json", 10, 10, 10), made("b.json", 10.5, 10.4, 10.6)
    worse = made("c.json", 12, 12, 12)
    assert yard.bench("compare", before, same).returncode == 0
    done = yard.bench("compare", before, worse)
    assert done.returncode == 1
    assert done.stdout == "time: 10 → 12 s (+20.0%): worse, by chance in 5.0% of cases\n"
    assert json.loads(yard.bench("compare", before, worse, "--json").stdout)["worse"] == 1
    done = yard.bench("compare", made("d.json", 10), made("e.json", 100))
    assert (done.returncode, done.stdout) == (2, "")
    assert "fewer than 3 samples; measure both with --rounds 3" in done.stderr


def test_one_round_of_stress_is_enough_to_tell_kills(yard: Yard) -> None:
    """All completed before, and none after: whatever else is not judged, that is worse."""

    def made(name: str, completed: float, kills: float, seconds: float) -> str:
        figures = (
            report.Figure(name="completed", unit="%", samples=(completed,), better="higher"),
            report.Figure(name="OOM kills", unit="", samples=(kills,), better="lower"),
            report.Figure(name="wall time", unit="s", samples=(seconds,), better="lower"),
        )
        cells = (report.Cell(row="8 agents", column="2 GiB", figures=figures),)
        one = report.Report(kind="stress", paddock="1", made_at=0.0, machine={}, cells=cells)
        report.write(one, yard.root / "here" / name)
        return name

    before, after = made("a.json", 100, 0, 10), made("b.json", 0, 8, 100)
    done = yard.bench("compare", before, after)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "8 agents × 2 GiB: completed: 100 → 0 % (-100.0%): worse",
        "8 agents × 2 GiB: OOM kills: 0 → 8: worse",
        "8 agents × 2 GiB: wall time: 10 → 100 s (+900.0%): not judged: fewer than 3 samples",
    ]
    assert "1 figure could not be judged: with --rounds 3" in done.stderr
    assert yard.bench("compare", before, before).returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("stress", "--agents", "0"), "not in the range"),
        (("stress", "--agents", ""), "is no list such as"),
        (("stress", "--memory", "1G,4"), "is not from 16 MiB"),
        (("stress", "--agent", "echo 'open"), "cannot be read as a shell would"),
        (("baseline", "--agent", " "), "says no command"),
        (("baseline", "--agent", "true", "--matrix"), "say one"),
        (("baseline", "--rehearse"), "--rehearse needs an agent: say --agent claude"),
        (("baseline", "--rehearse", "--agent", "nobody"), "there is no preset 'nobody'"),
        (("baseline", "--rehearse", "--agent", "plain"), "leave out --rehearse"),
        (("baseline", "--rehearse", "--agent", "claude", "--container"), "has no container"),
        (("cpu", "--cores", "nan"), "is no number of cores"),
        (("cpu", "--cores", "fast"), "is no number of cores"),
        (("compare", "/nowhere.json", "/nowhere.json"), "No such file"),
        (("stress", "--within", "1", "--agents", "1"), "is not from 64 MiB"),
    ],
)
def test_bad_input_gets_one_line(yard: Yard, words: tuple[str, ...], told: str) -> None:
    done = yard.bench(*words)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_command_that_is_not_there_is_said(yard: Yard) -> None:
    found = yard.report("stress", "--agents", "1", "--memory", "64M", "--agent", "no-such-program")
    assert "no-such-program" in found.cells[0].verdict
    assert figure(found.cells[0], "completed") == 0


def test_no_cgroup_of_its_paddock_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDOCK_STATE", str(tmp_path / "state"))
    with a_pen("") as pen:
        home = read_home(Records(str(pen.places.state)))
        assert home is not None and home.group.exists()
    assert not home.group.exists()


def test_whoever_only_names_its_directory_lives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDOCK_STATE", str(tmp_path / "state"))
    with a_pen("") as pen:
        daemon = pen.daemon()
        words = ["sh", "-c", "sleep 600; :", "paddock", "daemon run --state", str(pen.places.state)]
        bystander = subprocess.Popen(words, start_new_session=True)
        assert set(pen._processes()) == {daemon.pid, daemon.keeper_pid}  # noqa: SLF001
    try:
        assert bystander.poll() is None
    finally:
        os.killpg(bystander.pid, signal.SIGKILL)
        bystander.wait()


def test_bare_memory_that_is_shared_after_a_fork_counts_once(tmp_path: Path) -> None:
    fork = "import os, time; x = bytearray(b'x') * (64 << 20); os.fork(); time.sleep(1)"
    done = run_bare((sys.executable, "-I", "-S", "-c", fork), tmp_path, every_s=0.1)
    assert 64 <= done.peak_mib < 100


def test_bare_runs_are_sampled_and_leave_nothing(tmp_path: Path) -> None:
    done = run_bare(("sh", "-c", "sleep 77 & sleep 0.5; exit 3"), tmp_path, every_s=0.1)
    assert done.code == 3
    assert done.wall_s >= 0.5
    assert len(done.memory) >= 2
    until(lambda: not leaks.commanded("sleep\0" + "77"), within_s=10)
