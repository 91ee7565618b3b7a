"""How long `paddock status` takes, against a Python that does nothing at all.

Target: at most 12 × `python -I -c pass` of the same interpreter, with compiled modules, as they are
where paddock is installed. Its rooms are imported from their .pyc, which are made here first.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from ground import Ground, a_ground, keep

ROUNDS = 40
MOST = 12.0
CONFIG = "performance_profile: host\n"
SOURCE = Path(__file__).parents[1] / "src"
STATUS = [str(Path(sys.executable).with_name("paddock")), "status"]
NOTHING = [sys.executable, "-I", "-c", "pass"]


def taken_s(words: list[str], env: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(words, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def measure(ground: Ground) -> tuple[list[float], list[float]]:
    """In turn, so that both meet the same machine."""
    status, nothing = [], []
    for _ in range(ROUNDS):
        nothing.append(taken_s(NOTHING, ground.env))
        status.append(taken_s(STATUS, ground.env))
    return status, nothing


def main() -> int:
    compileall.compile_dir(SOURCE, quiet=2, workers=1)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with a_ground(CONFIG) as ground:
        taken_s(STATUS, ground.env)
        status, nothing = measure(ground)
    status_s, nothing_s = statistics.median(status), statistics.median(nothing)
    ratio = statistics.median(s / n for s, n in zip(status, nothing, strict=True))
    print(f"paddock status {status_s * 1000:.1f} ms (least {min(status) * 1000:.1f})")
    print(f"python -I -c pass {nothing_s * 1000:.1f} ms (least {min(nothing) * 1000:.1f})")
    figures = {"status_ms": round(status_s * 1000, 2), "python_ms": round(nothing_s * 1000, 2)}
    keep("status", figures | {"ratio": round(ratio, 2)})
    missed = "" if ratio <= MOST else "  MISSED"
    print(f"paddock status / python: {ratio:.1f} (at most {MOST:g}){missed}")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
