"""One table of all routes: the server's and the OpenAPI document come from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from paddock.wire import views as v
from paddock.wire.history_views import HistoryView

from . import changing, history, looking, streaming, submitting, uploading, workspaces
from .answering import Handler
from .log_stream import BYTES, RECORDS


@dataclass(frozen=True, slots=True)
class Query:
    name: str
    type: str  # of JSON schema: string, integer, number, boolean
    about: str


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    handle: Handler
    about: str
    gives: Any  # a shape, or the media type of a stream; of several, with " or " between them
    takes: Any = None  # likewise
    query: tuple[Query, ...] = ()
    problems: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.handle.__name__


_ALL: Final = (
    Query("state", "string", "only those in this state"),
    Query("all", "boolean", "also those that have ended, the newest first"),
    Query("limit", "integer", "so many at most"),
    Query("name", "string", "only those of this name"),
    Query("group", "string", "only those of this group"),
    Query("fleet", "string", "only those that came with fleets of this name"),
)
_LOG: Final = (
    Query("from", "integer", "begin at this byte"),
    Query("lines", "integer", "begin with the last so many lines"),
    Query("since", "number", "begin with what was written at this time (seconds since 1970)"),
    Query("follow", "boolean", "go on until the run has ended and everything is sent"),
    Query("records", "boolean", "as records: a line of JSON (LogRecord), then so many bytes"),
)
_PAST: Final = (
    Query("since", "number", "from this time on (seconds since 1970); a day ago unless said"),
    Query("until", "number", "up to this time; now unless said"),
    Query("step", "integer", "seconds of a point: 60 to 86400; what fits 1,500 points unless said"),
    Query("groups", "boolean", "also what each group needed in that time"),
    Query("ledger", "boolean", "also alerts with what followed them, and the daemons' lives"),
)
_OF_RUN: Final = (404, 409)

# Those that are asked for most come first: routes are tried in this order.
ROUTES: Final = (
    Route(
        "POST",
        "/v1/runs",
        submitting.submit,
        "Submit runs and heartbeats: all of them are taken, or none.",
        v.Submission,
        takes=v.Submit,
        problems=(404, 409, 413),
    ),
    Route("GET", "/v1/status", looking.status, "Host, fleet, queue and breakers.", v.StatusView),
    Route(
        "POST",
        "/v1/wait",
        looking.wait,
        "Answers when all have ended, or after the timeout, with what they are then.",
        list[v.RunView],
        takes=v.Await,
        problems=_OF_RUN,
    ),
    Route(
        "GET",
        "/v1/runs",
        looking.runs,
        "Runs that have not ended: at work first, then in the order of the queue.",
        list[v.RunView],
        query=_ALL,
    ),
    Route(
        "GET",
        "/v1/runs/{run}/log",
        streaming.log,
        "What the run wrote, all attempts as one stream of bytes.",
        f"{BYTES} or {RECORDS}",
        query=_LOG,
        problems=_OF_RUN,
    ),
    Route("GET", "/v1/runs/{run}", looking.run, "One run.", v.RunView, problems=_OF_RUN),
    Route(
        "GET",
        "/v1/runs/{run}/story",
        looking.story,
        "Everything that happened to a run.",
        list[v.MoveView],
        problems=_OF_RUN,
    ),
    Route(
        "GET",
        "/v1/runs/{run}/steps",
        looking.steps,
        "Of a run in steps: those that are done.",
        list[v.StepView],
        problems=_OF_RUN,
    ),
    Route(
        "GET",
        "/v1/runs/{run}/why",
        looking.why,
        "Why it waits, or how it ended.",
        v.WhyView,
        problems=_OF_RUN,
    ),
    Route(
        "GET",
        "/v1/runs/{run}/diff",
        workspaces.diff,
        "What a run changed in its workspace: commits and uncommitted files together.",
        v.DiffView,
        problems=_OF_RUN,
    ),
    Route(
        "POST",
        "/v1/runs/{run}/retry",
        changing.retry,
        "A run that has ended once more, as a new one, without its needs.",
        v.Submission,
        takes=v.Again,
        problems=(*_OF_RUN, 413),
    ),
    Route(
        "POST",
        "/v1/runs/{run}/priority",
        changing.priority,
        "Change how urgent a run is.",
        v.RunView,
        takes=v.SetPriority,
        problems=_OF_RUN,
    ),
    Route(
        "POST",
        "/v1/runs/{run}/freeze",
        changing.freeze,
        "Hold a running run where it is; it keeps its memory.",
        v.RunView,
        problems=_OF_RUN,
    ),
    Route(
        "POST",
        "/v1/runs/{run}/thaw",
        changing.thaw,
        "Let a frozen run go on.",
        v.RunView,
        problems=_OF_RUN,
    ),
    Route(
        "POST",
        "/v1/kill",
        changing.kill,
        "Cancel runs and remove heartbeats; one that has ended is no mistake.",
        v.Killed,
        takes=v.Kill,
        problems=_OF_RUN,
    ),
    Route(
        "GET",
        "/v1/memory",
        looking.memory,
        "Use of each agent.",
        list[v.MemoryView],
        query=(Query("recent", "boolean", "with what it used in each second of the last minute"),),
    ),
    Route(
        "GET",
        "/metrics",
        looking.metrics,
        "All metrics, as Prometheus reads them.",
        "text/plain",
        problems=(404,),
    ),
    Route(
        "GET", "/v1/learned", looking.learned, "What groups were seen to use.", list[v.LearnedView]
    ),
    Route(
        "GET",
        "/v1/history",
        history.history,
        "The past: host and fleet over time, as it is kept in rollups for 90 days.",
        HistoryView,
        query=_PAST,
    ),
    Route(
        "GET",
        "/v1/breakers",
        looking.breakers,
        "Groups that have failed of late.",
        list[v.BreakerView],
    ),
    Route(
        "POST",
        "/v1/breakers/reset",
        changing.reset_breaker,
        "Let a group start again.",
        v.BreakerView,
        takes=v.ResetBreaker,
        problems=(404,),
    ),
    Route(
        "GET",
        "/v1/workspaces",
        workspaces.workspaces,
        "All workspaces, prepared ones too.",
        list[v.WorkspaceView],
        problems=(409,),
    ),
    Route(
        "POST",
        "/v1/workspaces/check",
        workspaces.check_workspaces,
        "What keeps each workspace from being removed; removes none.",
        list[v.ClearedView],
        problems=(409,),
    ),
    Route(
        "POST",
        "/v1/workspaces/gc",
        workspaces.clear_workspaces,
        "Remove workspaces that were idle for long and hold nothing of their own.",
        list[v.ClearedView],
        takes=v.ClearWorkspaces,
        problems=(409,),
    ),
    Route(
        "POST",
        "/v1/workspaces/remove",
        workspaces.remove_workspace,
        "Remove one workspace; what is not committed goes on its branch first.",
        v.ClearedView,
        takes=v.RemoveWorkspace,
        problems=_OF_RUN,
    ),
    Route(
        "POST",
        "/v1/stdin",
        uploading.upload,
        "Hand over what a run is to read; the token goes into a submission.",
        v.Uploaded,
        takes="application/octet-stream",
        problems=(413,),
    ),
    Route(
        "GET",
        "/v1/events",
        streaming.events,
        "Server-sent events: one Happening a message, its n as the id.",
        "text/event-stream",
    ),
    Route("GET", "/v1/daemon", looking.daemon, "The daemon itself.", v.DaemonView),
    Route(
        "POST",
        "/v1/daemon/stop",
        changing.stop_daemon,
        "Stop the daemon; its agents go on, or end with it.",
        v.DaemonView,
        takes=v.StopDaemon,
    ),
)
