"""What an engine is asked for, from what the loop asks for."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.drivers.attempts import OOM_SCORES, walls_of
from paddock.drivers.container.engine import Mount, Order
from paddock.drivers.container.naming import Names
from paddock.drivers.container.settings import ContainerSettings
from paddock.ports import Launch

IMAGE_LABEL = "image"


def order_of(
    launch: Launch, names: Names, settings: ContainerSettings, *, epoch: int, held: bool
) -> Order:
    """ValueError: what is asked for cannot be."""
    attempt = launch.attempt
    uid, gid = settings.owner
    scratch = settings.scratch_bytes
    walls = walls_of(launch)
    return Order(
        name=names.container(attempt),
        image=launch.labels.get(IMAGE_LABEL) or settings.image,
        command=shim_command(launch, names, held=held),
        environment=names.environment(launch),
        directory=str(launch.directory),
        user=f"{uid}:{gid}",
        labels=names.labels(attempt, epoch),
        mounts=mounts_of(launch, names, settings),
        limit_bytes=launch.limit_bytes,
        pids=walls.pids or settings.pids,
        cpus=walls.cpus or settings.cpus,
        network=settings.network,
        scratch_bytes=launch.limit_bytes // 2 if scratch is None else scratch,
        oom_score_adj=OOM_SCORES[launch.priority],
    )


def shim_command(launch: Launch, names: Names, *, held: bool) -> tuple[str, ...]:
    box = names.box(launch.attempt)
    stdin = str(launch.stdin or "/dev/null")
    umask = f"{umask_of(launch.labels):04o}"
    mode = "held" if held else "alone"
    return ("/bin/sh", box.file("shim"), box.inside, mode, umask, stdin, *launch.command)


def mounts_of(launch: Launch, names: Names, settings: ContainerSettings) -> tuple[Mount, ...]:
    """The workspace under its own path, so that paths mean the same inside and outside."""
    workspace, inside = str(launch.directory), names.box(launch.attempt).inside
    found = [*settings.mounts, Mount(workspace, workspace), Mount(inside, inside)]
    found += [Mount(str(path), str(path)) for path in launch.reach]
    if launch.stdin is not None:
        found.append(Mount(str(launch.stdin), str(launch.stdin), read_only=True))
    return tuple({mount.target: mount for mount in found}.values())


def umask_of(labels: Mapping[str, str]) -> int:
    """The submitter's, in octal."""
    try:
        umask = int(labels["umask"], 8)
    except (KeyError, ValueError):
        return 0o022
    return umask if 0 <= umask <= 0o777 else 0o022
