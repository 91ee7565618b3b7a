"""Where a host that was set up keeps what paddock needs."""

from __future__ import annotations

from typing import Final

STATE: Final = "/var/lib/paddock"
WORKSPACES: Final = f"{STATE}/workspaces"
SCRATCH: Final = f"{STATE}/scratch"
