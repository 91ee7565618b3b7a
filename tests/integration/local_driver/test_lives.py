"""What an agent is given, how it is stopped, what it uses: on real processes."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from paddock.core.events import Emptied, Exited, SpawnFailed, Started
from paddock.core.run import Attempt
from paddock.core.units import MIB
from paddock.drivers.local.keeper.members import look_at
from tests.kit import leaks
from tests.kit.keeping import PYTHON, agent
from tests.kit.stable import CANCELLED, Stable, in_a_stable

LOOK = r"""
import os, sys
ours = {k: v for k, v in os.environ.items() if k.startswith('PADDOCK_')}
print(sorted(ours), ours['PADDOCK_RUN'], ours['PADDOCK_RUN_NAME'], os.environ.get('OTHER'))
print(oct(os.umask(0)), sys.stdin.read())
"""


@in_a_stable
async def test_an_agent_gets_its_own_variables_and_none_of_another_paddock(stable: Stable) -> None:
    words = stable.directory / "words"
    words.write_text("from stdin", encoding="utf-8")
    attempt = stable.start(
        *(*PYTHON, "-c", LOOK),
        environment={
            "PATH": os.environ["PATH"],
            "PADDOCK_STATE": "/where the submitter found its daemon",
            "PADDOCK_PROFILE": "work",
            "PADDOCK_RUN": "outer",
            "OTHER": "kept",
        },
        name="a name",
        stdin=words,
        resume=True,
        labels={"umask": "027"},
    )
    await stable.hear(Exited, attempt)
    names = ["ATTEMPT", "ATTEMPT_NUMBER", "CHECKPOINT_REQUEST", "CHECKPOINT_WRITTEN", "PROFILE"]
    names += ["RESUME", "RUN", "RUN_NAME", "SOFT_TIMEOUT", "STATE"]
    names = [f"PADDOCK_{name}" for name in names]
    expected = f"{names} a a name kept\n0o27 from stdin\n"
    assert stable.written(attempt).decode() == expected


@in_a_stable
async def test_what_will_never_start_is_said_to_fail_for_good(stable: Stable) -> None:
    cases = {
        "no-directory": stable.start("true", run="no-directory", directory=Path("/no/such/place")),
        "no-stdin": stable.start("true", run="no-stdin", stdin=Path("/no/such/file")),
        "too-large": stable.start("true", run="too-large", environment={"X": "x" * (5 << 20)}),
        "option": stable.start("-x", run="option"),
        "../up": stable.start("true", run="../up"),
        "..": stable.start("true", run=".."),
        "long": stable.start("true", run="x" * 300),
    }
    for attempt in cases.values():
        failed = await stable.hear(SpawnFailed, attempt)
        assert failed.permanent, failed
        assert not stable.of(Started, attempt)
    assert "/no/such/place" in stable.of(SpawnFailed, cases["no-directory"])[0].reason
    # None of them cost the others their keeper.
    well = stable.start("true", run="well")
    assert (await stable.hear(Exited, well)).exit.code == 0


NODE = ("node", "-e", "setTimeout(() => process.exit(5), 1000)")
SURVIVORS = {
    "sleep": ("sleep", "1"),
    "sh": ("sh", "-c", "sleep 1; exit 5"),
    "python": (*PYTHON, "-c", "import time; time.sleep(1); raise SystemExit(5)"),
    "node": NODE,
}


@pytest.mark.parametrize("program", SURVIVORS)
def test_the_soft_timeout_is_survived_by(program: str, tmp_path: Path) -> None:
    if program == "node" and shutil.which("node") is None:
        pytest.skip("node is not installed")

    async def scenario(stable: Stable) -> None:
        attempt = stable.start(*SURVIVORS[program])
        await stable.hear(Started, attempt)
        stable.driver.warn(attempt)
        stable.driver.warn(attempt)
        sign = stable.state / "keeper" / "attempts" / "a.1.soft-timeout"
        assert sign.exists()
        ended = await stable.hear(Exited, attempt)
        assert ended.exit.code == (0 if program == "sleep" else 5)
        stable.driver.forget(attempt)
        assert not sign.exists()

    in_a_stable(scenario)(tmp_path)


@in_a_stable
async def test_a_kill_reaches_who_forked_twice_and_called_setsid(stable: Stable) -> None:
    attempt = stable.start("sh", "-c", "setsid -f sleep 1000; exec setsid -w sleep 1000")
    await stable.until(lambda: len(stable.processes()) >= 2)
    stable.driver.kill(attempt, CANCELLED)
    await stable.hear(Exited, attempt)
    await stable.until(lambda: not stable.processes())


@in_a_stable
async def test_strays_that_leave_strays_are_told_as_empty_once_and_at_the_end(
    stable: Stable,
) -> None:
    chain = "setsid -f sh -c 'setsid -f sleep 0.3; sleep 0.1'"
    attempt = stable.start("sh", "-c", chain)
    assert not (await stable.hear(Exited, attempt)).empty
    await stable.hear(Emptied, attempt)
    assert stable.processes() == {}
    assert len(stable.of(Emptied, attempt)) == 1


@in_a_stable
async def test_a_daemonized_child_of_one_does_not_make_another_unempty(stable: Stable) -> None:
    other = stable.start("sh", "-c", "setsid -f sleep 1000; exec sleep 1000", run="b")
    await stable.until(lambda: len(stable.processes()) == 2)
    attempt = stable.start("true")
    assert (await stable.hear(Exited, attempt)).empty
    assert not stable.of(Exited, other)


@in_a_stable
async def test_freezing_holds_every_process_and_thawing_lets_them_go(stable: Stable) -> None:
    attempt = stable.start(*agent("forker", 8))
    await stable.until(lambda: stable.written(attempt) == b"forked\n")
    stable.driver.freeze(attempt, reclaim=False)
    await stable.until(lambda: set(states(stable)) == {"T"})
    assert len(states(stable)) == 9
    stable.driver.thaw(attempt)
    await stable.until(lambda: "T" not in states(stable))


def states(stable: Stable) -> list[str]:
    return [found.state for pid in stable.processes() if (found := look_at(pid)) is not None]


FORKS = r"""
import os, signal, sys
held = bytearray(b'x' * (100 << 20))
for _ in range(3):
    if os.fork() == 0:
        signal.pause()
os.write(1, b'forked')
signal.pause()
"""


@in_a_stable
async def test_what_forks_share_is_counted_once_near_the_limit(stable: Stable) -> None:
    attempt = stable.start(*PYTHON, "-c", FORKS, limit_bytes=300 * MIB)
    await stable.until(lambda: stable.written(attempt) == b"forked")
    assert 100 * MIB <= stable.driver.used_bytes()[attempt] < 200 * MIB, "three forks of 100 MB"
    far = stable.start(*PYTHON, "-c", FORKS, run="b", limit_bytes=3000 * MIB)
    await stable.until(lambda: stable.written(far) == b"forked")
    assert stable.driver.used_bytes()[far] > 400 * MIB, "far from its limit nobody looks closer"


@in_a_stable
async def test_a_peak_is_told_with_the_end_and_never_invented(stable: Stable) -> None:
    small = stable.start("true", run="small")
    large = stable.start(*PYTHON, "-c", "x = b'x' * (80 << 20)", run="large")
    assert (await stable.hear(Exited, small)).exit.peak_bytes is None
    peak = (await stable.hear(Exited, large)).exit.peak_bytes
    assert peak is not None
    assert 80 * MIB <= peak < 120 * MIB


@in_a_stable
async def test_a_keeper_that_stands_still_keeps_nobody_alive(stable: Stable) -> None:
    attempt = stable.start("sleep", "1000")
    await stable.hear(Started, attempt)
    keeper = stable.driver.keeper_pid
    os.kill(keeper, signal.SIGSTOP)
    try:
        stable.driver.kill(attempt, CANCELLED)
        await stable.until(lambda: not stable.processes())
    finally:
        os.kill(keeper, signal.SIGCONT)
    assert (await stable.hear(Exited, attempt)).exit.signal == signal.SIGKILL


@in_a_stable
async def test_an_attempt_forgotten_while_it_dies_is_cleared_away_afterwards(
    stable: Stable,
) -> None:
    """As recovery does with what belongs to no run that is remembered."""
    attempt = stable.start("sleep", "1000")
    await stable.hear(Started, attempt)
    stable.driver.kill(attempt, CANCELLED)
    stable.driver.forget(attempt)
    await stable.until(lambda: not stable.processes() and attempt not in stable.driver.used_bytes())
    assert not stable.of(Exited, attempt), "nobody listens any more"
    assert not list((stable.state / "keeper" / "attempts").iterdir())


@in_a_stable
async def test_a_hundred_starts_at_once_leave_no_descriptor(stable: Stable) -> None:
    before = len(leaks.descriptors())
    attempts = [stable.start("sh", "-c", f"echo {n}", run=f"r{n}") for n in range(100)]
    for attempt in attempts:
        await stable.hear(Exited, attempt, within_s=20)
        stable.driver.forget(attempt)
    assert [stable.written(Attempt(f"r{n}", 1)) for n in range(100)] == [
        b"%d\n" % n for n in range(100)
    ]
    assert len(leaks.descriptors()) == before
