"""The tests of tests/vm that this machine cannot run itself, in a guest: one boot for many."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.kit.guest import Answer, Guest, Pid1
from tests.kit.guest_kernel import NoGuest
from tests.kit.guest_place import left_for_guests

BUDGET_S = 1800


@pytest.mark.flaky(reruns=0)  # A boot is long: what fails is tried again inside the guest.
@pytest.mark.timeout(BUDGET_S + 60)  # A first boot fetches the kernel as well.
@pytest.mark.parametrize(("pid1", "chosen"), left_for_guests())
def test_what_needs_a_guest_passes_in_one(
    pid1: Pid1, chosen: str, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    report = tmp_path / "junit.xml"
    try:
        answer = run_pytest(pid1, chosen, report)
    except NoGuest as lacking:
        pytest.skip(f"no guest: {lacking}")
    show(str(answer).encode())
    cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    for case in cases:
        with subtests.test(msg=f"{case.get('classname')}::{case.get('name')}"):
            _fail_with(complaints(case))
    # Also what no single test shows: a boot that failed, a module that did not import.
    _fail_with("" if answer.code == 0 else f"the guest {answer.ending}; its output is below")
    assert cases, "no test ran in the guest"


def run_pytest(pid1: Pid1, chosen: str, report: Path) -> Answer:
    plugins = ("-p", "no:cacheprovider", "-p", "pytest_timeout", "-p", "pytest_rerunfailures")
    # Emulated, and beside whatever else runs: what takes seconds on a machine takes minutes here.
    patient = ("--reruns=2", "-o", "timeout=600")
    options = ("-v", *patient, "--junitxml=/run/guest/junit.xml", "-m", chosen)
    # A guest lacks nothing, so inside it every skip is a failure, as in CI. And plugins that these
    # tests have no use for took 20 s to load and rewrite under emulation.
    guest = Guest(pid1, env={"CI": "true", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    return guest.run(
        [sys.executable, "-m", "pytest", *plugins, *options, "tests/vm"],
        within_s=BUDGET_S,
        hear=show,
        fetch=[("junit.xml", report)],
    )


def complaints(case: ElementTree.Element) -> str:
    """A skip is one too."""
    kinds = ("failure", "error", "skipped")
    return "\n".join(f"{part.tag}: {part.text}" for part in case if part.tag in kinds)


def _fail_with(complaint: str) -> None:
    """Word for word: an assertion would shorten it."""
    if complaint:
        pytest.fail(complaint, pytrace=False)


def show(output: bytes) -> None:
    """Seen with `pytest -s`, as in `make test-vm`, and when the test fails."""
    sys.stdout.write(output.decode(errors="replace"))
    sys.stdout.flush()
