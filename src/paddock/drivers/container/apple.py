"""Apple's `container`, by its public command reference. Untested: nobody of us has run it.

Each container is a virtual machine, so FIFOs and cgroup files do not reach in.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Final

from paddock.drivers.container.engine import EngineTrouble, Order, Seen

WITHIN_S: Final = 120.0  # a virtual machine boots
MIB: Final = 1 << 20


class AppleEngine:
    kind = "apple"
    name = "Apple container, untested"
    shares_kernel = False
    takes_cgroup_paths = False

    def __init__(self, program: str = "container") -> None:
        self._program = program

    async def check(self, image: str) -> str:
        await self._run("system", "status")
        if not image:
            raise EngineTrouble(
                "no image is configured: set sandbox.container_image", permanent=True
            )
        await self._run("image", "inspect", image)
        return f"{self.name}, with image {image}"

    async def create(self, order: Order) -> None:
        with tempfile.NamedTemporaryFile("w", prefix="paddock-env-", encoding="utf-8") as file:
            file.write(env_file(order.environment))  # mode 0600, and gone after the call
            file.flush()
            await self._run(*create_words(order, file.name))

    async def start(self, name: str) -> None:
        await self._run("start", name)

    async def kill(self, name: str, signal: str) -> None:
        await self._run("kill", "--signal", signal, name)

    async def pause(self, name: str) -> None:
        raise EngineTrouble(f"{name} cannot be paused: Apple container has no such command")

    async def unpause(self, name: str) -> None:
        raise EngineTrouble(f"{name} cannot be unpaused: Apple container has no such command")

    async def inspect(self, name: str) -> Seen | None:
        return next((seen for seen in await self._all() if seen.name == name), None)

    async def with_label(self, label: str) -> Sequence[Seen]:
        key, _, value = label.partition("=")
        return [seen for seen in await self._all() if seen.labels.get(key) == value]

    async def used_bytes(self, name: str) -> int | None:
        return used_in(await self._run("stats", "--format", "json", "--no-stream", name))

    async def remove(self, name: str) -> None:
        if await self.inspect(name) is not None:
            await self._run("delete", "--force", name)

    def close(self) -> None:
        pass

    async def _all(self) -> list[Seen]:
        return seen_in(await self._run("list", "--all", "--format", "json"))

    async def _run(self, *words: str) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                self._program,
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError:
            raise EngineTrouble(
                f"{self._program}: not found; install Apple's container or use --driver local",
                permanent=True,
            ) from None
        try:
            async with asyncio.timeout(WITHIN_S):
                out, err = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise EngineTrouble(f"container {words[0]} took over {WITHIN_S:g} s") from None
        if process.returncode:
            said = " ".join(err.decode(errors="replace").split())[-500:]
            raise EngineTrouble(f"container {words[0]}: {said or process.returncode}")
        return out


def create_words(order: Order, environment_file: str) -> list[str]:
    words = ["create", "--name", order.name, "--env-file", environment_file]
    words += ["--workdir", order.directory, "--user", order.user]
    words += ["--memory", f"{max(1, order.limit_bytes // MIB)}M"]
    words += ["--cpus", str(max(1, round(order.cpus or os.cpu_count() or 1)))]
    words += ["--entrypoint", order.command[0]]
    for key, value in order.labels.items():
        words += ["--label", f"{key}={value}"]
    for mount in order.mounts:
        end = ",readonly" if mount.read_only else ""
        words += ["--mount", f"type=bind,source={mount.source},target={mount.target}{end}"]
    if order.scratch_bytes:
        words += ["--tmpfs", "/tmp"]
    return [*words, order.image, *order.command[1:]]


def env_file(environment: Mapping[str, str]) -> str:
    """EngineTrouble for what such a file cannot say."""
    for name, value in environment.items():
        if "\n" in value:
            raise EngineTrouble(
                f"the variable {name} has several lines, which Apple container cannot be given",
                permanent=True,
            )
    return "".join(f"{name}={value}\n" for name, value in environment.items())


def seen_in(output: bytes) -> list[Seen]:
    found = _json(output)
    return [_seen(one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _seen(told: Mapping[str, Any]) -> Seen:
    made = told.get("configuration") or {}
    return Seen(
        name=str(made.get("id", "")),
        labels=made.get("labels") or {},
        running=told.get("status") == "running",
    )


def used_in(output: bytes) -> int | None:
    found = _json(output)
    first = found[0] if isinstance(found, list) and found else found
    used = first.get("memoryUsageBytes") if isinstance(first, dict) else None
    return used if isinstance(used, int) else None


def _json(output: bytes) -> Any:
    try:
        return json.loads(output)
    except ValueError:
        return None
