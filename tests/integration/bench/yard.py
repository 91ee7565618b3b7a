"""Where `paddock bench` is called in a test, and what must not be left of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from paddock.bench import report
from paddock.bench.ceiling import NAME, label_of
from paddock.cgroups.mounts import directories_of
from paddock.config.places import Places
from tests.integration.container import engine_room
from tests.kit import leaks


class Yard:
    """Where it is called, and where its paddocks are made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "here").mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "PADDOCK_STATE": str(root / "state" / "paddock"),
            "LANG": "C.UTF-8",
        }

    def use_containers(self) -> None:
        """Of the tests' own podman, in the configuration of the user who calls it."""
        podman = engine_room.a_program(self.root / "bin")
        self.env |= engine_room.environment() | {"HOME": str(self.root)}
        self.env["PATH"] = f"{podman.parent}:{self.env['PATH']}"
        config = self.root / ".config/paddock/config.yaml"
        config.parent.mkdir(parents=True)
        image = f"container_image: '{engine_room.IMAGE}', container_network: none"
        config.write_text(f"sandbox: {{{image}}}\n", encoding="utf-8")

    def command(self, *words: str) -> dict[str, Any]:
        return {
            "args": [sys.executable, "-P", "-m", "paddock", "bench", *words],
            "env": self.env,
            "cwd": self.root / "here",
        }

    def bench(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            **self.command(*words), capture_output=True, text=True, check=False, timeout=110
        )

    def report(self, *words: str) -> report.Report:
        done = self.bench(*words, "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert Path(self.root / "here" / answer["page"]).read_text("utf-8").startswith("<!doctype")
        return report.read(self.root / "here" / answer["report"])

    def left(self) -> list[str]:
        """Paddocks, processes and cgroups of it."""
        state = self.root / "state"
        pens = [each.name for each in state.iterdir()] if state.exists() else []
        processes = list(leaks.commanded(str(self.root)))
        label = label_of(Places(state / "paddock"))
        groups = Path(directories_of()["memory"]).glob(f"{NAME}{label}-*")
        return [*pens, *map(str, processes), *map(str, groups)]


def figure(cell: report.Cell, name: str) -> float:
    return next(one.middle for one in cell.figures if one.name == name)
