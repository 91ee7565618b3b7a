"""10,000 mixed runs on 1,536 GB and 192 cores: time and memory of the simulator itself.

Target: under 15 s and 500 MB. The ratio to a bare loop of the same interpreter in the same run says
more than the seconds: these machines vary by a factor of two.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

from ground import keep

LOOPS = 10_000_000
HOST = ["--ram", "1536G", "--cpus", "192"]
FLEET = ["--runs", "10000", "--workload", "mixed", "--seed", "1"]
COMMAND = ["simulate", *HOST, *FLEET, "--json"]


def bare_loop_s() -> float:
    begun = time.perf_counter()
    total = 0
    for number in range(LOOPS):
        total += number
    return time.perf_counter() - begun


def main() -> int:
    paddock = Path(sys.executable).with_name("paddock")
    loop_s = bare_loop_s()
    begun = time.perf_counter()
    first = subprocess.run([paddock, *COMMAND], capture_output=True, check=True).stdout
    taken_s = time.perf_counter() - begun
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    second = subprocess.run([paddock, *COMMAND], capture_output=True, check=True).stdout
    print(f"{taken_s:.1f} s, {peak_mb:.0f} MB, {taken_s / loop_s:.1f} × a loop of ten million")
    print(f"the same bytes twice: {first == second}")
    keep("simulate", {"seconds": taken_s, "peak_mb": peak_mb, "of_a_loop": taken_s / loop_s})
    return 0 if taken_s < 15 and peak_mb < 500 and first == second else 1


if __name__ == "__main__":
    sys.exit(main())
