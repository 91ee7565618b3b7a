"""Making a change, and taking it back: only where things still are as the change left them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Final, assert_never

from paddock.cgroups.v2 import children_of
from paddock.host.setup.changes import (
    ADDED,
    MARKER,
    Change,
    EditLines,
    EnableUnit,
    HandDown,
    Linger,
    MakeCgroup,
    MakeDirectory,
    Mask,
    MountTmpfs,
    MoveAway,
    Own,
    Owner,
    Reload,
    SetParameter,
    SwapOff,
    WriteFile,
)
from paddock.host.setup.ground import Failed, Ground

# Of a cgroup, what its owner must be able to write; v1 has `tasks`, v2 the others.
CONTROLS: Final = ("cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "tasks")


def apply(change: Change, ground: Ground) -> None:
    """May be repeated. Raises Failed, in one line."""
    try:
        _apply(change, ground)
    except OSError as error:
        raise Failed(_explained(error)) from error


def revert(change: Change, ground: Ground) -> str | None:
    """None: it is as it was. Otherwise why it was left; a change never made is no reason."""
    try:
        return _revert(change, ground)
    except OSError as error:
        return _explained(error)
    except Failed as error:
        return str(error)


def _explained(error: OSError) -> str:
    return f"{error.filename or 'it'}: {error.strerror or error}"


def _apply(change: Change, ground: Ground) -> None:
    match change:
        case WriteFile():
            put(ground.at(change.path), change.text, mode=change.mode)
        case EditLines():
            _edit(ground, change)
        case Mask():
            _link(ground.at(change.path))
        case MoveAway():
            ground.at(change.path).rename(ground.at(change.to))
        case SetParameter():
            _set(ground, change.name, change.value)
        case MakeDirectory():
            _make(ground.at(change.path), change.owner, change.mode)
        case Own():
            _own(ground.at(change.path), change.owner)
        case MakeCgroup():
            _make(ground.at(change.path), change.owner)
            _hand_down(ground, change)
        case _:
            _apply_by_program(change, ground)


def _apply_by_program(
    change: SwapOff | HandDown | MountTmpfs | Linger | EnableUnit | Reload, ground: Ground
) -> None:
    run = ground.doing.run
    match change:
        case SwapOff():
            run("swapoff", change.device)
        case HandDown():
            _hand_down(ground, change)
        case MountTmpfs():
            run("mount", "-t", "tmpfs", "-o", change.options, "tmpfs", change.path)
        case Linger():
            run("loginctl", "enable-linger", change.user)
        case EnableUnit():
            run("systemctl", "enable", "--quiet", change.unit)
        case Reload():
            run("systemctl", "daemon-reload")
        case _:
            assert_never(change)


def _revert(change: Change, ground: Ground) -> str | None:
    left = None
    match change:
        case WriteFile():
            left = _unwrite(ground, change)
        case EditLines():
            _unedit(ground, change)
        case Mask():
            _unmask(ground.at(change.path))
        case MoveAway():
            left = _move_back(ground, change)
        case SetParameter():
            left = _unset(ground, change)
        case MakeDirectory():
            left = _remove(ground.at(change.path))
        case Own():
            _give_back(ground.at(change.path), change)
        case MakeCgroup():
            left = _remove_cgroup(ground, change)
        case _:
            _revert_by_program(change, ground)
    return left


def _revert_by_program(
    change: SwapOff | HandDown | MountTmpfs | Linger | EnableUnit | Reload, ground: Ground
) -> None:
    match change:
        case SwapOff():
            _swap_on(ground, change)
        case HandDown():
            _take_back(ground, change)
        case MountTmpfs():
            if _is_listed(ground, "/proc/self/mountinfo", change.path, column=4):
                ground.doing.run("umount", change.path)
        case Linger():
            if ground.at(f"/var/lib/systemd/linger/{change.user}").exists():
                ground.doing.run("loginctl", "disable-linger", change.user)
        case EnableUnit():
            ground.doing.run("systemctl", "disable", "--quiet", change.unit)
        case Reload():
            ground.doing.run("systemctl", "daemon-reload")
        case _:
            assert_never(change)


def _swap_on(ground: Ground, change: SwapOff) -> None:
    if _is_listed(ground, "/proc/swaps", change.device, column=0):
        return
    # Negative priorities the kernel gives out itself.
    wanted = () if change.priority < 0 else ("-p", str(change.priority))
    ground.doing.run("swapon", *wanted, change.device)


def _hand_down(ground: Ground, change: HandDown | MakeCgroup) -> None:
    if change.controllers:
        ground.doing.hand_down(str(ground.at(change.path)), change.controllers, take_back=False)


def _take_back(ground: Ground, change: HandDown) -> None:
    path = str(ground.at(change.path))
    if not ground.is_directory(change.path):
        return
    if others := children_of(path):
        # A wall that somebody set meanwhile would go with the controller, without a word.
        raise Failed(f"{', '.join(others[:3])} in {change.path} may have walls; they stay possible")
    ground.doing.hand_down(path, change.controllers, take_back=True)


def _is_listed(ground: Ground, file: str, what: str, *, column: int) -> bool:
    lines = (line.split() for line in (ground.text(file) or "").splitlines())
    return any(len(line) > column and line[column] == what for line in lines)


# -- files --------------------------------------------------------------------------------------


def put(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Whole or not at all, and on the disk: a host that loses power now must still boot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        # Through a link, as fstab may be one: what it leads to is replaced.
        Path(name).replace(path.resolve() if path.is_symlink() else path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _sync(path.parent)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwrite(ground: Ground, change: WriteFile) -> str | None:
    path, there = ground.at(change.path), ground.text(change.path)
    if there in (None, change.old):
        return None
    if there != change.text:
        return f"{change.path} was changed since; it is left as it is"
    if change.old is None:
        path.unlink()
    else:
        put(path, change.old, mode=path.stat().st_mode & 0o7777)
    return None


def _edit(ground: Ground, change: EditLines) -> None:
    path = ground.at(change.path)
    lines = (ground.text(change.path) or "").split("\n")
    lines = [f"{MARKER}{line}" if line in change.off else line for line in lines]
    new = [line for line in change.add if line not in lines]
    if new:
        whole = lines[:-1] if lines[-1] == "" else lines
        lines = [*whole, ADDED, *new, ""]
    put(path, "\n".join(lines), mode=_mode(path))


def _unedit(ground: Ground, change: EditLines) -> None:
    """Line by line: what others wrote into it meanwhile stays."""
    there, path = ground.text(change.path), ground.at(change.path)
    if there is None:
        return
    ours = {f"{MARKER}{line}": line for line in change.off}
    lines = [ours.get(line, line) for line in there.split("\n")]
    for line in change.add:
        if line in lines:
            at = lines.index(line)
            begin = at - 1 if at and lines[at - 1] == ADDED else at
            del lines[begin : at + 1]
    text = "\n".join(lines)
    if text != there:
        put(path, text, mode=_mode(path))


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777 if path.exists() else 0o644


def _link(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_symlink():
        path.symlink_to(os.devnull)


def _unmask(path: Path) -> None:
    if path.is_symlink() and str(path.readlink()) == os.devnull:
        path.unlink()


def _move_back(ground: Ground, change: MoveAway) -> str | None:
    if not ground.at(change.to).exists():
        return None
    if ground.at(change.path).exists():
        return f"{change.path} is there again; the old one is {change.to}"
    ground.at(change.to).rename(ground.at(change.path))
    return None


# -- the kernel's ---------------------------------------------------------------------------------


def _set(ground: Ground, name: str, value: int) -> None:
    file = f"/proc/sys/{name.replace('.', '/')}"
    ground.at(file).write_text(f"{value}\n", encoding="ascii")
    if ground.number(file) != value:
        raise Failed(f"{name} says {ground.number(file)} after {value} was written to it")


def _unset(ground: Ground, change: SetParameter) -> str | None:
    there = ground.number(f"/proc/sys/{change.name.replace('.', '/')}")
    if there in (None, change.old):
        return None
    if there != change.value:
        return f"{change.name} was set to {there} since; it is left as it is"
    _set(ground, change.name, change.old)
    return None


# -- directories ----------------------------------------------------------------------------------


def _make(path: Path, owner: Owner, mode: int | None = None) -> None:
    path.mkdir(parents=True, exist_ok=True)
    if mode is not None:
        path.chmod(mode)
    _own(path, owner)


def _own(path: Path, owner: Owner) -> None:
    os.chown(path, owner.uid, owner.gid)
    for name in CONTROLS:
        with contextlib.suppress(FileNotFoundError):
            os.chown(path / name, owner.uid, owner.gid)


def _owner(path: Path) -> Owner:
    facts = path.stat()
    return Owner(facts.st_uid, facts.st_gid)


def _give_back(path: Path, change: Own) -> None:
    if path.exists() and _owner(path) == change.owner:
        _own(path, change.old)


def _remove_cgroup(ground: Ground, change: MakeCgroup) -> str | None:
    if ground.doing.remove_cgroup(str(ground.at(change.path))):
        return None
    return f"{change.path} is in use; stop what runs in it, as with `paddock daemon stop --kill`"


def _remove(path: Path) -> str | None:
    if not path.exists():
        return None
    if any(path.iterdir()):
        return f"{path} is not empty; it is left as it is"
    path.rmdir()
    return None
