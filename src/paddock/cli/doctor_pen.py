"""Canaries as real runs of the user's own daemon: what is proven is what runs there get."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from paddock.host.doctor.proofs import PIDS, WALL_BYTES, End, NotNow

if TYPE_CHECKING:
    from paddock.client import Client
    from paddock.host.doctor.containment import Containment, Promises
    from paddock.host.doctor.facts import Facts
    from paddock.wire.run_request import DriverWord
    from paddock.wire.views import RunView, Submit

START_S: Final = 10.0
END_S: Final = 5.0
LOOK_S: Final = 0.02
PAGE: Final = 4096
GROUP: Final = "doctor"


# What a process in a container sees of cgroups, v2 and v1; to write there would be to leave.
OUT_OF_A_CONTAINER: Final = ("/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs")


class RunCanary:
    def __init__(self, client: Client, run: str, name: str) -> None:
        self._client = client
        self.run = run
        self.name = name

    def view(self) -> RunView:
        return self._client.run(self.run)

    def output(self) -> str:
        return b"".join(self._client.log(self.run)).decode("utf-8", "replace")

    def ended(self) -> End | None:
        view = self.view()
        if view.state != "ended":
            return None
        over = view.outcome == "memory_limit_exceeded"
        return End(over, self._ran_s(), view.because or str(view.outcome))

    def _ran_s(self) -> float:
        at = {move.state: move.at for move in self._client.story(self.run)}
        ended = at.get("ended", time.time())
        return max(0.0, ended - at.get("running", ended))

    def kill(self) -> None:
        if self.view().state != "ended":
            self._client.kill([self.run], force=True)


class RunPen:
    """`close` ends whatever is left, also after a failure half way."""

    def __init__(
        self, client: Client, walls: Containment, *, driver: DriverWord | None = None
    ) -> None:
        self._client = client
        self._driver = driver
        self._canaries: list[RunCanary] = []
        self._asked: Submit | None = None
        # A container gets the directory it works in: never the whole host.
        self._directory = "/"
        if driver == "container":
            self._directory = tempfile.mkdtemp(prefix="doctor-", dir=client.daemon().state)
        self.start_s = START_S
        self.promises: Promises = walls.promises
        # Beside the daemon, below the same home: where a user without rights could go, too.
        self.way_out: tuple[str, ...] = () if walls.home is None else walls.home.supervisor.procs

    def start(self, name: str, script: str, *, env: Mapping[str, str]) -> RunCanary:
        from paddock.cli.submitting import submit_of
        from paddock.client.errors import ClientError
        from paddock.wire.run_request import RunRequest

        asked = RunRequest(
            name=f"doctor-{name}",
            command=("/bin/sh", "-c", script),
            # Low, so that no other run has to make room for a proof; and in a group of its own, so
            # that a death on purpose teaches others nothing and holds none of them up.
            priority="low",
            group=f"{GROUP}/{name}",
            memory_bytes=WALL_BYTES,
            # The usual 75 % would hold it in v2's throttle, below the wall: seen for 15 s and more.
            memory_high_bytes=WALL_BYTES - PAGE,
            pids=PIDS,
            timeout_s=60.0,
            env=dict(env),
            dir=self._directory,
            driver=self._driver,
        )
        self._close_breaker(name)  # of one that was ended before it could do that itself
        self._asked = submit_of([asked])
        try:
            canary = self._taken(self._asked)
        except ClientError as error:
            self._asked = None
            raise NotNow(f"the daemon did not take it: {error}") from error
        self._await_start(canary)
        return canary

    def _taken(self, order: Submit) -> RunCanary:
        taken = self._client.submit(order).runs[0]
        canary = RunCanary(self._client, taken.id, taken.name)
        self._canaries.append(canary)
        self._asked = None
        return canary

    def _await_start(self, canary: RunCanary) -> None:
        until = time.monotonic() + self.start_s
        while (view := canary.view()).state in ("queued", "starting"):
            if time.monotonic() > until:
                raise NotNow(f"it was not started within {self.start_s:.0f} s: {view.waits_for}")
            time.sleep(LOOK_S)
        if view.state == "ended" and view.outcome in ("spawn_failed", "refused"):
            said = "was refused: " if view.outcome == "refused" else ""
            raise NotNow(f"it {said}{view.because}")  # which says that it could not be started

    def close(self) -> None:
        if self._asked is not None:
            # Interrupted between asking and being answered: the same order again is no second one,
            # and tells which run it was.
            self._taken(self._asked)
        for canary in self._canaries:
            canary.kill()
        runs = [canary.run for canary in self._canaries]
        if runs:
            self._client.wait(runs, timeout_s=END_S)
        for canary in self._canaries:
            self._close_breaker(canary.name.removeprefix("doctor-"))
        if self._directory != "/":
            shutil.rmtree(self._directory, ignore_errors=True)

    def _close_breaker(self, name: str) -> None:
        from paddock.client.errors import NotFound

        with contextlib.suppress(NotFound):
            self._client.reset_breaker(f"{GROUP}/{name}")


def container_pen(client: Client, facts: Facts, walls: Containment) -> RunPen:
    """Whatever the local driver found on this host."""
    from paddock.host.doctor.containment import Containment, of_containers

    promises = of_containers(facts, walls)
    pen = RunPen(
        client,
        Containment(word="none", because="containers", promises=promises),
        driver="container",
    )
    pen.way_out = OUT_OF_A_CONTAINER
    return pen
