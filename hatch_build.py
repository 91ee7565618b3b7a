"""Compiles the shim where there is a C compiler; without one a shell does what it does."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # not while a package is built: `python hatch_build.py`, for a checkout
    BuildHookInterface = object

SOURCE = Path("src/paddock/drivers/local/keeper/shim.c")
PROGRAM = SOURCE.with_name("shim-1")  # the version of what it is told, see shim.py
FLAGS = ("-Os", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-pie")
MORE = ("-no-pie", "-fno-builtin", "-fno-asynchronous-unwind-tables", "-Wl,--build-id=none")


class CompileShim(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if self.target_name != "wheel" or not compiled(Path(self.root)):
            return
        build_data["artifacts"].append(f"/{PROGRAM}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-linux_{platform.machine()}"


def compiled(root: Path) -> bool:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or platform.system() != "Linux":
        return False
    made = root / f"{PROGRAM}.{os.getpid()}"
    words = [compiler, *FLAGS, *MORE, "-o", str(made), str(root / SOURCE)]
    try:
        subprocess.run(words, check=True, capture_output=True, timeout=60)
        made.replace(root / PROGRAM)
    except (OSError, subprocess.SubprocessError):
        made.unlink(missing_ok=True)
        return False
    return True


if __name__ == "__main__":
    compiled(Path(__file__).parent)
