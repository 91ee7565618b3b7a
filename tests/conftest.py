"""How the whole suite behaves: every skip is counted, and in CI an unexpected one is a failure."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.utils.conventions import not_set

T = TypeVar("T")

# A skip passes in CI only if its reason begins with one of these: each says what the machine
# lacks, and somewhere else the test does run.
ALLOWED_SKIPS: tuple[str, ...] = ()

# A loaded two-core machine is slow, not wrong: the suite's timeout catches what hangs.
# In CI the same examples are drawn each time: what a lucky draw finds belongs to whoever hunts for
# it (`make hunt`, and every run at a desk), not to the change that happened to be tested then.
IN_CI = os.environ.get("CI") == "true"
settings.register_profile(
    "paddock",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=IN_CI,
    database=None if IN_CI else not_set,
)
settings.load_profile("paddock")


def unexpected(skips: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of the (test, reason) pairs that no allowed reason covers."""
    return [skip for skip in skips if not skip[1].startswith(ALLOWED_SKIPS or ("\0",))]


TOLD_LINES: Final = 40


class SkipCounter:
    """Gathers skips from tests and from whole modules, in the main process only."""

    def __init__(self) -> None:
        # A set: with xdist every worker reports a skipped module.
        self.skips: set[tuple[str, str]] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skips.add((report.nodeid, _reason(report.longrepr)))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skips.add((report.nodeid, _reason(report.longrepr)))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if IN_CI and unexpected(self.skips):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"skipped: {len(self.skips)}")
        for test, reason in sorted(unexpected(self.skips)):
            terminalreporter.write_line(f"  unexpected skip (fails in CI): {test}: {reason}")
        for report in terminalreporter.stats.get("rerun", ()):
            # It passed when it was tried again, so nobody else tells what had gone wrong.
            terminalreporter.write_sep("-", f"tried again: {report.nodeid}")
            terminalreporter.write_line("\n".join(report.longreprtext.splitlines()[-TOLD_LINES:]))


def pytest_configure(config: pytest.Config) -> None:
    # A shell's `&` has them ignored, and whatever a test starts would never hear a Ctrl-C.
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipCounter(), "skip-counter")


# The longest of all by far. A worker that came to one last would be waited for alone.
FIRST: Final = "tests/guest/test_vm.py::"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
        items[:] = longest_first(items, workers, is_long=lambda one: one.nodeid.startswith(FIRST))


def longest_first(items: list[T], workers: int, *, is_long: Callable[[T], bool]) -> list[T]:
    """Each at the beginning of another worker's part: `--dist worksteal` gives out equal parts."""
    found, rest = [one for one in items if is_long(one)], [one for one in items if not is_long(one)]
    left, begin = len(items), 0
    for number in range(workers):
        if found:
            rest.insert(begin, found.pop(0))
        part = left // (workers - number)
        left, begin = left - part, begin + part
    return [*found, *rest]


def _reason(longrepr: object) -> str:
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return str(text).removeprefix("Skipped: ")
