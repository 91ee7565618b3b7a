"""Boots a Debian kernel under qemu over the host's own files and runs one command in it.

`python -m tests.kit.guest -- COMMAND…` does it from a shell; docs/develop/guest.md says how.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.kit.guest_initramfs import initramfs
from tests.kit.guest_kernel import Kernel, NoGuest, the_kernel

PROJECT = Path(__file__).parents[2]
BOOT = PROJECT / "tests/guest/boot"
QEMU = "qemu-system-x86_64"
SYSTEMD = Path("/lib/systemd/systemd")
USER, UID = "paddock-guest", 7777
TIMED_OUT, NO_ANSWER = 124, 125

Pid1 = Literal["plain", "systemd"]
Hear = Callable[[bytes], object]


@dataclass(frozen=True)
class Answer:
    """What a guest left: its command's exit code (None: there was none), output and console."""

    code: int | None
    output: str = field(repr=False)
    console: str = field(repr=False)
    seconds: float
    timed_out: bool

    def __str__(self) -> str:
        """For a failed test, beside the output. The console matters when the boot went wrong."""
        console = self.console if self.code is None else ""
        return f"the guest {self.ending} after {self.seconds:.0f} s\n{console}"

    @property
    def ending(self) -> str:
        if self.timed_out:
            return "was ended: out of time"
        return "gave no answer" if self.code is None else f"answered {self.code}"


@dataclass(frozen=True)
class Guest:
    """One kind of guest. Each `run` is a boot of its own and leaves nothing."""

    pid1: Pid1 = "plain"
    memory_mb: int = 2048
    cores: int = 2
    env: dict[str, str] = field(default_factory=dict)

    def run(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        within_s: float = 120,
        hear: Hear | None = None,
        fetch: Sequence[tuple[str, Path]] = (),
    ) -> Answer:
        """Boot, run, end. `hear` gets output as it comes; files of /run/guest are fetched."""
        check(self.pid1)
        with tempfile.TemporaryDirectory(prefix="paddock-guest-") as name:
            desk = Path(name)
            kernel = the_kernel()
            self._lay(desk, kernel, command)
            started = time.monotonic()
            timed_out = self._boot(desk, kernel, hear=hear, within_s=within_s)
            for file, to in fetch:
                if (desk / file).exists():
                    shutil.copyfile(desk / file, to)
            return _answer(desk, time.monotonic() - started, timed_out=timed_out)

    def _lay(self, desk: Path, kernel: Kernel, command: Sequence[str | os.PathLike[str]]) -> None:
        """The desk is the one directory that both sides see."""
        for file in ("work", "systemd"):
            shutil.copyfile(BOOT / file, desk / file)
        (desk / "initramfs").write_bytes(initramfs(kernel, BOOT / "init"))
        (desk / "setting").write_text(setting(self.pid1, kernel), encoding="utf-8")
        (desk / "output").touch()
        env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin:/usr/sbin:/sbin"),
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "PADDOCK_GUEST": self.pid1,
            **self.env,
        }
        lines = [
            *(f"export {name}={shlex.quote(value)}" for name, value in env.items()),
            f"cd {shlex.quote(str(Path.cwd()))}",
            f"exec {shlex.join(os.fspath(word) for word in command)}",
        ]
        (desk / "command").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _boot(self, desk: Path, kernel: Kernel, *, hear: Hear | None, within_s: float) -> bool:
        """Whether time ran out. However this ends, so does qemu."""
        deadline = time.monotonic() + within_s
        with (desk / "qemu").open("wb") as said, (desk / "output").open("rb") as output:
            # Should we be killed ourselves, qemu must not go on for ever.
            command = ["setpriv", "--pdeathsig", "KILL", *self._qemu(desk, kernel)]
            qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            try:
                while qemu.poll() is None and time.monotonic() < deadline:
                    _pass_on(output.read(), hear)
                    _wait(qemu, 0.05)
                return qemu.poll() is None
            finally:
                qemu.kill()
                qemu.wait()
                _pass_on(output.read(), hear)

    def _qemu(self, desk: Path, kernel: Kernel) -> list[str]:
        append = (
            # no_timer_check: an emulated timer that a busy host holds up is no broken one.
            "console=ttyS0 quiet panic=-1 random.trust_cpu=on tsc=reliable mitigations=off nokaslr "
            "no_timer_check "
            f"cryptomgr.notests psi=1 {clock()}"
        )
        # A comma in a path would end it.
        files = str(desk).replace(",", ",,")
        return [
            *(QEMU, "-nodefaults", "-no-user-config", "-machine", "q35", "-cpu", "max,la57=off"),
            *("-accel", "tcg,thread=multi,tb-size=512", "-smp", str(self.cores)),
            *("-m", str(self.memory_mb), "-display", "none", "-no-reboot"),
            *("-kernel", str(kernel.elf), "-initrd", str(desk / "initramfs"), "-append", append),
            *("-chardev", f"file,id=console,path={files}/console", "-serial", "chardev:console"),
            *("-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"),
            *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host"),
            *("-fsdev", f"local,id=desk,path={files},security_model=none"),
            *("-device", "virtio-9p-pci,fsdev=desk,mount_tag=desk"),
        ]


def check(pid1: Pid1 = "plain") -> None:
    """Say what this machine lacks for a guest, if it lacks anything."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise NoGuest(
            f"the guest shares this machine's files, and needs Linux on x86_64 for that; "
            f"this is {platform.system()} on {platform.machine()}"
        )
    missing = [name for name in (QEMU, "setpriv") if not shutil.which(name)]
    if pid1 == "systemd" and not SYSTEMD.exists():
        missing.append("systemd")
    if missing:
        raise NoGuest(f"{' and '.join(missing)} not installed here; `make test-vm` as root does it")


def clock() -> str:
    """For the kernel: how fast its counter is, which is this machine's. It would measure that while
    it starts, and on a busy machine it was seen to be wrong by ten: then all patience in the guest
    is over before anything has happened. Within a percent it still mends it by itself."""
    found = re.search(r"^bogomips\s*: ([0-9.]+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return "" if found is None else f"tsc_early_khz={round(float(found[1]) * 500)}"


def setting(pid1: Pid1, kernel: Kernel) -> str:
    """What the guest's first script must know, as shell."""
    needed = [PROJECT, Path(sys.prefix), Path(sys.base_prefix), kernel.directory]
    hidden = ("/tmp", "/var/tmp", "/run", "/dev/shm")
    keep = [path for path in needed if str(path).startswith(tuple(f"{top}/" for top in hidden))]
    parents = {parent for path in needed for parent in path.resolve().parents}
    closed = sorted(path for path in parents if not path.stat().st_mode & 0o001)
    values = {
        "pid1": pid1,
        "user": USER,
        "uid": str(UID),
        "modules": str(kernel.modules),
        "keep": " ".join(map(str, keep)),
        "opened": " ".join(map(str, closed)),
    }
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())


def _answer(desk: Path, seconds: float, *, timed_out: bool) -> Answer:
    texts = [
        (desk / name).read_text(encoding="utf-8", errors="replace")
        if (desk / name).exists()
        else ""
        for name in ("exit-code", "output", "console", "qemu")
    ]
    code = int(texts[0]) if texts[0].strip().isdecimal() and not timed_out else None
    return Answer(code, texts[1], texts[2] + texts[3], seconds, timed_out)


def _pass_on(output: bytes, hear: Hear | None) -> None:
    if output and hear:
        hear(output)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.kit.guest", description=__doc__)
    parser.add_argument("--systemd", action="store_true", help="with systemd as PID 1")
    parser.add_argument("--memory", type=int, default=2048, metavar="MB")
    parser.add_argument("--within", type=float, default=120, metavar="SECONDS")
    parser.add_argument("--console", action="store_true", help="show the kernel's console as well")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    asked = _arguments(argv)
    guest = Guest("systemd" if asked.systemd else "plain", memory_mb=asked.memory)
    try:
        answer = guest.run(asked.command, within_s=asked.within, hear=_show)
    except NoGuest as lacking:
        sys.stderr.write(f"guest: {lacking}\n")
        return NO_ANSWER
    if asked.console or answer.code is None:
        sys.stderr.write(answer.console)
    sys.stderr.write(f"guest: {answer.ending} after {answer.seconds:.1f} s\n")
    if answer.code is None:
        return TIMED_OUT if answer.timed_out else NO_ANSWER
    return answer.code


def _show(output: bytes) -> None:
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
