"""`paddock top` in a real terminal (tmux), on a real daemon: as somebody who types sees it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.house import House, a_house, shell
from tests.kit.waiting import until

PADDOCK = [sys.executable, "-P", "-m", "paddock"]
PATIENCE_S = 45.0


class Terminal:
    def __init__(self, house: House) -> None:
        self._house = house
        self._tmux = ["tmux", "-L", f"paddock-{uuid.uuid4().hex}", "-f", "/dev/null"]

    def _do(self, *words: str) -> str:
        done = subprocess.run(
            [*self._tmux, *words], env=self._house.env, capture_output=True, text=True, check=True
        )
        return done.stdout

    def run(self, *words: str, **env: str) -> None:
        given = [f"{name}={text}" for name, text in env.items()]
        command = shlex.join(["env", *given, *PADDOCK, *words])
        line = f"{command}; echo ended with $?; read -r _"
        self._do("new-session", "-d", "-s", "one", "-x", "80", "-y", "24", line)

    def type(self, *keys: str) -> None:
        self._do("send-keys", "-t", "one", *keys)

    def text(self, *, colours: bool = False) -> str:
        return self._do("capture-pane", "-p", "-t", "one", *(["-e"] if colours else []))

    def shows(self, *texts: str) -> str:
        give_up_at = time.monotonic() + PATIENCE_S
        while not all(text in (screen := self.text()) for text in texts):
            assert time.monotonic() < give_up_at, f"waited in vain for {texts}\n{screen}"
            time.sleep(0.05)
        return screen

    def end(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path) as one:
        yield one


@contextmanager
def a_terminal(house: House) -> Iterator[Terminal]:
    terminal = Terminal(house)
    try:
        yield terminal
    finally:
        terminal.end()


def test_a_fleet_is_watched_and_acted_on_through_a_restart_of_the_daemon(house: House) -> None:
    house.start()
    talks = shell("talks", "n=0; while :; do n=$((n+1)); echo word $n; sleep 0.2; done")
    [run] = house.submit(talks).runs
    with a_terminal(house) as terminal:
        terminal.run("top")
        screen = terminal.shows("talks", "running", "word ", "[calm]", "F1Help")
        assert max(map(len, screen.splitlines())) <= 80
        before = house.daemon()["pid"]
        assert house.kill_daemon() == before
        until(lambda: "pid" in _daemon(house) and house.daemon()["pid"] != before, within_s=60)
        seen = last_word(terminal.text())
        until(lambda: last_word(terminal.text()) > seen + 5, within_s=PATIENCE_S)
        assert "No daemon" not in terminal.shows("talks", "running")
        terminal.type("F9")
        terminal.shows("Kill talks")
        terminal.type("f")
        terminal.shows("cancelled norm")
        terminal.type("q")
        assert "ended with 0" in terminal.shows("ended with")
    assert house.ended([run.id])[0].outcome == "cancelled"


def last_word(screen: str) -> int:
    return max(map(int, re.findall(r"word (\d+)", screen)), default=0)


def _daemon(house: House) -> dict[str, object]:
    try:
        return house.daemon()
    except Exception:  # noqa: BLE001 - it is being restarted
        return {}


def test_what_is_typed_in_one_breath_is_typed_and_no_command(house: House) -> None:
    house.start()
    house.submit(shell("quiet", "sleep 600"), shell("beside", "sleep 600"))
    with a_terminal(house) as terminal:
        terminal.run("top")
        terminal.shows("quiet", "beside", "F1Help")
        terminal.type("/quiet", "Enter")
        assert "beside" not in terminal.shows("filter: quiet", "F1Help")
        terminal.type("Escape")
        terminal.shows("quiet", "beside")
        terminal.type("/a/b", "Enter")
        terminal.shows("filter: a/b")


def test_where_there_are_no_colours_none_are_sent(house: House) -> None:
    house.start()
    house.submit(shell("one", r"printf '\033[31mred\033[0m\n'; sleep 600"))
    for env in ({"NO_COLOR": "1"}, {"TERM": "vt100"}):
        with a_terminal(house) as terminal:
            terminal.run("top", **env)
            terminal.shows("one", "running", "red")
            drawn = terminal.text(colours=True)
            assert "\x1b[7m" in drawn or ";7m" in drawn, "what is chosen stands out all the same"
            assert not [code for code in ("[31m", "[32m", "[33m", "[36m") if code in drawn]
            terminal.type("q")
            terminal.shows("ended with 0")


def test_a_terminal_that_cannot_be_drawn_on_is_told_so(house: House) -> None:
    with a_terminal(house) as terminal:
        terminal.run("top", TERM="dumb")
        screen = terminal.shows("ended with 2")
        assert "'dumb' (TERM) cannot be drawn on; use: paddock status" in screen.replace("\n", "")
    done = house.paddock("top")
    assert done.returncode == 2
    assert done.stderr == (
        "paddock: top draws on a terminal, and this is none; in scripts use: paddock top --json\n"
    )


def test_one_look_can_be_had_as_json(house: House) -> None:
    house.start()
    [run] = house.submit(shell("one", "sleep 600")).runs
    look = house.told("top")
    assert [one["id"] for one in look["runs"]] == [run.id]
    assert look["status"]["counts"]["ended"] == 0
    assert look["memory"][0]["cpu_s"] is not None


def test_without_textual_it_says_how_to_get_it(house: House) -> None:
    (house.home / "textual").mkdir()
    (house.home / "textual/__init__.py").write_text("raise ImportError", encoding="utf-8")
    with a_terminal(house) as terminal:
        terminal.run("top", PYTHONPATH=str(house.home))
        screen = terminal.shows("ended with 2").replace("\n", "")
        assert "top needs the package textual, which is not installed" in screen
        assert "pip install '.[tui]' in paddock's checkout" in screen
