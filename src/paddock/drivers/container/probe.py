"""Which engines work here, and why the others do not: for `auto` and for `doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.drivers.container.apple import AppleEngine
from paddock.drivers.container.docker import DockerEngine, socket_of
from paddock.drivers.container.engine import Engine, EngineTrouble
from paddock.drivers.container.engines import far_away
from paddock.drivers.container.podman import PodmanEngine

# The first that works is taken: podman needs no daemon of its own and no membership in a group that
# is as good as root.
ENGINES: Final = ("podman", "docker", "apple")


@dataclass(frozen=True, slots=True)
class Probe:
    """`sentence` says what was found, or what is wrong and what to do."""

    engine: str
    works: bool
    sentence: str


def engine_named(
    name: str, directory: Path, environment: Mapping[str, str], *, walled: bool = False
) -> Engine:
    """`directory` is for podman's socket. `walled`: containers go into a cgroup of ours, which
    podman is then told to do by itself, without systemd. ValueError: there is no such engine."""
    match name:
        case "podman":
            command = ("podman", "--cgroup-manager", "cgroupfs") if walled else ("podman",)
            return PodmanEngine(directory, command=command, environment=environment)
        case "docker":
            return DockerEngine(socket_of(environment), unfit=far_away(environment, name))
        case "apple":
            return AppleEngine()
        case _:
            raise ValueError(f"there is no container engine {name!r}; choose {', '.join(ENGINES)}")


async def probe(name: str, engine: Engine, image: str) -> Probe:
    """Asks, and starts no container."""
    try:
        return Probe(name, works=True, sentence=await engine.check(image))
    except EngineTrouble as error:
        return Probe(name, works=False, sentence=str(error))


async def choose(
    directory: Path, environment: Mapping[str, str], image: str
) -> tuple[Engine | None, list[Probe]]:
    """The first that works, and what was said of each until then."""
    probes = []
    for name in ENGINES:
        engine = engine_named(name, directory, environment)
        probes.append(await probe(name, engine, image))
        if probes[-1].works:
            return engine, probes
        engine.close()
    return None, probes
