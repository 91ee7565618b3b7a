"""Deciding what to change on a host: pure, from readings to steps; cgroups in `plan_cgroups`."""

from __future__ import annotations

from typing import Final

from paddock.core.units import MIB, format_size
from paddock.host.prepared import SCRATCH, STATE, WORKSPACES
from paddock.host.setup import kernel
from paddock.host.setup.changes import (
    Change,
    EditLines,
    MakeDirectory,
    Mask,
    MountTmpfs,
    MoveAway,
    Own,
    Owner,
    Reload,
    SetParameter,
    Step,
    SwapOff,
    WriteFile,
)
from paddock.host.setup.plan_cgroups import cgroups_step
from paddock.host.setup.readings import (
    CONFIG,
    CONFIG_FOLDER,
    FSTAB,
    LIMITS,
    LIMITS_FOLDER,
    SECURITY,
    SYSCTL,
    SYSCTL_FOLDER,
    UNITS,
    Readings,
)

ROOT: Final = Owner(0, 0)
SCRATCH_SHARE: Final = 4  # a quarter of what the host keeps for itself
CONFIG_TEXT: Final = (
    "# Written by `paddock host setup`: all of this machine's memory is for agents, but for what\n"
    "# the host keeps. `paddock config show` says what is in force.\n"
    "performance_profile: host\n"
)


def plan(readings: Readings) -> list[Step]:
    """Every step, also those with nothing left to do."""
    return [
        directories_step(readings),  # first: what is changed is written down there
        swap_step(readings),
        cgroups_step(readings),
        parameters_step(readings),
        limits_step(readings),
        scratch_step(readings),
    ]


# -- swap ---------------------------------------------------------------------------------------


def swap_step(readings: Readings) -> Step:
    stuck = _no_room_for_what_is_swapped(readings)
    changes = () if stuck else (*_persistent_swap(readings), *_active_swap(readings))
    shown = ", ".join(
        f"{swap.device} ({format_size(swap.used_bytes)} of {format_size(swap.size_bytes)} used)"
        for swap in readings.swaps
    )
    stay = "" if readings.swaps or not changes else "off now, on again after a reboot"
    return Step(
        name="swap",
        why="swap turns an agent that is over its memory into a host that stands still: with 300 "
        "agents one slows down all; without it the one that is over its wall dies, alone",
        now=shown or stay or "off",
        new="off, also after a reboot",
        changes=tuple(changes),
        stuck=stuck,
    )


def _no_room_for_what_is_swapped(readings: Readings) -> str | None:
    used = sum(swap.used_bytes for swap in readings.swaps)
    room = readings.available_bytes
    if not used or (room is not None and used < room):
        return None
    left = "an unknown amount" if room is None else format_size(room)
    return (
        f"{format_size(used)} are swapped out and {left} of memory is available: what is swapped "
        "would not fit back; end something large, then run this again"
    )


def _persistent_swap(readings: Readings) -> list[Change]:
    """First what would bring it back, so that an interruption leaves no half of it."""
    lines = [line for line in (readings.fstab or "").splitlines() if _is_swap(line)]
    changes: list[Change] = [EditLines(path=FSTAB, off=tuple(lines))] if lines else []
    if not readings.systemd:
        return changes
    away = [MoveAway(path=path, to=f"{path}.paddock-off") for path in readings.swap_units]
    in_fstab = {line.split()[0] for line in lines}
    units = {_unit_of(swap.device) for swap in readings.swaps if swap.device not in in_fstab}
    covered = readings.masked | {path.rpartition("/")[2] for path in readings.swap_units}
    masks = [Mask(path=f"{UNITS}/{unit}") for unit in sorted(units - covered)]
    changes += [*away, *masks]
    return [*changes, Reload()] if changes else []


def _active_swap(readings: Readings) -> list[Change]:
    return [SwapOff(device=swap.device, priority=swap.priority) for swap in readings.swaps]


def _is_swap(line: str) -> bool:
    words = line.split()
    return len(words) >= 3 and not words[0].startswith("#") and words[2] == "swap"


def _unit_of(device: str) -> str:
    """As systemd-escape(1) writes a path: `/dev/zram-0` is `dev-zram\\x2d0.swap`."""
    escaped = "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in ":_./") else _hex(sign)
        for sign in device.strip("/")
    )
    return escaped.replace("/", "-") + ".swap"


def _hex(sign: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in sign.encode(errors="surrogateescape"))


# -- directories --------------------------------------------------------------------------------


def directories_step(readings: Readings) -> Step:
    owner = readings.user.owner
    changes = [*_directory(readings, STATE, ROOT), *_directory(readings, WORKSPACES, owner)]
    if readings.files[CONFIG] is None:
        changes += _directory(readings, CONFIG_FOLDER, ROOT)
        changes.append(WriteFile(path=CONFIG, text=CONFIG_TEXT))
    there = readings.owners[WORKSPACES]
    config = "there" if readings.files[CONFIG] is not None else "none"
    return Step(
        name="directories",
        why=f"a place for {kernel.AGENTS} workspaces, so that no run waits for a checkout, and the "
        "profile `host`, which lets agents have all that this host can safely give",
        now=f"{WORKSPACES} {_whose(there)}; {CONFIG} {config}",
        new=f"{WORKSPACES} {_whose(owner)}; {CONFIG} there",
        changes=tuple(changes),
        notes=("a configuration that is there is left as it is",) if config == "there" else (),
    )


def _directory(readings: Readings, path: str, owner: Owner, mode: int = 0o755) -> list[Change]:
    there = readings.owners[path]
    if there is None:
        return [MakeDirectory(path=path, owner=owner, mode=mode)]
    # Whose /etc/paddock or /var/lib/paddock is stays as it is, should somebody have wanted so.
    if owner in (there, ROOT):
        return []
    return [Own(path=path, owner=owner, old=there)]


def _whose(owner: Owner | None) -> str:
    return "not there" if owner is None else f"owned by {owner.uid}:{owner.gid}"


# -- kernel -------------------------------------------------------------------------------------


def parameters_step(readings: Readings) -> Step:
    known = {name: value for name, value in readings.parameters.items() if value is not None}
    low = [each for each in kernel.PARAMETERS if known.get(each.name, each.wanted) < each.wanted]
    changes: list[Change] = []
    kept = _kept(readings.files[SYSCTL]) | {each.name: each.wanted for each in low}
    text = kernel.sysctl_text(kept)
    if kept and readings.files[SYSCTL] != text:
        changes += _directory(readings, SYSCTL_FOLDER, ROOT)
        changes.append(WriteFile(path=SYSCTL, text=text, old=readings.files[SYSCTL]))
    changes += [
        SetParameter(name=each.name, value=each.wanted, old=known[each.name]) for each in low
    ]
    unknown = [each.name for each in kernel.PARAMETERS if each.name not in known]
    notes = [f"{each.name}: {each.why}" for each in low]
    notes += [f"{name} is not there on this kernel" for name in unknown]
    return Step(
        name="kernel",
        why="the defaults are for a few programs, not for hundreds of agents; they are only raised",
        now=", ".join(f"{each.name} {known[each.name]}" for each in low) or "high enough",
        new=", ".join(f"{each.name} {each.wanted}" for each in low) or "unchanged",
        changes=tuple(changes),
        notes=(*notes, kernel.LEFT_ALONE),
    )


def _kept(text: str | None) -> dict[str, int]:
    """What our own file already raises stays in it: today's value may come from there."""
    found = {}
    for line in (text or "").splitlines():
        name, _, value = (part.strip() for part in line.partition("="))
        if any(each.name == name for each in kernel.PARAMETERS) and value.isdigit():
            found[name] = int(value)
    return found


def limits_step(readings: Readings) -> Step:
    text = kernel.limits_text(readings.user.name)
    there = readings.files[LIMITS]
    has_pam = readings.owners[SECURITY] is not None
    changes: list[Change] = []
    if has_pam and there != text:
        changes += _directory(readings, LIMITS_FOLDER, ROOT)
        changes.append(WriteFile(path=LIMITS, text=text, old=there))
    now = "as they should be" if there == text else ("none of ours" if there is None else "others")
    later = "they count from the next login on, where PAM has pam_limits"
    nowhere = (
        f"there is no {SECURITY}: whatever starts paddock here sets its limits, as `ulimit -n`"
    )
    return Step(
        name="limits",
        why="the daemon holds two descriptors for each agent and agents open files themselves; "
        "1024 is the usual limit, and nproc counts all threads of the user",
        now=now,
        new=f"nofile {kernel.OPEN_FILES} (at most {kernel.MOST_OPEN_FILES}), "
        f"nproc {kernel.PROCESSES} for {readings.user.name}"
        if has_pam
        else "unchanged",
        changes=tuple(changes),
        notes=(later,) if changes else (() if has_pam else (nowhere,)),
    )


# -- scratch ------------------------------------------------------------------------------------


def scratch_step(readings: Readings) -> Step:
    size = readings.reserve_bytes // SCRATCH_SHARE // MIB * MIB
    options = f"rw,nosuid,nodev,size={size // 1024}k,mode=1777"
    line = f"tmpfs {SCRATCH} tmpfs {options} 0 0"
    mounted, listed = SCRATCH in readings.mounted, _is_listed(readings.fstab, SCRATCH)
    changes: list[Change] = []
    if readings.owners[SCRATCH] is None:
        changes.append(MakeDirectory(path=SCRATCH, owner=ROOT, mode=0o755))
    if not listed:
        changes.append(EditLines(path=FSTAB, add=(line,)))
        changes += [Reload()] if readings.systemd else []
    if not mounted:
        changes.append(MountTmpfs(path=SCRATCH, options=options))
    return Step(
        name="scratch",
        why="builds write thousands of small files that nobody needs afterwards: in memory they "
        "cost no disk",
        now="mounted" if mounted else "not mounted",
        new=f"a tmpfs of at most {format_size(size)}, a quarter of what the host keeps for itself",
        changes=tuple(changes),
        notes=(
            "what lies in it is memory: it counts against the wall of the agent that wrote it, "
            "and without swap it stays until it is deleted",
        ),
    )


def _is_listed(fstab: str | None, target: str) -> bool:
    rows = (line.split() for line in (fstab or "").splitlines())
    return any(len(row) > 1 and not row[0].startswith("#") and row[1] == target for row in rows)
