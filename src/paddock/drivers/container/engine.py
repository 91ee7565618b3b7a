"""What the driver asks of a container engine, on one page; one module an engine implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class EngineTrouble(Exception):
    """One line for people; `permanent` when trying again would not help."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


@dataclass(frozen=True, slots=True)
class Mount:
    """A directory or file of the host, seen inside under `target`."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One container to be created; limits of 0 are none."""

    name: str
    image: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    directory: str
    user: str
    labels: Mapping[str, str]
    mounts: tuple[Mount, ...]
    limit_bytes: int
    pids: int = 0
    cpus: float = 0.0
    network: str = "host"
    scratch_bytes: int = 0  # a tmpfs on /tmp
    cgroup_parent: str = ""
    oom_score_adj: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What an engine knows of a container. `pid` is its first process as this host sees it."""

    name: str
    labels: Mapping[str, str]
    running: bool
    pid: int = 0
    code: int | None = None
    oom: bool = False


class Engine(Protocol):
    """All calls by name, and all but `create` may be repeated. Trouble is an EngineTrouble."""

    @property
    def kind(self) -> str:
        """As the settings name it: "podman"."""

    @property
    def name(self) -> str:
        """For people: "podman 4.3.1"."""

    @property
    def shares_kernel(self) -> bool:
        """Whether containers are processes of this kernel: then FIFOs and cgroup files reach them.

        Not so where the engine has a virtual machine.
        """

    @property
    def takes_cgroup_paths(self) -> bool:
        """Whether an order's `cgroup_parent` is heeded: known once it was checked."""

    async def check(self, image: str) -> str:
        """What was found, as a sentence. Raised: why no container can be started."""

    async def create(self, order: Order) -> None: ...

    async def start(self, name: str) -> None: ...

    async def kill(self, name: str, signal: str) -> None:
        """KILL or TERM to the first process; KILL takes all others along."""

    async def pause(self, name: str) -> None: ...

    async def unpause(self, name: str) -> None: ...

    async def inspect(self, name: str) -> Seen | None:
        """None: there is no such container."""

    async def with_label(self, label: str) -> Sequence[Seen]:
        """Those that carry `key=value`, running or not."""

    async def used_bytes(self, name: str) -> int | None: ...

    async def remove(self, name: str) -> None:
        """With all that runs in it; nothing if there is none."""

    def close(self) -> None:
        """Containers go on."""
