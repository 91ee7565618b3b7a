"""Docker, and whatever speaks its API over a Unix socket.

By the API, not by the command: 95 ms a container where `podman run` took 184 to 230, and the
environment travels in a request's body, not in anybody's arguments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from paddock.drivers.container.engine import EngineTrouble, Order, Seen
from paddock.drivers.container.engines import EngineFacts, facts_of_docker, refuse_unfit
from paddock.drivers.container.unix_http import Answer, NoAnswer, ask, request_bytes

VERSION: Final = "/v1.41"  # docker 20.10 (2020) and podman 3 know it
WITHIN_S: Final = 60.0  # fifty at once on two cores: the last waited 9 s
SOCKET: Final = "/var/run/docker.sock"


class DockerEngine:
    kind = "docker"
    shares_kernel = True

    def __init__(self, socket: str = SOCKET, *, unfit: str | None = None) -> None:
        """`unfit`: why it is not asked at all."""
        self._socket = socket
        self._unfit = unfit
        self._version = ""
        self._cgroups = ""
        self._cgroup_driver = ""

    @property
    def name(self) -> str:
        return f"{self.kind} {self._version}".strip()

    @property
    def takes_cgroup_paths(self) -> bool:
        return self._cgroup_driver == "cgroupfs"

    async def check(self, image: str) -> str:
        info = await self._get("/info")
        self._cgroup_driver = str(info.get("CgroupDriver", ""))
        self._version = str(info.get("ServerVersion", ""))
        self._cgroups = str(info.get("CgroupVersion", ""))
        refuse_unfit(await self._facts(info), self.kind)
        if not image:
            raise EngineTrouble(
                "no image is configured: set sandbox.container_image, as in agents:1",
                permanent=True,
            )
        await self._get(f"/images/{quote(image, safe='/:@')}/json", what=f"image {image}")
        return f"{self.name} with image {image}"

    async def create(self, order: Order) -> None:
        body = create_body(order, **self._peculiarities())
        path = f"/containers/create?name={quote(order.name)}"
        self._good(await self._ask("POST", path, body), f"image {order.image}")

    async def start(self, name: str) -> None:
        self._good(await self._ask("POST", f"/containers/{name}/start"), name)

    async def kill(self, name: str, signal: str) -> None:
        await self._ask("POST", f"/containers/{name}/kill?signal={signal}")

    async def pause(self, name: str) -> None:
        await self._ask("POST", f"/containers/{name}/pause")

    async def unpause(self, name: str) -> None:
        await self._ask("POST", f"/containers/{name}/unpause")

    async def inspect(self, name: str) -> Seen | None:
        answer = await self._ask("GET", f"/containers/{name}/json")
        if answer.status == 404:
            return None
        return seen_in(self._good(answer, name))

    async def with_label(self, label: str) -> Sequence[Seen]:
        filters = quote(json.dumps({"label": [label]}))
        answer = await self._ask("GET", f"/containers/json?all=true&filters={filters}")
        found = self._good(answer, "the list of containers")
        return [listed_in(one) for one in found] if isinstance(found, list) else []

    async def used_bytes(self, name: str) -> int | None:
        answer = await self._ask("GET", f"/containers/{name}/stats?stream=false&one-shot=true")
        return used_in(answer.json()) if answer.is_good else None

    async def remove(self, name: str) -> None:
        answer = await self._ask("DELETE", f"/containers/{name}?force=true&v=true")
        if answer.status not in (404, 409):  # 409: it is being removed already
            self._good(answer, name)

    def close(self) -> None:
        pass

    # -- how it is asked ------------------------------------------------------------------

    async def _facts(self, info: Mapping[str, Any]) -> EngineFacts:
        return facts_of_docker(info)

    def _peculiarities(self) -> dict[str, Any]:
        return {"soft_limit": self._cgroups == "1"}

    async def _ask(self, method: str, path: str, body: object = None) -> Answer:
        if self._unfit is not None:
            raise EngineTrouble(self._unfit, permanent=True)
        try:
            request = request_bytes(method, f"{VERSION}{path}", body)
            return await ask(self._socket, request, within_s=WITHIN_S)
        except NoAnswer as error:
            raise EngineTrouble(
                f"{self.kind} does not answer ({error}); is it running, and may you use it?"
                " Start it, or use --driver local"
            ) from None

    async def _get(self, path: str, what: str = "") -> dict[str, Any]:
        found = self._good(await self._ask("GET", path), what or path)
        return found if isinstance(found, dict) else {}

    def _good(self, answer: Answer, what: str) -> Any:
        if answer.is_good:
            return answer.json() if answer.body else None
        raise trouble_in(answer, program=self.kind, what=what)


def create_body(order: Order, *, soft_limit: bool = False, userns: str = "") -> dict[str, Any]:
    """`soft_limit`: cgroup v1's, which presses an agent back when the host is short. In v2 the same
    field would *protect* its page cache from the host, so it is left out there."""
    host: dict[str, Any] = {
        "Mounts": [
            {"Type": "bind", "Source": m.source, "Target": m.target, "ReadOnly": m.read_only}
            for m in order.mounts
        ],
        "Memory": order.limit_bytes,
        "MemorySwap": order.limit_bytes,  # with memory the same: no swap at all
        "PidsLimit": order.pids,
        "NanoCpus": int(order.cpus * 1e9),
        "NetworkMode": order.network,
        "CgroupParent": order.cgroup_parent,
        "OomScoreAdj": order.oom_score_adj,
        "LogConfig": {"Type": "none"},  # the output goes through the FIFO, to our own file
        # Relabelling a workspace for SELinux would lock its owner's other programs out.
        "SecurityOpt": ["label=disable"],
        "RestartPolicy": {"Name": "no"},
        "Init": False,
    }
    if soft_limit:
        host["MemoryReservation"] = order.limit_bytes * 3 // 4
    if order.scratch_bytes:
        host["Tmpfs"] = {"/tmp": f"rw,exec,mode=1777,size={order.scratch_bytes}"}
    if userns:
        host["UsernsMode"] = userns
    return {
        "Image": order.image,
        "Entrypoint": list(order.command[:1]),
        "Cmd": list(order.command[1:]),
        "Env": [f"{name}={value}" for name, value in order.environment.items()],
        "WorkingDir": order.directory,
        "User": order.user,
        "Labels": dict(order.labels),
        "StopTimeout": 0,
        "HostConfig": host,
    }


def trouble_in(answer: Answer, *, program: str, what: str) -> EngineTrouble:
    """The engine's own sentence is kept: it knows best, but not what to do about it."""
    told = answer.json()
    said = str(told.get("message") or told.get("cause") or "") if isinstance(told, dict) else ""
    said = " ".join(said.split()) or f"status {answer.status}"
    if answer.status == 404 and what.startswith("image "):
        image = what.removeprefix("image ")
        return EngineTrouble(
            f"{what} is not there; get it with `{program} pull {image}`", permanent=True
        )
    if "/bin/sh" in said and ("not found" in said or "no such file" in said.lower()):
        return EngineTrouble("the image has no /bin/sh, which paddock needs in it", permanent=True)
    return EngineTrouble(f"{program}: {said}", permanent=answer.status in (400, 404))


def seen_in(told: Mapping[str, Any]) -> Seen:
    state = told.get("State") or {}
    running = bool(state.get("Running"))
    return Seen(
        name=str(told.get("Name", "")).lstrip("/"),
        labels=(told.get("Config") or {}).get("Labels") or {},
        running=running,
        pid=int(state.get("Pid") or 0),
        code=None if running or state.get("Status") == "created" else state.get("ExitCode"),
        oom=bool(state.get("OOMKilled")),
    )


def listed_in(told: Mapping[str, Any]) -> Seen:
    names = told.get("Names") or [""]
    return Seen(
        name=str(names[0]).lstrip("/"),
        labels=told.get("Labels") or {},
        running=told.get("State") in ("running", "paused"),
    )


def used_in(told: Any) -> int | None:
    """Without page cache, as `docker stats` shows it."""
    memory = told.get("memory_stats") if isinstance(told, dict) else None
    if not isinstance(memory, dict) or not isinstance(memory.get("usage"), int):
        return None
    stats = memory.get("stats") or {}
    cache = stats.get("total_inactive_file", stats.get("inactive_file", 0))
    return max(0, int(memory["usage"]) - int(cache))


def socket_of(environment: Mapping[str, str]) -> str:
    """Where `docker` itself would look, as far as that is a Unix socket."""
    host = environment.get("DOCKER_HOST", "")
    if host.startswith("unix://"):
        return host.removeprefix("unix://")
    own = Path(environment.get("XDG_RUNTIME_DIR", "/nonexistent")) / "docker.sock"
    return str(own) if own.is_socket() and not Path(SOCKET).is_socket() else SOCKET
