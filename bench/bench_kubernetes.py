"""1,000 AgentRuns through the controller against the stand-in: none lost, none twice, few calls.

The controller runs in a process of its own, so that its memory is its own; the stand-in, which is
no part of what is measured, in this one. `--runs N` for another number. The quota of the source
would let twenty run at once; here sixty do, so that a thousand are done in minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from ground import keep

from paddock.cluster.agent_run import crd
from tests.kit.cluster.objects import CRD
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.cluster.standin import Cluster
from tests.kit.leaks import resident_bytes

MOST_CALLS = 12
MOST_BYTES = 200 << 20
OURS = ("jobs", "persistentvolumeclaims", "agentruns", "pods", "resourcequotas", "leases", "events")


def measure(runs: int, *, within_s: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as directory, Cluster(second_s=1.0) as cluster:
        return _measure(Path(directory), cluster, runs, within_s=within_s)


def _measure(place: Path, cluster: Cluster, runs: int, *, within_s: float) -> dict[str, object]:
    cluster.create(CRD, crd())
    cluster.set_quota(limits_memory="160Gi", limits_cpu="80", pods="60")
    for number in range(runs):
        spec = {"command": ["sleep=0.2", "exit=0"], "memory": "4G"}
        cluster.create(AGENT_RUNS, {"metadata": {"name": f"run-{number}"}, "spec": spec})
    controller = _controller(place, cluster)
    peak, began = 0, time.monotonic()
    try:
        while (outcomes := _outcomes(cluster))["succeeded"] < runs:
            if time.monotonic() - began > within_s or controller.poll() is not None:
                break
            peak = max(peak, resident_bytes(controller.pid))
            time.sleep(0.5)
        took_s = time.monotonic() - began
        if controller.poll() is not None:
            print((place / "log").read_text(encoding="utf-8")[-3000:], file=sys.stderr)
    finally:
        controller.terminate()
        controller.wait(30)
    calls = cluster.calls
    asked = sum(count for what, count in calls.items() if what.split()[1].split("/")[0] in OURS)
    begun = Counter(name.rsplit("-", 1)[0] for name in cluster.begun())
    return {
        "runs": runs,
        "outcomes": dict(outcomes),
        "lost": runs - outcomes["succeeded"],
        "twice": sum(1 for count in begun.values() if count > 1),
        "never": runs - len(begun),
        "took_s": round(took_s, 1),
        "calls": dict(calls),
        "calls_per_run": round(asked / runs, 2),
        "peak_mb": round(peak / (1 << 20), 1),
    }


def _controller(place: Path, cluster: Cluster) -> subprocess.Popen[bytes]:
    config = place / "config" / "paddock"
    config.mkdir(parents=True)
    kubeconfig = cluster.kubeconfig(place)
    text = f"kubernetes: {{kubeconfig: {kubeconfig}, image: 'agents:1', storage_class: default}}\n"
    (config / "config.yaml").write_text(text, encoding="utf-8")
    words = [sys.executable, "-m", "paddock", "kubernetes", "controller"]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(place / "config")}
    with (place / "log").open("wb") as log:
        return subprocess.Popen(
            [*words, "--health", "127.0.0.1:0"], env=environment, stderr=log, stdout=log
        )


def _outcomes(cluster: Cluster) -> Counter[str]:
    found = cluster.all(AGENT_RUNS)
    return Counter(str(one.get("status", {}).get("outcome")) for one in found)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--within", type=float, default=180.0)
    asked = parser.parse_args()
    found = measure(asked.runs, within_s=asked.within)
    print(json.dumps(found, indent=2))
    keep("kubernetes", found)
    calls, peak = found["calls_per_run"], found["peak_mb"]
    assert isinstance(calls, float) and isinstance(peak, float)
    assert (found["lost"], found["twice"], found["never"]) == (0, 0, 0)
    assert calls <= MOST_CALLS, calls
    assert peak * (1 << 20) <= MOST_BYTES, peak


if __name__ == "__main__":
    main()
