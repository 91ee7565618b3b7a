"""What an agent hears and says: signals, files, checkpoints, exit 75."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paddock import agent
from paddock.agent import asking
from tests.kit.waiting import until


@pytest.fixture
def signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As paddock would set it up; the handlers go with the test."""
    names = {"SOFT_TIMEOUT": "soft", "CHECKPOINT_REQUEST": "asked", "CHECKPOINT_WRITTEN": "written"}
    for name, file in (names | {"LATER": "later", "READY": "ready"}).items():
        monkeypatch.setenv(f"PADDOCK_{name}", str(tmp_path / file))
    (tmp_path / "kept").mkdir()
    monkeypatch.setenv("PADDOCK_CHECKPOINT_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(asking, "LONGEST_REST_S", 0.0)
    before = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield tmp_path
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_soft_timeout_calls_once_by_signal(signs: Path) -> None:
    heard: list[bool] = []
    agent.on_soft_timeout(lambda: heard.append(agent.soft_timeout_passed()))
    assert heard == []
    (signs / "soft").touch()
    os.kill(os.getpid(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGUSR1)
    until(lambda: heard, within_s=30)
    assert heard == [True]


def test_one_that_came_before_anybody_listened_is_heard_at_once(signs: Path) -> None:
    (signs / "soft").touch()
    heard: list[int] = []
    agent.on_soft_timeout(lambda: heard.append(1))
    assert heard == [1]


def test_from_another_thread_the_file_is_watched(signs: Path) -> None:
    heard: list[int] = []
    listen = threading.Thread(target=agent.on_soft_timeout, args=(lambda: heard.append(1),))
    listen.start()
    listen.join()
    (signs / "soft").touch()
    until(lambda: heard == [1], within_s=30)


def test_asked_for_a_checkpoint_what_is_returned_is_kept_and_that_is_said(signs: Path) -> None:
    agent.on_checkpoint(lambda: {"next": 7})
    (signs / "asked").touch()
    os.kill(os.getpid(), signal.SIGUSR2)
    until((signs / "written").exists, within_s=30)
    assert agent.load() == {"next": 7}
    assert [path.name for path in (signs / "kept").iterdir()] == ["checkpoint.json"]


def test_one_that_keeps_by_itself_only_says_so(signs: Path) -> None:
    agent.on_checkpoint(lambda: None)
    os.kill(os.getpid(), signal.SIGUSR2)
    until((signs / "written").exists, within_s=30)
    assert agent.load("nothing") == "nothing"


def test_between_units_one_may_look_and_the_checkpoint_is_the_answer(signs: Path) -> None:
    assert not agent.checkpoint_asked()
    assert agent.checkpoint([1]) and not (signs / "written").exists()
    (signs / "asked").touch()
    assert agent.checkpoint_asked()
    assert agent.checkpoint([2]) and (signs / "written").exists()
    assert agent.load() == [2]


def test_what_cannot_be_kept_leaves_what_was(signs: Path) -> None:
    agent.checkpoint({"good": True}, "mine")
    with pytest.raises(TypeError):
        agent.checkpoint({"bad": object()}, "mine")
    assert agent.load(name="mine") == {"good": True}
    (signs / "kept/other.json").write_text("{", encoding="ascii")
    with pytest.raises(ValueError, match=r"other\.json holds no checkpoint"):
        agent.load(name="other")


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".hidden", "a\0b"])
def test_a_checkpoints_name_is_a_file_name(name: str) -> None:
    with pytest.raises(ValueError, match="plain file name"):
        agent.checkpoint(1, name)


@pytest.mark.parametrize(
    ("after", "written"),
    [
        (90, "90.0"),
        (-3, "0.0"),
        ("Mon, 16 Nov 2026 17:36:40 GMT\n", "Mon, 16 Nov 2026 17:36:40 GMT"),
        (datetime(2026, 11, 16, 18, tzinfo=UTC), "2026-11-16T18:00:00+00:00"),
    ],
)
def test_later_ends_with_75_and_says_when(
    signs: Path, after: float | str | datetime, written: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        agent.later(after)
    assert ended.value.code == 75
    assert (signs / "later").read_text(encoding="ascii") == written


def test_later_without_a_time_says_none(signs: Path) -> None:
    with pytest.raises(SystemExit):
        agent.later()
    assert not (signs / "later").exists()


@pytest.mark.parametrize("after", [float("nan"), float("inf"), datetime(2026, 11, 16)])
def test_what_is_no_time_is_the_programs_mistake(after: float | datetime) -> None:
    with pytest.raises(ValueError, match="later: "):
        agent.later(after)


def test_ready_makes_the_file(signs: Path) -> None:
    assert agent.ready() and (signs / "ready").exists()


@pytest.mark.parametrize(("said", "resumed"), [("1", True), ("", False), ("0", False)])
def test_whether_it_goes_on_where_another_was(
    monkeypatch: pytest.MonkeyPatch, said: str, resumed: object
) -> None:
    monkeypatch.setenv("PADDOCK_RESUME", said)
    assert agent.resumed is resumed
    with pytest.raises(AttributeError, match="no attribute 'resume'"):
        _ = agent.resume  # type: ignore[attr-defined]


ALONE = """
import json, os, sys
from paddock import agent
agent.on_soft_timeout(lambda: None); agent.on_checkpoint(lambda: {"a": 1})
said = [agent.checkpoint({}), agent.load(7), agent.ready(), agent.resumed, agent.memory().used > 0]
said += [agent.soft_timeout_passed(), agent.checkpoint_asked(), str(agent.checkpoint_dir())]
print(json.dumps([said, sorted(name for name in sys.modules if name.startswith("paddock"))]))
os.kill(os.getpid(), 12)
agent.later(5)
"""


def test_without_paddock_all_of_it_quietly_says_no() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PADDOCK_")}
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (75, "")
    said, loaded = json.loads(done.stdout)
    assert said == [False, 7, False, False, True, False, False, "None"]
    rooms = {name.split(".")[1] for name in loaded if "." in name}
    assert rooms == {"agent"}, "it brings nothing of paddock along"
