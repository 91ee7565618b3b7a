"""What a metrics server says of agents: taken as it is, and never guessed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import pytest

from paddock.cluster.client import POD_METRICS, ClusterTrouble, Kind, Refused
from paddock.core.run import Attempt
from paddock.drivers.kubernetes.gauging import Gauge, usage_in
from paddock.drivers.kubernetes.life import Life

Object = dict[str, Any]
POD = "pd-1-a-1-x"


def figures(memory: str = "2Gi", cpu: str = "500m", *, pod: str = POD) -> Object:
    agent = {"name": "agent", "usage": {"memory": memory, "cpu": cpu}}
    other = {"name": "sidecar", "usage": {"memory": "9Gi", "cpu": "9"}}
    return {"metadata": {"name": pod}, "containers": [other, agent]}


class Server:
    """As much of `Api` as a gauge asks: each answer is the next that was laid out."""

    def __init__(self, *answers: list[Object] | Exception) -> None:
        self._answers = list(answers)
        self.asked = 0
        self.done = asyncio.Event()

    async def list(self, kind: Kind, **_: Any) -> tuple[list[Object], str]:
        assert kind is POD_METRICS
        self.asked += 1
        answer = self._answers.pop(0)
        if not self._answers:
            self.done.set()
        if isinstance(answer, Exception):
            raise answer
        return answer, ""


def a_life(*, started: bool = True) -> Life:
    life = Life(Attempt("a", 1), "pd-1-a-1", "mark", lambda _: None)
    life.started, life.pod = started, {"metadata": {"name": POD}}
    return life


def gauged(life: Life, *answers: list[Object] | Exception) -> Server:
    async def looking() -> Server:
        server = Server(*answers)
        gauge = Gauge(server, {}, {life.attempt: life}, every_s=0.001)  # type: ignore[arg-type]
        task = asyncio.ensure_future(gauge.look())
        await asyncio.wait_for(server.done.wait(), 20)
        await asyncio.sleep(0.01)
        task.cancel()
        return server

    return _run(looking)


def _run(work: Callable[[], Awaitable[Server]]) -> Server:
    async def whole() -> Server:
        return await work()

    return asyncio.run(whole())


def test_only_the_agents_container_is_read() -> None:
    assert usage_in(figures("2Gi"), "memory") == 2 << 30
    assert usage_in(figures(cpu="250m"), "cpu") == Decimal("0.25")


@pytest.mark.parametrize("wrong", ["much", "", "2Gb"])
def test_a_figure_that_is_no_quantity_is_none(wrong: str) -> None:
    assert usage_in(figures(wrong), "memory") == 0
    assert usage_in({"containers": []}, "memory") == 0


def test_what_is_used_now_and_the_most_that_was_are_kept_apart() -> None:
    life = a_life()
    gauged(life, [figures("3Gi")], [figures("1Gi")])
    assert (life.used_bytes, life.peak_bytes) == (1 << 30, 3 << 30)


def test_cpu_time_is_the_sum_of_rates_from_the_second_look_on() -> None:
    life = a_life()
    gauged(life, [figures(cpu="2")])
    assert life.cpu_s == 0.0
    gauged_at = life.gauged_at
    assert gauged_at is not None
    life.gauged_at = gauged_at - 10.0
    gauged(life, [figures(cpu="2")])
    assert life.cpu_s >= 19.0


def test_of_one_that_is_not_among_them_nothing_is_known() -> None:
    life = a_life()
    gauged(life, [figures(pod="another")])
    assert (life.used_bytes, life.peak_bytes) == (0, 0)


def test_one_that_is_over_keeps_what_was_known_of_it() -> None:
    life = a_life()
    gauged(life, [figures("3Gi")])
    life.over = True
    other = a_life()

    async def looking() -> None:
        server = Server([figures("5Gi")])
        lives = {life.attempt: life, Attempt("b", 1): other}
        gauge = Gauge(server, {}, lives, every_s=0.001)  # type: ignore[arg-type]
        task = asyncio.ensure_future(gauge.look())
        await asyncio.wait_for(server.done.wait(), 20)
        await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(looking())
    assert life.used_bytes == 3 << 30 and other.used_bytes == 5 << 30


@pytest.mark.parametrize(
    "trouble", [Refused(404, "NotFound", "no such thing"), ClusterTrouble("nobody answers")]
)
def test_without_a_metrics_server_it_is_asked_seldom_and_nothing_is_guessed(
    trouble: Exception,
) -> None:
    life = a_life()
    server = gauged(life, trouble)
    assert server.asked == 1  # the next time is a minute later
    assert (life.used_bytes, life.peak_bytes, life.cpu_s) == (0, 0, 0.0)
