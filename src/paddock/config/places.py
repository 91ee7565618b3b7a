"""Where a user's paddock keeps its things: one directory, closed to everybody else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STATE_VARIABLE: Final = "PADDOCK_STATE"


@dataclass(frozen=True, slots=True)
class Places:
    """Made from the state directory alone, so that daemon, keeper and client agree."""

    state: Path

    @property
    def socket(self) -> Path:
        return self.state / "paddock.sock"

    @property
    def store(self) -> Path:
        return self.state / "paddock.db"

    @property
    def keeper(self) -> Path:
        return self.state / "keeper"

    @property
    def output(self) -> Path:
        """A directory a run, with a file an attempt."""
        return self.state / "output"

    @property
    def stdin(self) -> Path:
        """What was handed over as stdin, until its run ends."""
        return self.state / "stdin"

    @property
    def black_boxes(self) -> Path:
        """What is known of the death of each run."""
        return self.state / "black_boxes"

    @property
    def checkpoints(self) -> Path:
        """What runs keep from one attempt to the next."""
        return self.state / "checkpoints"

    @property
    def sessions(self) -> Path:
        """Which session of its program each run is in."""
        return self.state / "sessions"

    @property
    def log(self) -> Path:
        return self.state / "daemon.log"

    @property
    def token(self) -> Path:
        """What a client on TCP must show."""
        return self.state / "token"


# A daemon and a keeper need no more than this of whoever started them: their secrets are none of
# its business, and would be readable in /proc for as long as they live.
_KEPT_VARIABLES: Final = (
    *("HOME", "PATH", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR"),
    # Where the engines are, one by one: DOCKER_PASSWORD and the like have these beginnings too.
    *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"),
    *("DOCKER_API_VERSION", "CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINER_SSHKEY"),
    *("CONTAINERS_CONF", "CONTAINERS_CONF_OVERRIDE", "CONTAINERS_STORAGE_CONF"),
    "CONTAINERS_REGISTRIES_CONF",
)
_KEPT_FAMILIES: Final = ("LC_", "XDG_", "PYTHON", "LD_")


def plain_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT_VARIABLES or name.startswith(_KEPT_FAMILIES)
    }


def missing_home(path: Path) -> str | None:
    """What is wrong, where somebody's home would have to be made for this."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path's own raises without a HOME
    if os.path.exists(home) or not path.is_relative_to(home):  # noqa: PTH110 - Path's own may raise
        return None
    return f"the home directory {home} is not there, or closed to you: set HOME"


def find_places(state: str | None = None) -> Places:
    """`--state`, then PADDOCK_STATE, then where this system keeps a user's state."""
    named = state or os.environ.get(STATE_VARIABLE)
    if named:
        return Places(Path(named).expanduser().absolute())
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if home.startswith("/") else Path.home() / ".local/state"
    return Places(base / "paddock")
