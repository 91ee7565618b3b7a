"""The ladder end to end, on this machine's cgroups; tests/vm runs it on v2."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.pressed import a_pressed_host, the_least_urgent_give_way_and_come_back_by_themselves


@pytest.mark.timeout(300)  # dwells and rounds of 5 s, one after the other
def test_under_pressure_the_least_urgent_give_way_and_come_back_by_themselves(
    tmp_path: Path,
) -> None:
    with a_pressed_host(tmp_path) as pressed:
        the_least_urgent_give_way_and_come_back_by_themselves(pressed)
