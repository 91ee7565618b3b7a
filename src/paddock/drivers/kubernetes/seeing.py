"""What the watches show of an attempt, step by step: it waits, it runs, it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from paddock.cluster.client import JOB, POD, Api, Object, Refused
from paddock.cluster.labels import JOB_NAME
from paddock.cluster.watching import DELETED, Watch
from paddock.core.run import Attempt
from paddock.drivers.kubernetes.deeds import Deeds
from paddock.drivers.kubernetes.life import Life
from paddock.drivers.kubernetes.listening import Listener
from paddock.drivers.kubernetes.reading import (
    Ending,
    condition,
    container_state,
    ending_of,
    ending_of_job,
    is_over,
    waiting_of,
)
from paddock.drivers.kubernetes.telling import Telling

OUTPUT_S: Final = 15.0  # for the rest of what an agent wrote, after its end
WHY_S: Final = 3.0  # until a Job says why its pod was removed
WHY_LOOK_S: Final = 0.2

Do = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class Seeing:
    def __init__(  # noqa: PLR0913 - each by name
        self,
        api: Api,
        telling: Telling,
        deeds: Deeds,
        *,
        jobs: Watch,
        do: Do,
        write: Callable[[Attempt, bytes], None] | None,
    ) -> None:
        self._api, self._telling, self._deeds = api, telling, deeds
        self._jobs, self._do, self._write = jobs, do, write

    def pod(self, life: Life, what: str, pod: Object) -> None:
        known = life.pod
        if known is not None and known["metadata"]["uid"] != pod["metadata"]["uid"]:
            return  # another of the same Job: there is to be one only
        life.pod = pod
        if what == DELETED or is_over(pod):
            self._settle(life, pod)
            return
        word, _ = container_state(pod)
        if word == "running":
            self._runs(life)
        elif (waiting := waiting_of(pod)) is not None:
            if waiting.hopeless and life.stop is None:
                reason, permanent = waiting.because, waiting.permanent
                self._do(self._deeds.give_up(life, reason, permanent=permanent))
            else:
                self._telling.takes_longer(life, waiting.because)
        disrupted = condition(pod, "DisruptionTarget")
        if disrupted is not None and disrupted.get("status") == "True":
            text = f"the cluster is about to end it ({disrupted.get('reason', '')})"
            self._telling.noticed(life, f"{text}; it is tried again when it is surely gone")

    def job(self, life: Life, what: str, job: Object) -> None:
        """Only where there is no pod to tell."""
        if life.pod is not None or life.settling:
            return
        if what == DELETED:
            self._telling.ended(life, Ending(lost="its Job was removed by somebody else"))
        elif ending_of_job(job) is not None:
            life.settling = True
            self._do(self._settle_by_job(life, job))

    async def _settle_by_job(self, life: Life, job: Object) -> None:
        """The watch of pods may be behind: they are asked for."""
        pods, _ = await self._api.list(POD, labels={JOB_NAME: life.job})
        life.settling = False
        if pods:
            self.pod(life, "ADDED", pods[0])
        elif life.pod is None:
            self._telling.ended(life, ending_of_job(job) or Ending(lost="its pod is gone"))

    # -- output ---------------------------------------------------------------------------

    def _runs(self, life: Life) -> None:
        if self._write is None:
            self._telling.started(life)
        else:
            self.listen(life)  # its entry says when the agent has begun

    def listen(self, life: Life) -> None:
        if life.listener is not None or life.pod_name is None:
            return
        life.listener = Listener(
            self._api,
            life.pod_name,
            mark=life.mark,
            write=lambda data: self._take(life, data),
            hear=lambda word: self._telling.said(life, word),
            skip=life.skip,
        )
        life.listening = self._do(life.listener.listen())

    def _take(self, life: Life, data: bytes) -> None:
        if self._write is not None:
            self._write(life.attempt, data)

    # -- ending ---------------------------------------------------------------------------

    def _settle(self, life: Life, pod: Object) -> None:
        if not life.settling:
            life.settling = True
            self._do(self._settled(life, pod))

    async def _settled(self, life: Life, pod: Object) -> None:
        ran = container_state(pod)[0] != "waiting"
        if self._write is not None and ran:
            self.listen(life)  # one that ended at once was never seen to run
        if life.listener is not None and life.listening is not None:
            life.listener.over = True
            await asyncio.wait({life.listening}, timeout=OUTPUT_S)
            life.listening.cancel()
        job = self._jobs.known.get(life.job)
        facts = {"limit_bytes": life.limit_bytes, "mark": life.mark}
        ending = ending_of(pod, job, **facts)  # type: ignore[arg-type]
        if _needs_a_reason(life, ending):
            found = await self._explained(life)
            ending = ending_of(pod, found or job, **facts)  # type: ignore[arg-type]
            if found is None and ending.stop is None:
                ending = Ending(lost="its Job was removed by somebody else")
        self._telling.ended(life, ending)

    async def _explained(self, life: Life) -> Object | None:
        """Killed, and not by us: its Job knows more, a moment later. None: it is gone."""
        give_up_at = asyncio.get_running_loop().time() + WHY_S
        while True:
            try:
                job = await self._api.get(JOB, life.job)
            except Refused:
                return None
            late = asyncio.get_running_loop().time() > give_up_at
            if late or ending_of_job(job) is not None:
                return job
            await asyncio.sleep(WHY_LOOK_S)


def _needs_a_reason(life: Life, ending: Ending) -> bool:
    known = life.stop is not None or life.termed or life.given_up is not None
    if known or ending.stop is not None:
        return False
    killed = ending.exit is not None and ending.exit.signal in (9, 15) and not ending.exit.oom
    return killed or (ending.lost is not None and "somebody else" in ending.lost)
