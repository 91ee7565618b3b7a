"""What an agent may import: how it hears from paddock, and what it can tell it. No dependencies.

Works without paddock too: then nothing is asked for, nothing is kept, and there is no limit but
the one that a cgroup has. The same for any language: docs/reference/agent-protocol.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .asking import checkpoint_asked, on_checkpoint, on_soft_timeout, soft_timeout_passed
from .gauging import Memory, memory, should_reduce_memory
from .keeping import checkpoint, checkpoint_dir, load
from .leaving import later, ready

__all__ = [
    "Memory",
    "checkpoint",
    "checkpoint_asked",
    "checkpoint_dir",
    "later",
    "load",
    "memory",
    "on_checkpoint",
    "on_soft_timeout",
    "ready",
    "resumed",
    "should_reduce_memory",
    "soft_timeout_passed",
]

resumed: bool  # an earlier attempt was cut short, and this one may go on where that was


if not TYPE_CHECKING:  # a checker would take every name for one that is there

    def __getattr__(name: str) -> bool:
        if name == "resumed":
            return os.environ.get("PADDOCK_RESUME") == "1"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
