"""What if: how many agents fit, and how long a fleet would take, on a host of another size.

The answers are those of `paddock capacity` and `paddock simulate`, which are run as children: one
at a time, for so long at most, and ended when the question has changed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from nicegui import ui

from paddock.client.faces import format_duration, format_size

from .feed import Feed
from .parts import Tile, box, card, heading, text

GIB: Final = 1 << 30
MIB: Final = 1 << 20
HOSTS: Final = tuple(size * GIB for size in (8, 16, 32, 64, 128, 256, 512, 1024, 1536, 2048))
RUNS: Final = (50, 100, 200, 400, 700, 1000, 1500, 2000)
WORKLOADS: Final = ("mixed", "steady", "bursty", "builds", "storm", "leaky")
WITHIN_S: Final = 60.0
QUIET_S: Final = 0.4  # a slider that moves is not asked at every step
_NICE: Final = ("nice", "-n", "10")


def memory_here() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def whole_mib(size: int) -> int:
    return size // MIB * MIB


class Child:
    """One command of paddock at a time; the one before is ended."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def ask(self, *words: str) -> dict[str, Any]:
        self.end()
        command = (*_NICE, sys.executable, "-P", "-m", "paddock", *words, "--json")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        self._process = process
        try:
            said, wrong = await asyncio.wait_for(process.communicate(), WITHIN_S)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
        if process.returncode != 0:
            message = wrong.decode("utf-8", "replace").strip().removeprefix("paddock: ")
            raise ValueError(message or "it was broken off")
        answer: dict[str, Any] = json.loads(said)
        return answer

    def end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()


class Capacity:
    def __init__(self, feed: Feed) -> None:
        self._child = Child()
        host = feed.status.host if feed.status else None
        self._here = whole_mib(host.total_bytes if host else memory_here())
        self._hosts = sorted({*HOSTS, self._here})
        self._task: asyncio.Task[None] | None = None
        # So few that a small host, which takes long for many, has answered after some seconds.
        self._host, self._runs = self._hosts.index(self._here), 1
        self._workload = WORKLOADS[0]
        self._note = heading("Capacity", "what if the host were larger, or the fleet")
        with box("pd-grid"):
            with card("The question"):
                self._ask()
            with card("Agents that fit"), box("pd-tiles two"):
                self._safe, self._kept = Tile("Safe at once"), Tile("Kept for the host")
            with card("What would happen", classes="wide"):
                with box("pd-tiles"):
                    self._time, self._waits = Tile("All done after"), Tile("Wait for a start")
                    self._at_once, self._peak = Tile("At work at once"), Tile("Memory at most")
                    self._trouble = Tile("Trouble")
                self._sentence = text("", "pd-dim")
        ui.context.client.on_delete(self._leave)
        self._changed()

    def _leave(self) -> None:
        self._child.end()
        if self._task is not None:
            self._task.cancel()

    def _ask(self) -> None:
        self._host_word = self._slider(
            "Memory of the host", len(self._hosts), self._host, lambda to: self._choose(host=to)
        )
        self._runs_word = self._slider(
            "Number of runs", len(RUNS), self._runs, lambda to: self._choose(runs=to)
        )
        with box("pd-select", "label"):
            text("Kind of work")
            chosen = box("", "select").props('aria-label="Kind of work"')
            with chosen:
                for word in WORKLOADS:
                    with box("", "option").props(f'value="{word}"'):
                        text(word)
        chosen.on(
            "change",
            lambda event: self._choose(workload=str(event.args)),
            js_handler="(event) => emit(event.target.value)",
        )

    @staticmethod
    def _slider(label: str, steps: int, value: int, moved: Callable[[int], None]) -> ui.label:
        """The browser's own, which keys move too; gives back the words above it."""
        with box("pd-slider"):
            words = text("")
            slider = box("", "input").props(
                f'type="range" min="0" max="{steps - 1}" step="1" value="{value}" '
                f'aria-label="{label}"'
            )

        def heard(event: Any) -> None:
            to = str(event.args)
            if to.isdecimal() and int(to) < steps:
                moved(int(to))

        slider.on("input", heard, js_handler="(event) => emit(event.target.value)")
        return words

    def _choose(
        self, *, host: int | None = None, runs: int | None = None, workload: str | None = None
    ) -> None:
        self._host = self._host if host is None else host
        self._runs = self._runs if runs is None else runs
        self._workload = workload if workload in WORKLOADS else self._workload
        self._changed()

    def _changed(self) -> None:
        size = self._hosts[self._host]
        who = "This host, with" if size == self._here else "Host with"
        self._host_word.set_text(f"{who} {format_size(size)} of memory")
        self._runs_word.set_text(f"Fleet of {RUNS[self._runs]:,} runs")
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._answer())

    async def _answer(self) -> None:
        await asyncio.sleep(QUIET_S)
        host, runs = f"{self._hosts[self._host] // MIB}M", str(RUNS[self._runs])
        self._note.set_text("simulating")
        try:
            fits = await self._child.ask("capacity", "--ram", host)
            self._show_fit(fits)
            words = ("--ram", host, "--runs", runs, "--workload", self._workload)
            self._show(await self._child.ask("simulate", *words))
            self._note.set_text(
                "by the code that schedules, with pretend agents; the same each time"
            )
        except (ValueError, OSError) as error:
            self._note.set_text(str(error))
        except TimeoutError:
            self._note.set_text(f"no answer within {format_duration(WITHIN_S)}: ask for fewer runs")

    def _show_fit(self, fits: dict[str, Any]) -> None:
        each = format_size(int(fits["per_agent_bytes"]))
        usual = f"{fits['recommended_agents']} recommended, {each} each"
        self._safe.show(f"{fits['max_agents']:,}", usual)
        kept, total = int(fits["host_reserve_bytes"]), int(fits["total_bytes"])
        self._kept.show(format_size(kept), f"of {format_size(total)}", percent=100 * kept / total)

    def _show(self, found: dict[str, Any]) -> None:
        makespan, best = float(found["makespan_s"]), float(found["clairvoyant_s"])
        ratio = f"{makespan / best:.2f} × of perfect foresight" if best else ""
        self._time.show(format_duration(round(makespan)), ratio)
        waits = found["wait_s"]
        late = f"95 % within {format_duration(round(float(waits['p95'])))}"
        self._waits.show(format_duration(round(float(waits["p50"]))), f"half of them; {late}")
        most = f"on average; {found['peak_agents']} at most"
        self._at_once.show(f"{float(found['mean_agents']):.0f}", most)
        peak, wall = int(found["peak_bytes"]), int(found["wall_bytes"])
        of_wall = f"of the fleet's {format_size(wall)}"
        self._peak.show(format_size(peak), of_wall, percent=100 * peak / max(1, wall))
        killed, moved = int(found["oom_kills"]), int(found["preemptions"])
        self._trouble.show(f"{killed + moved}", f"{killed} killed for memory, {moved} preempted")
        outcomes = ", ".join(f"{count} {name}" for name, count in found["outcomes"].items())
        self._sentence.set_text(f"Ended: {outcomes}.")
