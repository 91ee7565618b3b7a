"""The store's own thread: one piece after the other, told in the loop."""

from __future__ import annotations

import threading

import pytest

from paddock.supervisor.disk import Disk
from tests.kit.supervising import in_a_loop, until


def test_work_is_done_in_a_thread_in_order_and_told_in_the_loop() -> None:
    async def scenario() -> None:
        disk, told = Disk(), list[tuple[int, int]]()
        own = threading.get_ident()
        for n in range(5):
            disk.do(
                lambda n=n: (n, threading.get_ident()),  # type: ignore[misc]
                lambda found, error: told.append(found or (-1, -1)),  # noqa: ARG005
            )
        await until(lambda: len(told) == 5)
        assert [n for n, _ in told] == list(range(5))
        assert own not in {thread for _, thread in told}
        await disk.close()

    in_a_loop(scenario)


def test_what_goes_wrong_is_told_to_whoever_asked() -> None:
    async def scenario() -> None:
        disk = Disk()

        def wrong() -> None:
            raise OSError("no disk")

        with pytest.raises(OSError, match="no disk"):
            await disk.result_of(wrong)
        assert await disk.result_of(lambda: 7) == 7
        await disk.close()

    in_a_loop(scenario)
