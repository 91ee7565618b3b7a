"""How a run's output is to be kept is known as long as anybody goes by it, and no longer."""

from __future__ import annotations

import threading
from pathlib import Path

from paddock.core.run import Attempt
from paddock.logs.keeping import LOGS_LABEL, logs_label
from paddock.logs.output import OutputStore
from paddock.logs.packers import Packing
from paddock.ports import Launch
from tests.kit.waiting import until

LABELS = {LOGS_LABEL: logs_label(100, 1000, files=3, full=True)}
FIRST, SECOND = Attempt("run", 1), Attempt("run", 2)


def expect(store: OutputStore, attempt: Attempt) -> None:
    launch = Launch(
        attempt=attempt,
        command=("true",),
        environment={},
        directory=Path("/"),
        limit_bytes=1 << 20,
        resume=False,
        name="review",
        labels=LABELS,
    )
    store.intake.expect(launch)


def is_kept_so(store: OutputStore, attempt: Attempt, directory: Path) -> bool:
    """Whether it is cut at its own 100 bytes, and not at the usual ten million."""
    store.append(attempt, b"x" * 100)
    return not (directory / "run" / f"{attempt.number}.log").exists()


def test_after_its_last_attempt_nothing_is_known_of_a_run(tmp_path: Path) -> None:
    store = OutputStore(tmp_path, packers=0)
    expect(store, FIRST)
    assert is_kept_so(store, FIRST, tmp_path)
    store.intake.closed(FIRST)
    assert not is_kept_so(store, FIRST, tmp_path)


def test_an_attempt_that_ends_late_takes_nothing_from_the_next(tmp_path: Path) -> None:
    store = OutputStore(tmp_path, packers=0)
    expect(store, FIRST)
    expect(store, SECOND)
    store.intake.closed(FIRST)
    assert is_kept_so(store, SECOND, tmp_path)


def test_a_packer_is_at_a_run_until_it_is_done() -> None:
    go_on = threading.Event()
    packing = Packing(lambda _: go_on.wait(10), packers=1)
    packing.ask("run")
    assert packing.is_at("run") and not packing.is_at("another")
    go_on.set()
    until(lambda: not packing.is_at("run"))
    packing.close()
