"""What the locks pin is what pyproject.toml allows, all of it, and by hashes."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.architecture.source import PROJECT

LOCKS = PROJECT / "packaging/locks"
PROJECT_FILE = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT_FILE["project"]["optional-dependencies"]
BASE = PROJECT_FILE["project"]["dependencies"]
ASKED = {
    "base": BASE,
    "kubernetes": [*BASE, *EXTRAS["kubernetes"]],
    "controller": [*BASE, *EXTRAS["controller"]],
    "all": [*BASE, *EXTRAS["tui"], *EXTRAS["web"], *EXTRAS["kubernetes"]],
    "dev": [*BASE, *EXTRAS["dev"], *EXTRAS["tui"]],
    "build": PROJECT_FILE["build-system"]["requires"],
}
PIN = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?: ; (?P<marker>[^\\]+?))? \\\n"
    r"(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
    re.MULTILINE,
)


def pins_of(name: str) -> dict[str, list[re.Match[str]]]:
    """By name; some are pinned twice, for different systems."""
    found: dict[str, list[re.Match[str]]] = {}
    for pin in PIN.finditer((LOCKS / f"{name}.txt").read_text(encoding="utf-8")):
        found.setdefault(canonicalize_name(pin["name"]), []).append(pin)
    return found


@pytest.mark.parametrize("name", ASKED)
def test_everything_that_is_asked_for_is_pinned_within_its_range(name: str) -> None:
    pins = pins_of(name)
    for text in ASKED[name]:
        asked = Requirement(text)
        for pin in pins[canonicalize_name(asked.name)]:
            assert Version(pin["version"]) in asked.specifier, text


@pytest.mark.parametrize("name", ASKED)
def test_a_lock_holds_pins_with_hashes_and_nothing_else(name: str) -> None:
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8")
    assert re.sub(PIN, "", text).strip().startswith("# Made by tools/lock")
    assert len(re.sub(PIN, "", text).strip().split("\n")) == 1
    assert "://" not in text


@pytest.mark.parametrize("name", ["base", "kubernetes", "controller", "all"])
def test_what_those_need_here_is_pinned_too(name: str) -> None:
    """By what the installed ones say that they need: no name is left for pip to choose."""
    pins = pins_of(name)
    for each in pins:
        try:
            needs = metadata.requires(each) or []
        except metadata.PackageNotFoundError:
            continue  # of an extra that is not installed here
        for text in needs:
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in pins, f"{each} needs {text}"


def test_the_image_is_built_from_the_locks() -> None:
    recipe = (PROJECT / "packaging/Containerfile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install [^&\n]*(?:\\\n[^&\n]*)*", recipe)
    assert len(installs) >= 3
    for one in installs:
        assert "--require-hashes -r" in one or "--no-deps" in one, one


# In a process of its own: whatever is no part of the lock cannot be imported there.
ONLY_THE_LOCK = """
import importlib.metadata as metadata, sys
allowed = set(sys.argv[1].split())
owners = metadata.packages_distributions()
class Wall:
    def find_spec(self, name, path=None, target=None):
        of = {one.lower().replace("_", "-") for one in owners.get(name.partition(".")[0], ())}
        if of and not of & allowed:
            raise ModuleNotFoundError(f"No module named {name!r}: not in the lock", name=name)
sys.meta_path.insert(0, Wall())
import pkgutil, paddock.controller, paddock.cluster, paddock.drivers.kubernetes
for room in (paddock.controller, paddock.cluster, paddock.drivers.kubernetes):
    for one in pkgutil.iter_modules(room.__path__, room.__name__ + "."):
        __import__(one.name)
from paddock.__main__ import main
sys.argv = ["paddock", "kubernetes", "controller", "--help"]
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
from paddock.cluster.client import Api, ClusterTrouble, Where
try:
    Api(Where(kubeconfig="/nowhere"))
except ClusterTrouble as trouble:
    assert "lightkube" not in str(trouble), trouble
"""


def test_the_lock_of_the_image_is_enough_for_a_controller() -> None:
    recipe = (PROJECT / "packaging/Containerfile").read_text(encoding="utf-8")
    assert "packaging/locks/controller.txt" in recipe
    pins = pins_of("controller")
    assert "kubernetes-validate" not in pins  # 108 MB that only `check` needs
    for dropped, code in (("", 0), ("httpx2", 1)):
        allowed = " ".join({*pins, "paddock"} - {dropped})
        done = subprocess.run(
            [sys.executable, "-c", ONLY_THE_LOCK, allowed],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr


ADVISORY = """
id: PYSEC-0-1
affected:
- package: {name: click, ecosystem: PyPI}
  ranges:
  - type: ECOSYSTEM
    events: [{introduced: "8.0"}, {fixed: "8.4"}, {introduced: "9.0"}]
"""


@pytest.mark.parametrize(
    ("version", "code"), [("7.9", 0), ("8.0", 1), ("8.3.9", 1), ("8.4", 0), ("9.1", 1)]
)
def test_the_audit_finds_what_is_known(tmp_path: Path, version: str, code: int) -> None:
    (tmp_path / "vulns/click").mkdir(parents=True)
    (tmp_path / "vulns/click/PYSEC-0-1.yaml").write_text(ADVISORY, encoding="utf-8")
    lock = tmp_path / "lock.txt"
    lock.write_text(f"click=={version} \\\n    --hash=sha256:0\n", encoding="utf-8")
    program = [sys.executable, str(PROJECT / "tools/advisories.py"), str(tmp_path / "none")]
    done = subprocess.run(
        [*program, str(tmp_path / "vulns"), str(lock)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert ("PYSEC-0-1" in done.stdout) == (code == 1)
    passed_over = subprocess.run([*program, "", str(lock)], capture_output=True, check=False)
    assert passed_over.returncode == 3  # nobody has looked


def test_markers_can_be_read() -> None:
    for pin in (pin for pins in pins_of("all").values() for pin in pins):
        assert pin["marker"] is None or str(Marker(pin["marker"].strip()))
