"""A scrape of 1,000 agents, against the same page written by prometheus-client; and of real ones.

Target: under 100 ms and 2 MB, the median of scrapes over the Unix socket. Once with pretend agents
of a server in a process of its own, which are in no cgroup; once with --real of them (1,000), small
processes that sleep, whose CPU a scrape looks at in their cgroups. Those need 16 MiB of room each.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ground import a_ground, cpu_s, keep
from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from paddock.client import Client
from paddock.config.places import Places
from paddock.core.events import Sampled
from paddock.wire.run_request import RunRequest

MOST_MS = 100.0
MOST_BYTES = 2_000_000
AGENTS = 1000
ROUNDS = 30
CPU_ROUNDS = 100
CONFIG = """\
performance_profile: host
performance: {max_concurrent_agents: 1000}
queue: {depth: 5000}
sandbox: {host_memory_reserve: 1G}
"""


def scrape(client: Client) -> tuple[float, bytes]:
    begun = time.perf_counter()
    page = b"".join(client.metrics())
    return time.perf_counter() - begun, page


def measured(client: Client) -> tuple[list[float], bytes]:
    _, page = scrape(client)
    times = []
    for _ in range(ROUNDS):
        took_s, page = scrape(client)
        times.append(took_s * 1000)
    return times, page


def request(number: int, *command: str) -> RunRequest:
    """In groups as a fleet has them: twenty of them."""
    group = f"claude@shop-{number % 20}/implementer"
    name = f"solve-issue-{number}"
    return RunRequest(name=name, command=command, memory_bytes=16 << 20, group=group)


def until_running(client: Client, count: int) -> None:
    give_up_at = time.monotonic() + 300
    while (counts := client.status().counts)["running"] < count:
        assert time.monotonic() < give_up_at, counts
        time.sleep(0.2)


def serve(directory: Path) -> None:
    """In the other process, until its stdin is closed."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.kit.desk import a_desk
    from tests.kit.factories import a_host, a_policy

    policy = a_policy(total="64G", queue_depth=5000)
    with a_desk(directory, policy=policy) as desk:
        desk.now(lambda: desk.supervisor.post(Sampled(0.0, a_host(total="64G"))))
        words = [request(n, "use=1M", "print=hello", "sleep=600") for n in range(AGENTS)]
        desk.submit(*words)
        print("ready", flush=True)
        sys.stdin.read()


@contextmanager
def a_served_fleet() -> Iterator[Client]:
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as directory:
        command = [sys.executable, __file__, "--serve", directory]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None and server.stdout is not None
            try:
                assert server.stdout.readline() == "ready\n"
                with Client(Places(Path(directory) / "state")) as client:
                    until_running(client, AGENTS)
                    yield client
            finally:
                server.stdin.close()


class Families:
    """The same page once more, for prometheus-client to write."""

    def __init__(self, page: bytes) -> None:
        self._families = list(text_string_to_metric_families(page.decode()))

    def collect(self) -> list[Metric]:
        return self._families


def by_the_library(page: bytes) -> float:
    families, times = Families(page), []
    for _ in range(5):
        begun = time.perf_counter()
        generate_latest(families)  # type: ignore[arg-type]
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


def pretend() -> dict[str, float]:
    with a_served_fleet() as client:
        times, page = measured(client)
    assert page.count(b"paddock_agent_memory_bytes{") == AGENTS
    series = sum(not line.startswith(b"#") for line in page.splitlines())
    found = {
        "scrape_ms": round(statistics.median(times), 1),
        "slowest_ms": round(max(times), 1),
        "bytes": len(page),
        "series": series,
        "library_writes_ms": round(by_the_library(page), 1),
    }
    for name, value in found.items():
        print(f"{AGENTS} pretend agents: {name} {value:,}")
    return found


def cpu_of_scrapes(client: Client, daemon: int) -> tuple[float, bytes]:
    """What one takes of a core, with what the daemon does meanwhile."""
    scrape(client)
    before, page = cpu_s(daemon), b""
    for _ in range(CPU_ROUNDS):
        _, page = scrape(client)
    return (cpu_s(daemon) - before) / CPU_ROUNDS, page


def real(count: int) -> dict[str, float]:
    with a_ground(CONFIG) as ground, ground.client() as client:
        daemon, _ = ground.pids()
        empty_s, _ = cpu_of_scrapes(client, daemon)
        client.submit(ground.order([request(n, "sleep", "600") for n in range(count)]))
        until_running(client, count)
        full_s, _ = cpu_of_scrapes(client, daemon)
        times, page = measured(client)
    assert page.count(b"paddock_agent_cpu_seconds_total{") == count
    found = {
        "agents": count,
        "scrape_ms": round(statistics.median(times), 1),
        "slowest_ms": round(max(times), 1),
        "bytes": len(page),
        "daemon_cpu_ms": round(full_s * 1000, 2),
        "empty_cpu_ms": round(empty_s * 1000, 2),
        "each_us": round((full_s - empty_s) * 1e6 / count, 1),
    }
    for name, value in found.items():
        print(f"{count} real agents: {name} {value:,}")
    return found


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--real", type=int, default=AGENTS, help=f"real agents ({AGENTS})")
    words.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.serve is not None:
        serve(given.serve)
        return 0
    figures = {"pretend": pretend(), "real": real(given.real)}
    keep("metrics", figures)
    is_met = True
    for name, found in figures.items():
        scrape_ms, size = found["scrape_ms"], found["bytes"]
        met = scrape_ms < MOST_MS and size < MOST_BYTES
        is_met = is_met and met
        wanted = f"{scrape_ms} ms (under {MOST_MS:g}), {size:,} bytes (under {MOST_BYTES:,})"
        print(f"{name}: {wanted}{'' if met else '  MISSED'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
