"""A host made of files for setup to work on, with stand-ins for the programs it calls."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from paddock.host.setup.changes import Owner
from paddock.host.setup.ground import Failed, Ground
from paddock.host.setup.kernel import PARAMETERS
from paddock.host.setup.plan import plan
from paddock.host.setup.readings import Readings, User, read_host
from paddock.host.setup.running import StepDone, set_up
from tests.kit.machine import Machine

ME = Owner(os.getuid(), os.getgid())
GIB_KB = 1 << 20
FSTAB = "UUID=1 / ext4 defaults 0 1\n/dev/sda2 none swap sw 0 0\n# a comment\n"
SWAPS = "Filename Type Size Used Priority\n/dev/sda2 partition 2097148 1024 -2\n"


class StandIns:
    """Changes the files that the real programs would have the kernel change."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ran: list[str] = []
        self.fails: str | None = None  # a word of the command that fails

    def run(self, *command: str) -> None:
        self.ran.append(" ".join(command))
        if self.fails in command:
            raise Failed(f"`{' '.join(command)}` failed: not today")
        what = getattr(self, f"_{command[0]}", None)
        if what is not None:
            what(*command[1:])

    def hand_down(self, path: str, controllers: Sequence[str], *, take_back: bool) -> None:
        file = Path(path) / "cgroup.subtree_control"
        there = set(file.read_text().split()) if file.exists() else set()
        there = there - set(controllers) if take_back else there | set(controllers)
        file.write_text("".join(f"{name}\n" for name in sorted(there)))

    def remove_cgroup(self, path: str) -> bool:
        """A cgroup's own files do not keep it from being removed."""
        shutil.rmtree(path, ignore_errors=True)
        return True

    def _swapoff(self, device: str) -> None:
        file = self.root / "proc/swaps"
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if not line.startswith(f"{device} ")))

    def _swapon(self, *words: str) -> None:
        priority = words[words.index("-p") + 1] if "-p" in words else "-2"
        with (self.root / "proc/swaps").open("a") as file:
            file.write(f"{words[-1]} partition 2097148 0 {priority}\n")

    def _mount(self, *words: str) -> None:
        with (self.root / "proc/self/mountinfo").open("a") as file:
            file.write(f"90 23 0:90 / {words[-1]} rw - tmpfs tmpfs rw\n")

    def _umount(self, path: str) -> None:
        file = self.root / "proc/self/mountinfo"
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if f" {path} " not in line))

    def _loginctl(self, word: str, user: str) -> None:
        file = self.root / "var/lib/systemd/linger" / user
        if word == "enable-linger":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        else:
            file.unlink()

    def _systemctl(self, word: str, *words: str) -> None:
        link = (
            self.root / f"etc/systemd/system/multi-user.target.wants/{words[-1] if words else ''}"
        )
        if word == "enable":
            link.parent.mkdir(parents=True, exist_ok=True)
            link.touch()
        elif word == "disable":
            link.unlink(missing_ok=True)
            link.parent.rmdir()


class Host:
    """16 GiB with swap, cgroup v2 and no systemd, unless told otherwise."""

    def __init__(self, root: Path, *, version: int = 2, systemd: bool = False) -> None:
        self.machine = Machine(root)
        self.programs = StandIns(root)
        self.ground = Ground(root, self.programs)
        self.user = User("tester", ME)
        self.machine.meminfo(total_kb=16 * GIB_KB, available_kb=12 * GIB_KB)
        self.machine.write("/proc/swaps", SWAPS)
        self.machine.write("/etc/fstab", FSTAB)
        for folder in (
            "etc/sysctl.d",
            "etc/security/limits.d",
            "etc/systemd/system",
            "run",
            "var/lib",
        ):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for each in PARAMETERS:
            self.machine.write(each.file, "100\n")
        if systemd:
            (root / "run/systemd/system").mkdir(parents=True)
        if version == 2:
            self.machine.v2("/")
            self.machine.write(
                "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids misc\n"
            )
            self.machine.write("/sys/fs/cgroup/cgroup.subtree_control", "cpu\n")
        elif version == 1:
            self.machine.v1("/")
            (root / "sys/fs/cgroup/memory").mkdir(parents=True)

    def read(self) -> Readings:
        return read_host(self.ground, self.user)

    def set_up(self) -> list[StepDone]:
        return list(set_up(plan(self.read()), self.ground))

    def picture(self) -> dict[str, str]:
        """Everything there is, to be held against a later one, but for the lock."""
        root = self.machine.root
        found = {}
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            if name == "run/paddock-setup.lock":
                continue
            if path.is_symlink():
                found[name] = f"-> {path.readlink()}"
            elif path.is_file():
                found[name] = path.read_text()
            else:
                found[name] = f"{path.stat().st_uid}:{path.stat().st_gid}"
        return found
