"""What the paddock of a measurement must know of containers: what its user has configured.

Its home is its own, so that nothing of the user's is touched; but images and the engine are not.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from paddock.config import settings as s
from paddock.config.settings import Setting, Settings

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    s.CONTAINER_ENGINE,
    s.CONTAINER_IMAGE,
    s.CONTAINER_NETWORK,
    s.CONTAINER_MOUNTS,
)
_TAKEN_ALONG: Final = (
    *("CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "DOCKER_HOST"),
    *("XDG_RUNTIME_DIR", "XDG_DATA_HOME"),
)


def sandbox_of(settings: Settings) -> str | None:
    """A section of its configuration; None: there is no image that a container could have."""
    if not settings[s.CONTAINER_IMAGE]:
        return None
    lines = (f"  {one.name}: {one.kind.show(settings[one])}\n" for one in SETTINGS)
    return "sandbox:\n" + "".join(lines)


def environment() -> dict[str, str]:
    """Where an engine of this user finds its images. Podman looks below HOME unless it is told."""
    images = {"XDG_DATA_HOME": str(Path.home() / ".local/share")}
    return images | {name: os.environ[name] for name in _TAKEN_ALONG if name in os.environ}


def link_settings(config: Path) -> None:
    """Those of podman lie beside those of paddock."""
    usual = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    theirs = Path(usual) / "containers"
    if theirs.is_dir():
        (config / "containers").symlink_to(theirs)
