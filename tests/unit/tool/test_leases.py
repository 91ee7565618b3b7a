"""Leases within one process: names, holders, and places that are not to be trusted."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from paddock.tool.errors import LeaseRefused
from paddock.tool.lease_files import DIRECTORY
from paddock.tool.leases import HELD, Holder, Lease, all_held, check_name, take

Said = list[str]


def held(
    place: Path, name: str, *, slots: int = 1, wait_s: float = 0.05, said: Said | None = None
) -> Lease:
    say = (said if said is not None else []).append
    return take(name, slots=slots, wait_s=wait_s, say=say, places=(str(place),))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(HELD, raising=False)
    tmp_path.chmod(0o1777)
    return tmp_path


@pytest.mark.parametrize("name", ["", ".", "..", "-x", "a/b", "a b", "ä", "x" * 65, "a\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    assert check_name(name)


@pytest.mark.parametrize("name", ["build", "a.b-c_d", "7"])
def test_what_is_a_name_is_taken(name: str) -> None:
    assert check_name(name) is None


def test_a_second_one_waits_says_for_whom_and_is_refused_in_the_end(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDOCK_RUN_NAME", "web-tests")
    said: Said = []
    first = held(place, "build")
    with pytest.raises(LeaseRefused, match=r"not free within 50 ms: held by pid \d+ \(run web-"):
        held(place, "build", said=said)
    assert len(said) == 1 and f"held by pid {os.getpid()} (run web-tests) since" in said[0]
    first.close()
    held(place, "build").close()


def test_as_many_hold_it_as_there_are_slots(place: Path) -> None:
    both = [held(place, "tests", slots=2) for _ in range(2)]
    assert [holder.slot for holder in all_held((str(place),))["tests"]] == [0, 1]
    with pytest.raises(LeaseRefused):
        held(place, "tests", slots=2)
    for one in both:
        one.close()
    assert all_held((str(place),)) == {}


def test_what_is_held_above_is_not_waited_for(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = held(place, "build")
    env = first.environment({})
    monkeypatch.setenv(HELD, env[HELD])
    inner = held(place, "build")
    assert inner.environment({"A": "1"}) == {"A": "1"}
    inner.close()
    first.close()


def test_another_name_is_another_lease(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = held(place, "build")
    monkeypatch.setenv(HELD, first.environment({})[HELD])
    second = held(place, "tests")
    with pytest.raises(LeaseRefused):
        held(place, "tests")
    first.close()
    second.close()


def test_whoever_is_late_is_refused_however_often_the_clock_rings(place: Path) -> None:
    """It may ring again while the refusal looks up who holds it."""
    over = threading.Event()

    def ring() -> None:
        while not over.is_set():
            os.kill(os.getpid(), signal.SIGALRM)

    first = held(place, "build")
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    ringing = threading.Thread(target=ring)
    ringing.start()
    try:
        for _ in range(150):
            with pytest.raises(LeaseRefused):
                held(place, "build", wait_s=0.002)
    finally:
        over.set()
        ringing.join()
        signal.signal(signal.SIGALRM, before)
        first.close()


def test_a_holder_above_that_is_gone_holds_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = held(place, "build")
    monkeypatch.setenv(HELD, "build=999999999")
    with pytest.raises(LeaseRefused):
        held(place, "build")
    first.close()


def test_the_directory_is_for_everybody_whatever_the_umask(place: Path) -> None:
    before = os.umask(0o077)
    try:
        held(place, "build").close()
    finally:
        os.umask(before)
    assert (place / DIRECTORY).stat().st_mode & 0o7777 == 0o1777
    assert (place / DIRECTORY / "build.0").stat().st_mode & 0o777 == 0o666


def test_a_link_in_the_place_of_the_directory_is_refused(place: Path) -> None:
    (place / "elsewhere").mkdir()
    (place / DIRECTORY).symlink_to(place / "elsewhere")
    with pytest.raises(LeaseRefused, match="not a directory to be trusted"):
        held(place, "build")
    assert list((place / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("trick", ["symlink", "hardlink", "fifo", "directory"])
def test_a_trick_in_the_place_of_a_leases_file_is_refused_and_touches_nothing(
    place: Path, trick: str
) -> None:
    (place / DIRECTORY).mkdir()
    (place / DIRECTORY).chmod(0o1777)
    treasure = place / "treasure"
    treasure.write_text("gold", encoding="ascii")
    file = place / DIRECTORY / "build.0"
    if trick == "symlink":
        file.symlink_to(treasure)
    elif trick == "hardlink":
        file.hardlink_to(treasure)
    elif trick == "fifo":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(LeaseRefused, match=r"build\.0"):
        held(place, "build")
    assert treasure.read_text(encoding="ascii") == "gold"


def test_no_shared_directory_is_said(tmp_path: Path) -> None:
    with pytest.raises(LeaseRefused, match="no directory that all users share"):
        held(tmp_path / "missing", "build")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "somebody"),
        ("garbage", "somebody"),
        ("12", "pid 12"),
        ("12 x \x1b[2Jevil", "pid 12 (run [2Jevil)"),
        ("٣ 99999999999999 name", "somebody (run name)"),
    ],
)
def test_what_somebody_wrote_into_a_file_cannot_do_harm(text: str, shown: str) -> None:
    assert str(Holder(0, text)) == shown
