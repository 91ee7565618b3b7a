"""The walls of tests/integration/walls once more, on cgroup v2."""

from tests.integration.walls.test_walls import *  # noqa: F403
