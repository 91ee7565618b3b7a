"""Podman, by the Docker API of a service of our own on a private socket.

The service holds nothing: containers live under conmon, and a service that died is started again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from paddock.drivers.container.docker import VERSION, WITHIN_S, DockerEngine, seen_in
from paddock.drivers.container.engine import EngineTrouble, Seen
from paddock.drivers.container.engines import EngineFacts, facts_of_podman, far_away, local_only
from paddock.drivers.container.unix_http import Answer, NoAnswer, ask, request_bytes

LIBPOD: Final = "/v4.0.0/libpod"
IDLE_S: Final = 60  # then a service that no daemon asks any more ends by itself
LONGEST_SOCKET: Final = 107
UP_WITHIN_S: Final = 30.0  # 0.1 s usually; the first use of a store takes longer
LOOK_S: Final = 0.02


class PodmanEngine(DockerEngine):
    """`command` is podman with whatever options come before a subcommand; its socket is made in
    `directory`, which nobody else may enter."""

    kind = "podman"

    def __init__(
        self,
        directory: Path,
        *,
        command: tuple[str, ...] = ("podman",),
        environment: Mapping[str, str] | None = None,
        idle_s: int = IDLE_S,
    ) -> None:
        environment = os.environ if environment is None else environment
        super().__init__(unfit=far_away(environment, self.kind))
        serve = (*command, "system", "service", "--time", str(idle_s))
        environment = local_only(environment, self.kind)
        self._service = Service(directory, command=serve, environment=environment)

    async def inspect(self, name: str) -> Seen | None:
        """Its own inspect: `OOMKilled` is false in 4.3.1, and says where conmon's `oom` file is."""
        answer = await self._ask("GET", f"/containers/{name}/json", prefix=LIBPOD)
        if answer.status == 404:
            return None
        told = self._good(answer, name)
        seen = seen_in(told)
        if seen.oom or not has_oom_file(told):
            return seen
        return Seen(
            name=seen.name,
            labels=seen.labels,
            running=seen.running,
            pid=seen.pid,
            code=seen.code,
            oom=True,
        )

    def close(self) -> None:
        self._service.end()

    async def _facts(self, info: Mapping[str, Any]) -> EngineFacts:  # noqa: ARG002
        answer = await self._ask("GET", "/info", prefix=LIBPOD)
        told = self._good(answer, "what podman says of itself")
        return facts_of_podman(told if isinstance(told, dict) else {})

    def _peculiarities(self) -> dict[str, Any]:
        """Without root, `keep-id` lets the user inside be the user outside: files stay theirs."""
        usual = super()._peculiarities()
        return usual if os.geteuid() == 0 else usual | {"userns": "keep-id"}

    async def _ask(
        self, method: str, path: str, body: object = None, *, prefix: str = VERSION
    ) -> Answer:
        """Once more if the service was gone, or went: what a request did is seen by its repeat."""
        if self._unfit is not None:
            raise EngineTrouble(self._unfit, permanent=True)
        request = request_bytes(method, f"{prefix}{path}", body)
        return await self._service.ask(request)


class Service:
    """`podman system service`, started when it is needed.

    Each on a socket of its own: one that ends removes its socket's name, whoever has it by then.
    """

    def __init__(
        self, directory: Path, *, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> None:
        self._directory, self._command, self._environment = directory, command, dict(environment)
        self._socket = directory / "none"
        self._pid = 0
        self._asked = 0  # requests under way
        self._starting = asyncio.Lock()

    async def ask(self, request: bytes) -> Answer:
        self._asked += 1
        try:
            return await self._ask(request)
        finally:
            self._asked -= 1

    async def _ask(self, request: bytes) -> Answer:
        try:
            return await ask(str(self._socket), request, within_s=WITHIN_S)
        except NoAnswer:
            await self._up()
        try:
            return await ask(str(self._socket), request, within_s=WITHIN_S)
        except NoAnswer as error:
            raise EngineTrouble(f"podman does not answer ({error}); see {self._log}") from None

    def end(self) -> None:
        """Only while it does nothing: 4.3.1, told to end in the middle of a creation, stood still
        with the container's lock in its hand. Otherwise it ends by itself, when nobody asks."""
        if self._pid and not self._asked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)
        self._reap()

    @property
    def _log(self) -> Path:
        return self._directory / "podman.log"

    async def _up(self) -> None:
        async with self._starting:
            if await self._is_up():
                return
            self._reap()
            self._start()
            give_up_at = asyncio.get_running_loop().time() + UP_WITHIN_S
            while not await self._is_up():
                if self._reap() or asyncio.get_running_loop().time() > give_up_at:
                    raise EngineTrouble(f"podman does not work: {self._last_words()}")
                await asyncio.sleep(LOOK_S)

    async def _is_up(self) -> bool:
        try:
            request = request_bytes("GET", "/_ping")
            return (await ask(str(self._socket), request, within_s=5.0)).is_good
        except NoAnswer:
            return False

    def _start(self) -> None:
        program = shutil.which(self._command[0], path=self._environment.get("PATH"))
        if program is None:
            raise EngineTrouble(
                f"{self._command[0]}: not found; install podman or use --driver local",
                permanent=True,
            )
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._socket.unlink(missing_ok=True)  # of one that was killed
        self._socket = self._directory / f"podman-{secrets.token_hex(4)}.sock"
        if len(os.fsencode(self._socket)) > LONGEST_SOCKET:
            raise EngineTrouble(
                f"{self._directory} is too long a path for a socket; choose a shorter one",
                permanent=True,
            )
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        words = [program, *self._command[1:], f"unix://{self._socket}"]
        self._pid = os.posix_spawn(
            "/bin/sh",
            # conmon, below it, leaves a file `oom` in whichever directory it was started in.
            ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(self._directory), *words],
            self._environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self._log), flags, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,  # it must not die with our terminal in the middle of a start
        )

    def _reap(self) -> bool:
        """Whether the one we started has ended."""
        if not self._pid:
            return False
        try:
            ended = os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            ended = True
        if ended:
            self._pid = 0
        return ended

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
            return next((line for line in reversed(lines) if line.strip()), "it says nothing")
        return "it says nothing"


def has_oom_file(told: Mapping[str, Any]) -> bool:
    """conmon writes it beside its pid file, when the kernel tells of an out-of-memory kill."""
    pid_file = str(told.get("ConmonPidFile") or "")
    return bool(pid_file) and Path(pid_file).with_name("oom").exists()
