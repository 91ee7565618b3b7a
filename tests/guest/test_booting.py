"""The guest itself: what comes back from it, what must not, and that it always ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.guest import NO_ANSWER, PROJECT, TIMED_OUT, Guest, check, main
from tests.kit.guest_kernel import NoGuest
from tests.kit.leaks import marked

# Each boot is 4 to 6 s, so each asks many things.
EXPLORE = f"""
echo written > {PROJECT}/written-in-the-guest && echo a writable layer
echo error output >&2
cut -d' ' -f1 /proc/uptime >/run/guest/uptime
grep -c Swap.*[1-9] /proc/meminfo /proc/swaps
cat /proc/sys/kernel/hostname
cat /sys/class/net/lo/operstate
stat -f -c %T /tmp
test -r {Path(__file__)} && echo the checkout
exit 7
"""
# A loopback that is up has the state "unknown", one that is not "down".
HEARD = """a writable layer
error output
/proc/meminfo:0
/proc/swaps:0
guest
unknown
tmpfs
the checkout
"""


@pytest.fixture(autouse=True)
def _a_guest_is_possible() -> None:
    try:
        check()
    except NoGuest as lacking:
        pytest.skip(f"no guest: {lacking}")


def test_output_and_exit_code_come_back_and_nothing_the_guest_wrote(tmp_path: Path) -> None:
    heard: list[bytes] = []
    uptime = tmp_path / "uptime"
    answer = Guest().run(["sh", "-c", EXPLORE], hear=heard.append, fetch=[("uptime", uptime)])
    assert answer.code == 7, str(answer)
    assert answer.output == HEARD
    assert b"".join(heard).decode() == HEARD
    assert not (PROJECT / "written-in-the-guest").exists()
    # Its clock is no faster than ours, or nothing in it would have the time it is given.
    assert float(uptime.read_text(encoding="ascii")) < answer.seconds + 1


def test_a_guest_out_of_time_is_ended_with_its_qemu(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUEST_TEST_MARK", "a-guest-out-of-time")
    assert main(["--within", "1", "--", "sleep", "300"]) == TIMED_OUT
    assert "out of time after 1" in capsys.readouterr().err
    # The mark is in our own environment only from now on, not in what started us.
    assert marked("a-guest-out-of-time") == {}


def test_a_guest_that_dies_has_given_no_answer_and_shows_its_console(
    capsys: pytest.CaptureFixture[str],
) -> None:
    panic = "echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger; sleep 60"
    assert main(["--", "sh", "-c", panic]) == NO_ANSWER
    assert "Kernel panic" in capsys.readouterr().err


def test_a_checkout_below_tmp_is_there_although_the_guests_tmp_is_new(tmp_path: Path) -> None:
    """As a checkout of CI may be; `python -m` takes the kit, and with it the project, from here."""
    for name in ("tests/__init__.py", "tests/kit", "tests/guest/boot"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", PROJECT / name, tmp_path / name], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.kit.guest", "--", "ls", tmp_path / "tests/guest"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "boot\n"), done.stderr
