"""The ladder end to end on cgroup v2: the scenario of tests/integration/daemon/test_pressure.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.pressed import (
    EMULATED,
    a_pressed_host,
    the_least_urgent_give_way_and_come_back_by_themselves,
)


@pytest.mark.timeout(900)  # dwells and rounds of 5 s, one after the other
def test_under_pressure_the_least_urgent_give_way_and_come_back_by_themselves(
    tmp_path: Path,
) -> None:
    with a_pressed_host(tmp_path, EMULATED) as pressed:
        the_least_urgent_give_way_and_come_back_by_themselves(pressed)
