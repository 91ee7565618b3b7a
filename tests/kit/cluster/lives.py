"""How the containers of the stand-in live: by a script, or as a real process of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from paddock.drivers.fake.script import (
    BadScript,
    Deed,
    Leave,
    Print,
    Script,
    Sleep,
    Use,
    read_script,
)
from tests.kit.cluster.amounts import quantity
from tests.kit.cluster.objects import Object

OOM = "OOMKilled"


@dataclass(frozen=True, slots=True)
class End:
    code: int
    reason: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        if not self.reason:
            object.__setattr__(self, "reason", "Error" if self.code else "Completed")


@dataclass(eq=False)
class Log:
    """What a container wrote; followers wait for more of it."""

    data: bytearray = field(default_factory=bytearray)
    stamped: bytearray = field(default_factory=bytearray)  # each line after its time
    begins: list[tuple[str, int]] = field(default_factory=list)  # time of a line, and where it is
    over: bool = False
    more: asyncio.Event = field(default_factory=asyncio.Event)
    _last_ns: int = 0

    def write(self, data: bytes) -> None:
        for line in data.splitlines(keepends=True):
            if not self.data or self.data.endswith(b"\n"):
                stamp = self._stamp()
                self.begins.append((stamp, len(self.stamped)))
                self.stamped += f"{stamp} ".encode()
            self.data += line
            self.stamped += line
        self.ring()

    def _stamp(self) -> str:
        self._last_ns = max(time.time_ns(), self._last_ns + 1)
        seconds, rest = divmod(self._last_ns, 10**9)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"

    def since(self, text: str | None) -> int:
        """By the second, as the real one: what is older than that is left out."""
        if text is None:
            return 0
        whole = text.partition(".")[0].rstrip("Z")  # an API server passes it on without a fraction
        return next((at for stamp, at in self.begins if stamp >= whole), len(self.stamped))

    def close(self) -> None:
        self.over = True
        self.ring()

    def ring(self) -> None:
        self.more.set()
        self.more = asyncio.Event()


class Life(Protocol):
    async def live(self) -> End: ...

    def term(self) -> None: ...

    def kill(self) -> None: ...

    def annotate(self, annotations: dict[str, str]) -> None: ...

    def used_bytes(self) -> int: ...


MakeLife = Callable[[Object, Log], Life]


def limit_of(pod: Object) -> int | None:
    limits = pod["spec"]["containers"][0].get("resources", {}).get("limits", {})
    return int(quantity(limits["memory"])) if "memory" in limits else None


def variables_of(pod: Object) -> dict[str, str]:
    return {
        one["name"]: one.get("value", "") for one in pod["spec"]["containers"][0].get("env", [])
    }


class Scripted:
    """Speaks for our entry and for the agent behind it, in the language of the fake driver."""

    def __init__(self, pod: Object, log: Log) -> None:
        container = pod["spec"]["containers"][0]
        self._words = tuple(container.get("args", ()))
        self._mark = variables_of(pod).get("ENTRY_MARK", "")
        self._limit = limit_of(pod)
        self._log = log
        self._used = 0
        self._end: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        self._deaf = False
        self._asked = ""
        self._script: Script | None = None

    def _say(self, word: str) -> None:
        self._log.write(f"\x1e{self._mark}:{word}\x1e".encode())

    async def live(self) -> End:
        try:
            script = read_script(self._words)
        except BadScript:
            self._say("missing")
            return End(127)
        self._script, self._deaf = script, script.deaf
        self._say("begun")
        doing = asyncio.ensure_future(self._do(script.deeds))
        try:
            await asyncio.wait({doing, self._end}, return_when=asyncio.FIRST_COMPLETED)
            return self._end.result() if self._end.done() else doing.result()
        finally:
            doing.cancel()
            self._used = 0

    async def _do(self, deeds: tuple[Deed, ...]) -> End:
        for deed in deeds:
            match deed:
                case Use():
                    self._used = deed.bytes
                    if self._limit is not None and deed.bytes > self._limit:
                        return End(137, OOM)
                case Sleep():
                    await asyncio.sleep(deed.seconds)
                case Print():
                    self._log.write(deed.text.encode() + b"\n")
                case Leave():
                    return End(deed.code if deed.code is not None else 128 + (deed.signal or 0))
        return End(0)

    def _leave(self, end: End) -> None:
        if not self._end.done():
            self._end.set_result(end)

    def term(self) -> None:
        if not self._deaf:
            self._leave(End(143))

    def kill(self) -> None:
        self._leave(End(137))

    def annotate(self, annotations: dict[str, str]) -> None:
        asked = annotations.get("paddock.dev/ask", "")
        new, self._asked = set(asked.split()) - set(self._asked.split()), asked
        script = self._script
        if script is None:
            return
        if "soft-timeout" in new and script.wraps_up is not None:
            self._leave(End(script.wraps_up))
        if "checkpoint" in new:
            if script.checkpoints_s is None:
                self._say("declined")
            else:
                loop = asyncio.get_running_loop()
                loop.call_later(script.checkpoints_s, self._say, "written")

    def used_bytes(self) -> int:
        return self._used


class Process:
    """The container's own command and arguments, run here. There is no mount namespace: what would
    be below a mount path is below a directory of the pod's, and its variables say so."""

    LOOK_S = 0.02

    def __init__(self, pod: Object, log: Log, *, volumes: Path) -> None:
        self._pod, self._log = pod, log
        self._volumes = volumes  # where claims are: they outlive a pod
        self._home = Path(tempfile.mkdtemp(prefix="pod-"))
        self._mark = pod["metadata"]["uid"]
        self._process: asyncio.subprocess.Process | None = None
        self._oom = False

    def _mounts(self) -> dict[str, Path]:
        found = {}
        volumes = {volume["name"]: volume for volume in self._pod["spec"].get("volumes", [])}
        for mount in self._pod["spec"]["containers"][0].get("volumeMounts", []):
            volume = volumes[mount["name"]]
            path = self._home / mount["name"]
            if "persistentVolumeClaim" in volume:
                path = self._volumes / volume["persistentVolumeClaim"]["claimName"]
            path.mkdir(exist_ok=True)
            found[mount["mountPath"]] = path
        return found

    def _here(self, text: str) -> str:
        for mount, path in self._mounted.items():
            if text == mount or text.startswith(f"{mount}/"):
                return f"{path}{text[len(mount) :]}"
        return text

    async def live(self) -> End:
        container = self._pod["spec"]["containers"][0]
        self._mounted = self._mounts()
        self.annotate(self._pod["metadata"].get("annotations", {}))
        variables = {"PATH": os.environ["PATH"], "POD_UID": self._mark}
        variables |= {name: self._here(value) for name, value in variables_of(self._pod).items()}
        words = [*container.get("command", []), *container.get("args", [])]
        # Not a pipe of asyncio's: its `wait` would wait for who holds the other end, too.
        reader, writer = os.pipe()
        self._process = process = await asyncio.create_subprocess_exec(
            *words,
            env=variables,
            cwd=self._here(container.get("workingDir", str(self._home))),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writer,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        os.close(writer)
        reading = asyncio.ensure_future(self._read(reader))
        watching = asyncio.ensure_future(self._watch())
        try:
            code = await process.wait()
        finally:
            watching.cancel()
        self._kill_everybody()  # a container ends with its first process
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reading, 5.0)
        shutil.rmtree(self._home, ignore_errors=True)
        if self._oom:
            return End(137, OOM)
        return End(code if code >= 0 else 128 - code)

    async def _read(self, reader: int) -> None:
        stream = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(stream)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: protocol, os.fdopen(reader, "rb", buffering=0))
        while data := await stream.read(1 << 16):
            self._log.write(data)

    async def _watch(self) -> None:
        limit = limit_of(self._pod)
        while limit is not None and not self._oom:
            await asyncio.sleep(self.LOOK_S)
            if self.used_bytes() > limit:
                self._oom = True
                self._kill_everybody()

    def _members(self) -> list[int]:
        """Also daemons that it made: by what only its processes have in their environment."""
        mark, found = f"POD_UID={self._mark}".encode(), []
        for name in os.listdir("/proc"):  # noqa: PTH208 - quicker, and there may be thousands
            if name.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123
                    if mark in file.read():
                        found.append(int(name))
        return found

    def _kill_everybody(self) -> None:
        for _ in range(3):
            members = self._members()
            for pid in {*members, *self._family()} if members else ():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if not members:
                return

    def term(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(OSError):
                self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._kill_everybody()

    def annotate(self, annotations: dict[str, str]) -> None:
        """The kubelet writes what the downward API promises."""
        for volume in self._pod["spec"].get("volumes", []):
            for item in volume.get("downwardAPI", {}).get("items", []):
                wanted = item["fieldRef"]["fieldPath"]
                name = wanted.removeprefix("metadata.annotations['").removesuffix("']")
                path = self._home / volume["name"] / item["path"]
                path.parent.mkdir(exist_ok=True)
                fresh = path.with_suffix(".new")
                fresh.write_text(annotations.get(name, ""), encoding="utf-8")
                fresh.replace(path)

    def _family(self) -> list[int]:
        """Who descends from the first process: quick to find, and nearly all."""
        found = [] if self._process is None else [self._process.pid]
        for pid in found:
            with contextlib.suppress(OSError):
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
                found += map(int, children.split())
        return found

    def used_bytes(self) -> int:
        total = 0
        for pid in self._family():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
                total += int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
        return total
