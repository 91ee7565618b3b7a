"""Deciding how a user gets cgroups of its own: systemd hands them down, or root does."""

from __future__ import annotations

import shlex
from typing import Final

from paddock.cgroups.mounts import UNIFIED
from paddock.host.setup.changes import (
    Change,
    EnableUnit,
    HandDown,
    Linger,
    MakeCgroup,
    MakeDirectory,
    Own,
    Owner,
    Reload,
    Step,
    WriteFile,
)
from paddock.host.setup.readings import (
    BOOT_UNIT,
    DROP_IN,
    DROP_IN_FOLDER,
    LOCAL_D,
    UNITS,
    Readings,
)

WHY: Final = (
    "an agent that takes more than its memory dies at its wall, alone; only whoever owns a part of "
    "the tree of cgroups can set walls"
)
NEEDED: Final = ("memory", "pids", "cpu")
WELCOME: Final = ("io", "cpuset")
OWNED_V2: Final = ("", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control")
DROP_IN_TEXT: Final = (
    "# Written by `paddock host setup`; `paddock host setup --undo` removes it.\n"
    "[Service]\nDelegate=cpu cpuset io memory pids\n"
)
# v2 lets nobody move a process between two trees unless they may write where the trees meet; so a
# user's shell has to be put into this one by root, once, before its daemon can live below it.
LOGIN: Final = "login"


def cgroups_step(readings: Readings) -> Step:
    if readings.cgroups.version is None:
        return Step(
            name="cgroups",
            why=WHY,
            now="no memory controller",
            new="a subtree of paddock's own",
            stuck="this kernel has no memory controller for cgroups; boot it with "
            "`cgroup_enable=memory`, or use a kernel that was built with CONFIG_MEMCG",
        )
    if readings.systemd and readings.cgroups.version == 2:
        return _by_systemd(readings)
    return _by_root(readings)


# -- systemd and v2 -----------------------------------------------------------------------------


def _by_systemd(readings: Readings) -> Step:
    user, there = readings.user, readings.files[DROP_IN]
    changes: list[Change] = []
    if there != DROP_IN_TEXT:
        if readings.owners[DROP_IN_FOLDER] is None:
            root = Owner(0, 0)
            changes.append(MakeDirectory(path=DROP_IN_FOLDER, owner=root, mode=0o755))
        changes += [
            WriteFile(path=DROP_IN, text=DROP_IN_TEXT, old=there),
            Reload(),
        ]
    lingers = readings.lingers or user.owner.uid == 0  # root's daemon is a unit of the system
    if not lingers:
        changes.append(Linger(user=user.name))
    now = "handed down" if there == DROP_IN_TEXT else "systemd's own choice of controllers"
    notes = ["who is logged in gets them with the next login"] if changes else []
    return Step(
        name="cgroups",
        why=f"{WHY}; and without lingering systemd ends a user's daemon with the last login",
        now=f"cgroup v2 with systemd, {now}; {user.name} {_said(lingers=lingers)}",
        new=f"all controllers handed down to users; {user.name} lingers",
        changes=tuple(changes),
        notes=tuple(notes),
    )


def _said(*, lingers: bool) -> str:
    return "lingers" if lingers else "does not linger"


# -- without systemd, or v1 ---------------------------------------------------------------------


def _by_root(readings: Readings) -> Step:
    cgroups, user = readings.cgroups, readings.user
    paths = list(dict.fromkeys(cgroups.ours.values()))
    script = boot_script(readings)
    boot, stays = _at_boot(readings, script)
    return Step(
        name="cgroups",
        why=WHY,
        now=f"cgroup v{cgroups.version}; {', '.join(_now(readings, path) for path in paths)}",
        new=f"{', '.join(paths)}, owned by {user.name}",
        changes=(*_subtree(readings, paths), *boot),
        notes=(stays, *_way_in(readings)),
    )


def _now(readings: Readings, path: str) -> str:
    owner = readings.owners[path]
    return f"{path} " + ("not there" if owner is None else f"owned by {owner.uid}:{owner.gid}")


def _subtree(readings: Readings, paths: list[str]) -> list[Change]:
    cgroups = readings.cgroups
    if cgroups.version != 2:
        return [change for path in paths for change in _cgroup(readings, path)]
    top, ours, wanted = cgroups.tops[UNIFIED], cgroups.ours[UNIFIED], _wanted(readings)
    changes = _handed_down(top, wanted - cgroups.handed_down)
    changes += _cgroup(readings, ours, controllers=tuple(sorted(wanted)))
    if readings.owners[ours] is not None:
        changes += _handed_down(ours, wanted - cgroups.ours_handed_down)
    return [*changes, *_cgroup(readings, f"{ours}/{LOGIN}")]


def _wanted(readings: Readings) -> frozenset[str]:
    return readings.cgroups.controllers & {*NEEDED, *WELCOME}


def _handed_down(path: str, controllers: frozenset[str]) -> list[Change]:
    return [HandDown(path=path, controllers=tuple(sorted(controllers)))] if controllers else []


def _cgroup(readings: Readings, path: str, controllers: tuple[str, ...] = ()) -> list[Change]:
    owner, there = readings.user.owner, readings.owners[path]
    if there is None:
        return [MakeCgroup(path=path, owner=owner, controllers=controllers)]
    return [] if there == owner else [Own(path=path, owner=owner, old=there)]


def _way_in(readings: Readings) -> tuple[str, ...]:
    cgroups, user = readings.cgroups, readings.user
    if cgroups.version != 2 or user.owner.uid == 0:
        return ()
    return (
        f"with cgroup v2 a shell of {user.name} must be put inside before it starts paddock: "
        f"{way_in(cgroups.ours[UNIFIED])}",
    )


def way_in(ours: str) -> str:
    """What a user types into the shell that is to start paddock."""
    return f"echo $$ | sudo tee {ours}/{LOGIN}/cgroup.procs"


# -- after a reboot -----------------------------------------------------------------------------


def boot_script(readings: Readings) -> str:
    """The same as shell: cgroups are gone after a reboot, and tmpfiles.d cannot make them."""
    cgroups = readings.cgroups
    owner = f"{readings.user.owner.uid}:{readings.user.owner.gid}"
    lines = []
    if cgroups.version == 2:
        top, ours = cgroups.tops[UNIFIED], cgroups.ours[UNIFIED]
        down = [f"echo +{each} >{{}}/cgroup.subtree_control" for each in sorted(_wanted(readings))]
        files = [f"{folder}{file}" for folder in (ours, f"{ours}/{LOGIN}") for file in OWNED_V2]
        lines = [line.format(top) for line in down]
        lines += [f"mkdir -p {ours}", *(line.format(ours) for line in down)]
        lines += [f"mkdir -p {ours}/{LOGIN}", f"chown {owner} {' '.join(files)}"]
    else:
        for path in dict.fromkeys(cgroups.ours.values()):
            lines += [f"mkdir -p {path}", f"chown {owner} {path} {path}/cgroup.procs {path}/tasks"]
    return "\n".join(lines) + "\n"


def _at_boot(readings: Readings, script: str) -> tuple[list[Change], str]:
    """What makes it again, and a sentence about that."""
    if readings.systemd:
        return _boot_unit(readings, script), f"{BOOT_UNIT} makes it again at boot"
    if readings.openrc:
        path = f"{LOCAL_D}/paddock.start"
        text = f"#!/bin/sh\n# Written by `paddock host setup`.\n{script}"
        return _file(readings, path, text, mode=0o755), f"{path} makes it again at boot"
    return [], (
        "it is gone after a reboot, and there is neither systemd nor OpenRC here to make it again: "
        "run `paddock host setup` once more then"
    )


def _boot_unit(readings: Readings, script: str) -> list[Change]:
    path = f"{UNITS}/{BOOT_UNIT}"
    command = " && ".join(script.splitlines())
    text = (
        "# Written by `paddock host setup`; `paddock host setup --undo` removes it.\n"
        "[Unit]\nDescription=Cgroups for the agents of paddock\n\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        f"ExecStart=/bin/sh -c {shlex.quote(command)}\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
    changes = _file(readings, path, text)
    changes += [Reload()] if changes else []
    return changes + ([] if BOOT_UNIT in readings.enabled else [EnableUnit(unit=BOOT_UNIT)])


def _file(readings: Readings, path: str, text: str, *, mode: int = 0o644) -> list[Change]:
    there = readings.files[path]
    return [] if there == text else [WriteFile(path=path, text=text, mode=mode, old=there)]
