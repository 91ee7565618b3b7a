"""What setup has to know of a host before it plans anything. Only reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from paddock.cgroups.mounts import UNIFIED, top_of
from paddock.cgroups.v1 import WANTED as WANTED_V1
from paddock.core.capacity import host_reserve, nominal_total
from paddock.host.memory import read_memory
from paddock.host.prepared import SCRATCH, STATE, WORKSPACES
from paddock.host.setup.changes import Owner
from paddock.host.setup.ground import Ground
from paddock.host.setup.kernel import PARAMETERS

UNITS: Final = "/etc/systemd/system"
FSTAB: Final = "/etc/fstab"
CONFIG_FOLDER: Final = "/etc/paddock"
CONFIG: Final = f"{CONFIG_FOLDER}/config.yaml"
SYSCTL_FOLDER: Final = "/etc/sysctl.d"
SYSCTL: Final = f"{SYSCTL_FOLDER}/60-paddock.conf"
SECURITY: Final = "/etc/security"
LIMITS_FOLDER: Final = f"{SECURITY}/limits.d"
LIMITS: Final = f"{LIMITS_FOLDER}/60-paddock.conf"
DROP_IN_FOLDER: Final = f"{UNITS}/user@.service.d"
DROP_IN: Final = f"{DROP_IN_FOLDER}/50-paddock.conf"
BOOT_UNIT: Final = "paddock-cgroups.service"
LOCAL_D: Final = "/etc/local.d"
_FILES: Final = (
    CONFIG,
    SYSCTL,
    LIMITS,
    DROP_IN,
    f"{UNITS}/{BOOT_UNIT}",
    f"{LOCAL_D}/paddock.start",
)


@dataclass(frozen=True, slots=True)
class User:
    """For whom the host is prepared."""

    name: str
    owner: Owner


@dataclass(frozen=True, slots=True)
class Swap:
    device: str
    size_bytes: int
    used_bytes: int
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroups:
    """`tops` are the directories in which paddock's own is made; none: no memory controller."""

    version: int | None
    tops: Mapping[str, str]  # by controller; only UNIFIED for v2
    controllers: frozenset[str] = frozenset()  # v2: that the root has
    handed_down: frozenset[str] = frozenset()
    ours_handed_down: frozenset[str] = frozenset()
    name: str = "paddock"

    @property
    def ours(self) -> dict[str, str]:
        return {each: f"{top}/{self.name}" for each, top in self.tops.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    user: User
    total_bytes: int
    available_bytes: int | None
    swaps: tuple[Swap, ...]
    fstab: str | None
    swap_units: tuple[str, ...]  # unit files of the administrator's
    masked: frozenset[str]
    systemd: bool
    openrc: bool
    lingers: bool
    enabled: frozenset[str]
    cgroups: Cgroups
    parameters: Mapping[str, int | None]
    files: Mapping[str, str | None]
    owners: Mapping[str, Owner | None]  # of directories; None: not there
    mounted: frozenset[str]

    @property
    def reserve_bytes(self) -> int:
        return host_reserve(nominal_total(self.total_bytes))


def read_host(ground: Ground, user: User, *, cgroup: str = "paddock") -> Readings:
    """Raises MemoryUnreadable where not even the memory's size can be read."""
    memory = read_memory(ground.root)
    cgroups = _cgroups(ground, cgroup)
    return Readings(
        user=user,
        total_bytes=memory.total_bytes,
        available_bytes=memory.available_bytes,
        swaps=_swaps(ground),
        fstab=ground.text(FSTAB),
        swap_units=_swap_units(ground),
        masked=_masked(ground),
        systemd=ground.is_directory("/run/systemd/system"),
        openrc=ground.is_directory(LOCAL_D) and ground.is_directory("/run/openrc"),
        lingers=ground.at(f"/var/lib/systemd/linger/{user.name}").exists(),
        enabled=_enabled(ground),
        cgroups=cgroups,
        parameters={each.name: ground.number(each.file) for each in PARAMETERS},
        files={path: ground.text(path) for path in _FILES},
        owners={path: _owner(ground, path) for path in _directories(cgroups)},
        mounted=_mounted(ground),
    )


def _directories(cgroups: Cgroups) -> tuple[str, ...]:
    ours = list(cgroups.ours.values())
    folders = (CONFIG_FOLDER, DROP_IN_FOLDER, SYSCTL_FOLDER, SECURITY, LIMITS_FOLDER)
    return (STATE, WORKSPACES, SCRATCH, *folders, *ours, *(f"{path}/login" for path in ours))


def _owner(ground: Ground, path: str) -> Owner | None:
    try:
        facts = ground.at(path).stat()
    except OSError:
        return None
    return Owner(facts.st_uid, facts.st_gid)


def _swaps(ground: Ground) -> tuple[Swap, ...]:
    """Lines are `/dev/sda2  partition  2097148  0  -2`, sizes in KiB (proc(5))."""
    found = []
    for line in (ground.text("/proc/swaps") or "").splitlines()[1:]:
        words = line.split()
        if len(words) == 5 and words[2].isdigit() and words[3].isdigit():
            sizes = int(words[2]) * 1024, int(words[3]) * 1024
            device = words[0].replace("\\040", " ")
            found.append(Swap(device, *sizes, int(words[4])))
    return tuple(found)


def _swap_units(ground: Ground) -> tuple[str, ...]:
    found = sorted(ground.at(UNITS).glob("*.swap"))
    return tuple(f"{UNITS}/{path.name}" for path in found if not path.is_symlink())


def _masked(ground: Ground) -> frozenset[str]:
    links = [path for path in ground.at(UNITS).glob("*.swap") if path.is_symlink()]
    return frozenset(path.name for path in links if str(path.readlink()) == "/dev/null")


def _enabled(ground: Ground) -> frozenset[str]:
    """`systemctl enable` is a link below a `.wants` directory."""
    return frozenset(path.name for path in ground.at(UNITS).glob("*.wants/*"))


def _cgroups(ground: Ground, name: str) -> Cgroups:
    proc = str(ground.at("/proc"))
    top = top_of(UNIFIED, proc)
    controllers = _words(ground, f"{top}/cgroup.controllers") if top else frozenset()
    if top and "memory" in controllers:
        return Cgroups(
            version=2,
            tops={UNIFIED: top},
            controllers=controllers,
            handed_down=_words(ground, f"{top}/cgroup.subtree_control"),
            ours_handed_down=_words(ground, f"{top}/{name}/cgroup.subtree_control"),
            name=name,
        )
    tops = {each: top_of(each, proc) for each in WANTED_V1}
    if tops["memory"] is None:
        return Cgroups(version=None, tops={}, name=name)
    return Cgroups(version=1, tops={each: top for each, top in tops.items() if top}, name=name)


def _words(ground: Ground, path: str) -> frozenset[str]:
    return frozenset((ground.text(path) or "").split())


def _mounted(ground: Ground) -> frozenset[str]:
    # Not splitlines(): names of directories may hold other line ends.
    lines = (ground.text("/proc/self/mountinfo") or "").split("\n")
    points = (line.split(" ")[4] for line in lines if line.count(" ") > 4)
    return frozenset(point.replace("\\040", " ") for point in points)
