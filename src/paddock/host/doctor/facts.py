"""What the doctor looks at, read once. Judges nothing; `root` stands for `/` in tests."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.cgroups.mounts import top_of
from paddock.host.memory import MemoryUnreadable, read_memory

ENGINES: Final = ("podman", "docker", "container")
GIT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Given:
    """What whoever asks knows already."""

    state: Path
    agents: int  # at once, at most
    version: str
    daemon_version: str | None = None  # None: none is running
    config_mistake: str | None = None
    image: str | None = None  # of containers
    driver: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state directory, or the nearest that is there above it."""

    exists: bool
    mode: int
    uid: int
    free_bytes: int
    free_inodes: int | None  # None: this file system has no fixed number


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    given: Given
    uid: int
    user: str
    linux: bool
    kernel: tuple[int, int]
    swap_bytes: int
    psi: bool
    systemd: bool
    user_manager: bool
    lingers: bool
    engines: tuple[str, ...]
    parameters: Mapping[str, int | None]
    open_files: int
    processes: int  # that this user may have; sys.maxsize: any number
    git: tuple[int, int] | None
    state: State
    now: float
    installed_at: float  # paddock's own files: a clock before that is wrong
    hidepid: bool
    top: str | None  # of v2


def read_facts(given: Given, root: Path = Path("/")) -> Facts:
    uid = os.geteuid()
    return Facts(
        given=given,
        uid=uid,
        user=_user(uid),
        linux=sys.platform == "linux",
        kernel=_pair(os.uname().release) or (0, 0),
        swap_bytes=_swap(root),
        psi=_text(root / "proc/pressure/memory").startswith("some"),
        systemd=(root / "run/systemd/system").is_dir(),
        user_manager=(root / f"run/user/{uid}/bus").exists(),
        lingers=(root / f"var/lib/systemd/linger/{_user(uid)}").exists(),
        engines=tuple(name for name in ENGINES if shutil.which(name)),
        parameters={name: _parameter(root, name) for name in PARAMETERS},
        open_files=_limit(resource.RLIMIT_NOFILE),
        processes=_limit(resource.RLIMIT_NPROC),
        git=_git(),
        state=_state(given.state),
        now=time.time(),
        installed_at=Path(__file__).stat().st_mtime,
        hidepid=_hides_processes(_text(root / "proc/self/mountinfo")),
        top=top_of("unified", str(root / "proc")),
    )


PARAMETERS: Final = (
    *("fs.pipe-user-pages-soft", "fs.inotify.max_user_instances"),
    *("fs.inotify.max_user_watches", "kernel.pid_max"),
)


def _parameter(root: Path, name: str) -> int | None:
    text = _text(root / "proc/sys" / name.replace(".", "/")).strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _swap(root: Path) -> int:
    try:
        return read_memory(root).swap_total_bytes or 0
    except MemoryUnreadable:
        return 0


def _limit(kind: int) -> int:
    soft, _ = resource.getrlimit(kind)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def _git() -> tuple[int, int] | None:
    try:
        said = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, timeout=GIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _pair(said.stdout)


def _pair(text: str) -> tuple[int, int] | None:
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def _state(path: Path) -> State:
    exists = path.is_dir()
    there = next((above for above in (path, *path.parents) if above.is_dir()), Path("/"))
    facts, room = there.stat(), os.statvfs(there)
    return State(
        exists=exists,
        mode=facts.st_mode & 0o7777,
        uid=facts.st_uid,
        free_bytes=room.f_bavail * room.f_frsize,
        free_inodes=room.f_favail if room.f_files else None,
    )


def _hides_processes(mountinfo: str) -> bool:
    """Lines are `22 28 0:21 / /proc rw,nosuid - proc proc rw,hidepid=invisible`."""
    for line in mountinfo.split("\n"):  # names of directories may hold other line ends
        before, _, after = line.partition(" - ")
        if before.count(" ") > 3 and before.split(" ")[4] == "/proc":
            option = re.search(r"\bhidepid=(\w+)", after)
            return option is not None and option[1] not in ("0", "off")
    return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # PSI that is switched off says so only when it is read
        return ""
