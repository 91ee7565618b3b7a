"""The image of the controllers, run as a cluster runs it: no root, no rights, nothing to write."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from paddock import __version__
from paddock.cluster.agent_run import crd
from tests.kit.cluster.objects import CRD, LEASE
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.cluster.standin import Cluster
from tests.kit.waiting import until

IMAGE = os.environ["PADDOCK_IMAGE"]
PODMAN = shlex.split(os.environ.get("PADDOCK_PODMAN", "podman"))
# As the Deployment has it.
HARD = [
    *("--read-only", "--read-only-tmpfs=false", "--tmpfs", "/tmp", "--cap-drop", "all"),
    *("--security-opt", "no-new-privileges", "--memory", "256m", "--memory-swap", "256m"),
]
LARGEST_BYTES = 250_000_000


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Words of podman, then the image and its own."""
    return subprocess.run(
        [*PODMAN, "run", "--rm", *HARD, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def told(*words: str) -> str:
    done = run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_runs_without_root_and_says_its_version() -> None:
    assert told(IMAGE, "--version") == f"paddock {__version__}\n"
    who = "import os; print(os.getuid(), os.getgid())"
    assert told("--entrypoint", "python", IMAGE, "-c", who) == "1000 1000\n"
    assert "--health" in told(IMAGE, "kubernetes", "controller", "--help")


def test_nothing_is_in_it_that_a_controller_does_not_need() -> None:
    look = "import importlib.util as u; print([n for n in {} if u.find_spec(n)])"
    names = ["pip", "setuptools", "kubernetes_validate", "jsonschema", "hatchling", "textual"]
    assert told("--entrypoint", "python", IMAGE, "-c", look.format(names)) == "[]\n"
    (found,) = json.loads(subprocess.check_output([*PODMAN, "image", "inspect", IMAGE], timeout=60))
    assert found["Size"] < LARGEST_BYTES


def test_what_it_lacks_is_said_in_one_line() -> None:
    done = run(IMAGE)
    assert done.returncode == 2
    assert done.stderr == "paddock: kubernetes.image: found none; name the image of agents\n"


@contextmanager
def controller(place: Path, cluster: Cluster) -> Iterator[subprocess.Popen[str]]:
    """With its settings where the ConfigMap is mounted, on the host's network."""
    kubeconfig = cluster.kubeconfig(place)
    kubeconfig.chmod(0o644)
    said = {"kubeconfig": "/etc/paddock/kubeconfig", "image": "agents:1"}
    (place / "config.yaml").write_text(yaml.safe_dump({"kubernetes": said}), encoding="utf-8")
    place.chmod(0o755)
    words = ["--network", "host", "--volume", f"{place}:/etc/paddock:ro", IMAGE]
    words += ["kubernetes", "controller", "--health", "127.0.0.1:0"]
    program = [*PODMAN, "run", "--rm", "--name", f"paddock-{place.name}", *HARD, *words]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as running:
        yield running
        running.terminate()


def test_a_controller_of_it_leads_and_takes_an_agent_run_to_its_end(tmp_path: Path) -> None:
    place = tmp_path / "settings"
    with Cluster(second_s=0.05) as cluster:
        cluster.create(CRD, crd())
        with controller(place, cluster) as running:
            spec = {"command": ["exit=0"]}
            cluster.create(AGENT_RUNS, {"metadata": {"name": "one"}, "spec": spec})

            def outcome() -> str | None:
                assert running.poll() is None, running.communicate()
                found = cluster.find(AGENT_RUNS, "one") or {}
                told: str | None = found.get("status", {}).get("outcome")
                return told

            assert until(outcome, 60) == "succeeded"
            running.terminate()
            _, said = running.communicate(timeout=30)
        assert running.returncode == 0, said
        assert "leads, term 1" in said and "Traceback" not in said
        lease = cluster.find(LEASE, "paddock-controller")
        assert lease is not None and lease["spec"]["holderIdentity"] == ""  # given back
