"""The walls of tests/integration/walls once more, on cgroup v2; and with swap to be kept from."""

from __future__ import annotations

import pytest

from paddock.cgroups.files import number, read_or_empty
from paddock.core.units import MIB
from tests.integration.walls.test_escapes import *  # noqa: F403
from tests.integration.walls.test_overseers import *  # noqa: F403
from tests.integration.walls.test_walls import *  # noqa: F403
from tests.kit.keeping import PYTHON
from tests.kit.walls import WalledStable, within_walls

HOLD = "x = bytearray(40 << 20); print('holds', flush=True); import time; time.sleep(60)"


@pytest.mark.guest
@pytest.mark.usefixtures("swap_in_memory")
@within_walls()
async def test_where_there_is_swap_an_agent_gets_none_of_it(stable: WalledStable) -> None:
    attempt = stable.start(*PYTHON, "-c", HOLD, limit_bytes=64 * MIB)
    await stable.until(lambda: b"holds" in stable.written(attempt))
    group = stable.group(attempt)
    group.reclaim(32 * MIB)
    assert number(read_or_empty(f"{group.path}/memory.swap.current")) == 0
    assert group.used_bytes() > 40 * MIB
