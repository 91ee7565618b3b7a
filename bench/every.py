"""What `make bench` does: every benchmark, held against the last release; then RESULTS.md.

A benchmark that looks worse than the release is run twice more before it is called so: one
measurement on a machine with other things to do says nothing. Ends with 1 if a target was missed,
a benchmark failed or a figure is worse. Names as arguments (`idle leaks`) run only those;
`--rounds N` runs each so often; `--table` writes RESULTS.md from what is there and runs none.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import releases
import table
from figures import ROWS

from paddock.bench.compare import Change

HERE = Path(__file__).parent
AGAIN = 2
Samples = dict[str, list[float]]


def main() -> int:
    asked = arguments()
    if asked.table:
        write_table()
        return 0
    scripts = chosen(asked.names)
    if not scripts:
        print(f"no such benchmark; there are: {', '.join(map(name_of, chosen([])))}")
        return 2
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    samples: Samples = {}
    failed = [name_of(one) for one in scripts if not all(run(one, samples, asked.rounds))]
    worse = judged(scripts, samples)
    write_table()
    for name in failed:
        print(f"missed or failed: {name}")
    if busy:
        print("the machine was busy when this began: its figures are not kept as a baseline")
    elif samples and not worse:
        print(f"kept in {releases.keep_samples(samples)}")
    return 1 if failed or worse else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


def chosen(names: Sequence[str]) -> list[Path]:
    """In order; the race has a directory of its own."""
    found = [*sorted(HERE.glob("bench_*.py")), *sorted(HERE.glob("*/__main__.py"))]
    return [path for path in found if not names or name_of(path) in names]


def name_of(script: Path) -> str:
    if script.name == "__main__.py":
        return script.parent.name
    return script.stem.removeprefix("bench_")


def run(script: Path, samples: Samples, rounds: int) -> list[bool]:
    """Whether it met its targets, each time; its figures are added to `samples`."""
    found = []
    for _ in range(rounds):
        print(f"== {name_of(script)}", flush=True)
        began = time.time()
        where = script.parent if script.name == "__main__.py" else script
        found.append(subprocess.run([sys.executable, where], check=False).returncode == 0)
        for row in ROWS:
            path = releases.RESULTS / f"{row.file}.json"
            if path.exists() and path.stat().st_mtime >= began and (value := row.read()):
                samples.setdefault(row.what, []).append(value[0])
    return found


def judged(scripts: Sequence[Path], samples: Samples) -> int:
    """How many figures are worse than the last release's, looked at again where they seem so."""
    before = releases.baseline()
    if before is None:
        print(f"no baseline to compare with yet: the first of {releases.__version__} is being made")
        return 0
    files = releases.suspects(releases.compared(before, samples))
    for script in scripts:
        if files & files_of(script, samples):
            print(f"{name_of(script)} looks worse than {before.paddock}: measured again")
            run(script, samples, AGAIN)
    worse = 0
    for one in releases.compared(before, samples):
        if one.change is not Change.SAME:
            print(f"against {before.paddock}: {one}")
        worse += one.change is Change.WORSE
    return worse


def files_of(script: Path, samples: Samples) -> set[str]:
    """What it writes is named as it is, but for those of walls and the like."""
    name = name_of(script)
    known = {row.file for row in ROWS if row.what in samples}
    return {file for file in known if file == name or file.startswith(f"{name}-")}


def write_table() -> None:
    path = HERE / "RESULTS.md"
    path.write_text(table.page(), encoding="utf-8")
    print(f"all figures: {path}")


if __name__ == "__main__":
    sys.exit(main())
