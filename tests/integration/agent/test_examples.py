"""The examples for agents, in every language and under every containment: preempted and resumed,
at the soft timeout, near the wall and over it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from paddock.wire.run_request import RunRequest
from paddock.wire.views import RunView
from tests.integration.agent.containments import (
    CONTAINMENTS,
    LANGUAGES,
    SLOTS,
    a_paddock,
    program,
)
from tests.kit.house import House, patiently
from tests.kit.waiting import until

MIB = 1 << 20
PATIENCE_S = 150.0
FOREVER = 100_000  # lines: no agent here comes to their end
LIMIT_MB = 128
LINES_NEAR = 40  # with a 32nd of the limit each: more than it in all


@pytest.mark.timeout(900)
@pytest.mark.parametrize("containment", CONTAINMENTS)
def test_agents_in_every_language_are_stopped_and_lose_nothing(
    containment: str, tmp_path: Path
) -> None:
    with a_paddock(tmp_path, containment) as house:
        herd = Herd(house)
        herd.are_preempted_and_come_to_the_same_end()
        herd.meet_their_limits()


class Herd:
    """One agent of each language."""

    def __init__(
        self,
        house: House,
        languages: Sequence[str] = LANGUAGES,
        *,
        patience_s: float = PATIENCE_S,
        limit_mb: int = LIMIT_MB,
    ) -> None:
        self.house = house
        self.limit_mb = limit_mb
        self.patience_s = patience_s
        self.programs = {language: program(language, house.home) for language in languages}
        assert len(self.programs) <= SLOTS
        house.start()

    # -- preempted ------------------------------------------------------------------------

    def are_preempted_and_come_to_the_same_end(self) -> None:
        """Nothing here hangs on how quick anybody is: they cannot end before they were stopped,
        nor go on before their file was cut to a length that all of them have yet to reach."""
        file, go = self.house.home / "lines", self.house.home / "go"
        write_lines(file, FOREVER)
        runs = self.submit("cut", file, "0.05")
        for run in runs.values():
            self.until_in_output(run, "line 3\n")
        wait = ("sh", "-c", f"while [ ! -e {go} ]; do sleep 0.1; done")
        urgent = [
            RunRequest(name=f"urgent-{n}", command=wait, priority="critical", memory_bytes=32 * MIB)
            for n in range(SLOTS)
        ]
        urgent_ids = [taken.id for taken in self.house.submit(*urgent).runs]
        for run in runs.values():
            until(lambda run=run: self.view(run).state == "queued", within_s=self.patience_s)  # type: ignore[misc]
        done = {name: self.kept_after(run) for name, run in runs.items()}
        total = max(done.values()) + 5
        write_lines(file, total)
        go.touch()
        ended = self.house.ended([*runs.values(), *urgent_ids], within_s=self.patience_s)
        assert {view.outcome for view in ended} == {"succeeded"}, ended
        for name, run in runs.items():
            assert self.output(run).splitlines() == expected(done[name], total), name

    def kept_after(self, run: str) -> int:
        found = re.search(r"makes room after line (\d+)\n$", self.output(run))
        assert found is not None, self.output(run)
        return int(found[1])

    # -- its limits -----------------------------------------------------------------------

    def meet_their_limits(self) -> None:
        short, endless = self.house.home / "short", self.house.home / "endless"
        write_lines(short, LINES_NEAR)
        write_lines(endless, FOREVER)
        late = self.submit("late", endless, "0.05", soft_timeout_s=1.0, timeout_s=600.0)
        near = self.submit("near", short, "0", str(self.limit_mb // 32))
        # Just below the wall, so that the kernel does not hold them before it for half a minute.
        more = str(self.limit_mb * 5 // 4)
        over = self.submit("over", endless, "0.05", more, memory_high_percent=99.0)
        runs = [*late.values(), *near.values(), *over.values()]
        self.house.ended(runs, within_s=2 * self.patience_s)
        for name in self.programs:
            self._wrapped_up(late[name])
            self._backed_off(near[name])
            view = self.view(over[name])
            assert view.outcome == "memory_limit_exceeded", (name, view, self.output(over[name]))

    def _wrapped_up(self, run: str) -> None:
        view, text = self.view(run), self.output(run)
        assert view.outcome == "succeeded", (view, text)
        done = len(re.findall(r"^line \d+$", text, re.MULTILINE))
        assert text.endswith(f"time is short: {3 * done} words in the first {done} lines\n"), text

    def _backed_off(self, run: str) -> None:
        view, text = self.view(run), self.output(run)
        assert view.outcome == "succeeded", (view, text)
        assert text.endswith(f"{3 * LINES_NEAR} words in {LINES_NEAR} lines\n"), text
        assert "lets go of" in text, text

    # -- asking ---------------------------------------------------------------------------

    def submit(self, prefix: str, file: Path, *words: str, **more: object) -> dict[str, str]:
        requests = [
            RunRequest(
                name=f"{prefix}-{name}",
                command=(*program, str(file), *words),
                memory_bytes=self.limit_mb * MIB,
                **more,  # type: ignore[arg-type]
            )
            for name, program in self.programs.items()
        ]
        taken = self.house.submit(*requests).runs
        return {name: one.id for name, one in zip(self.programs, taken, strict=True)}

    def view(self, run: str) -> RunView:
        def ask() -> RunView:
            with self.house.client() as client:
                return client.run(run)

        return patiently(ask)

    def output(self, run: str) -> str:
        return self.house.output(run).decode()

    def until_in_output(self, run: str, text: str) -> None:
        until(lambda: text in self.output(run), within_s=self.patience_s)


def write_lines(file: Path, count: int) -> None:
    """Each of three words. Under its name in one go: somebody may be reading."""
    fresh = file.with_suffix(".new")
    fresh.write_text("".join(f"line {n} *\n" for n in range(count)), encoding="ascii")
    fresh.replace(file)


def expected(done: int, total: int) -> list[str]:
    lines = [f"line {n}" for n in range(1, total + 1)]
    between = [f"makes room after line {done}", f"goes on after line {done}"]
    return [*lines[:done], *between, *lines[done:], f"{3 * total} words in {total} lines"]
