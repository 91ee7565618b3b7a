"""The profiles that ship: sets of values to start from. A file can change them or add its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DEFAULT_PROFILE: Final = "medium"

# `max_concurrent_agents` is a cap here: a file can ask for fewer, not for more.
_LOW: Final = {
    "performance.max_concurrent_agents": "2",
    "performance.log_buffer_size_mb": "5",
    "performance.agent_timeout": "600",
    "sandbox.cpu_limit": "1.0",
}
PROFILES: Final[Mapping[str, Mapping[str, str]]] = {
    "tiny": {
        **_LOW,
        "sandbox.memory_limit": "400M",
        "sandbox.stream_memory_limit": "512M",
        "queue.depth": "5",
        # Two agents side by side on 1 GiB: half of it for the host, or 15 % left free, would be
        # one. Daemon and keeper hold 55 MiB there, and so 67 are left for others.
        "sandbox.host_memory_reserve": "160M",
        "ladder.queue": "85",
        "ladder.preempt": "90",
        "ladder.free_floor": "96M",
    },
    "low": _LOW,
    "medium": {
        "performance.max_concurrent_agents": "5",
        "performance.log_buffer_size_mb": "10",
        "performance.agent_timeout": "900",
    },
    "high": {
        "performance.max_concurrent_agents": "10",
        "performance.log_buffer_size_mb": "20",
        "performance.agent_timeout": "1800",
    },
    "host": {
        "performance.max_concurrent_agents": "auto",
        "performance.log_buffer_size_mb": "10",
        "performance.agent_timeout": "900",
        "performance.max_worktrees": "500",
    },
}

ABOUT: Final[Mapping[str, str]] = {
    "tiny": "a very small machine, from 1 GiB on: two agents of 400M, on one core each",
    "low": "CI, or a small machine",
    "medium": "a developer's machine; the default",
    "high": "a large workstation",
    "host": "a shared host prepared by `paddock host setup`",
}
