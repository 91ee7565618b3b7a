"""Every setting in one table: its name, kind, default, whom it binds. Reads no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from paddock.core.units import GIB, MIB, PIB

from .cluster_settings import OF_CLUSTERS
from .kinds import (
    Choice,
    Duration,
    Flag,
    Number,
    OrWord,
    Size,
    SizeOrShare,
    Whole,
    Word,
)
from .mistakes import Place
from .mounts import Mounts
from .preset import Preset
from .setting import BUILT_IN, Setting, Stricter
from .tool_walls import ToolWalls

__all__ = ["BUILT_IN", "Setting", "Stricter"]  # besides all that is made here

T = TypeVar("T")

DRIVERS: Final = ("auto", "local", "container", "kubernetes", "fake")
AGENT_SIZE: Final = Size(16 * MIB, 1024 * GIB)
CPUS: Final = Number(0.1, 1024)
PIDS: Final = Whole(16, 65536)
DRIVER: Final = Choice(DRIVERS)
# More than this needs the slots of `paddock host setup`, and so the profile `host`.
WORKTREES_UNPREPARED: Final = 50


_AT_START: Final = " Counts from the daemon's next start."  # of all others at once

MAX_AGENTS: Final = Setting(
    "performance.max_concurrent_agents",
    OrWord("auto", Whole(1, 1000)),
    "auto",
    "Agents at once. Capped by the profile, and always by what is safe on this host.",
    Stricter.LOWER,
)
AGENT_TIMEOUT: Final = Setting(
    "performance.agent_timeout",
    Duration(60, 3600),
    "900",
    "Hard timeout of a simple run; a medium one gets twice, a complex one three times as much.",
)
SOFT_TIMEOUT: Final = Setting(
    "performance.soft_timeout",
    OrWord("half", Duration(30, 3600)),
    "half",
    "When a run is told that its time is running out; half of its hard timeout unless set.",
)
MAX_REPO_SIZE: Final = Setting(
    "performance.max_repo_size_mb",
    Whole(100, 50000, "MB"),
    "5000",
    "A larger working tree is asked about before it is used.",
)
LOG_BUFFER: Final = Setting(
    "performance.log_buffer_size_mb",
    Whole(1, 100, "MB"),
    "10",
    "Live output kept for each agent; at this size it is rotated.",
)
LOG_ROTATION: Final = Setting(
    "performance.log_rotation_size_mb",
    Whole(10, 500, "MB"),
    "50",
    "All logs of one agent together; the oldest go first.",
)
LOG_FILES: Final = Setting(
    "performance.log_files_kept",
    Whole(1, 100),
    "3",
    "Rotated log files kept for each agent.",
)
FULL_LOG: Final = Setting(
    "performance.full_log",
    Flag(),
    "false",
    "Keep all output on disk, compressed, instead of the newest only.",
)
MAX_WORKTREES: Final = Setting(
    "performance.max_worktrees",
    Whole(1, 500),
    "10",
    f"Worktrees at once. More than {WORKTREES_UNPREPARED} only with the profile host.",
)
WORKTREE_IDLE: Final = Setting(
    "performance.worktree_idle_days",
    Whole(1, 365, "days"),
    "7",
    "A clean worktree that was not used this long is removed.",
)
TUI_LINES: Final = Setting(
    "performance.tui_log_lines",
    Whole(100, 10000),
    "2000",
    "Lines of each agent's output that displays keep.",
)
SANDBOX_DRIVER: Final = Setting(
    "sandbox.driver",
    DRIVER,
    "auto",
    "Where agents live; auto takes the strongest isolation this host has.",
    Stricter.APART,
)
CONTAINMENT: Final = Setting(
    "sandbox.containment",
    Choice(("auto", "cgroup", "none")),
    "auto",
    "Walls for local agents: auto takes what the host has; cgroup refuses to start without them."
    + _AT_START,
)
MEMORY_LIMIT: Final = Setting(
    "sandbox.memory_limit",
    AGENT_SIZE,
    "4G",
    "The wall of one agent, unless its run says otherwise.",
)
MEMORY_HIGH: Final = Setting(
    "sandbox.memory_high",
    SizeOrShare(AGENT_SIZE),
    "75%",
    "Where the kernel begins to hold an agent back: a share of its limit, or a size below it.",
)
SOFT_MEMORY_LIMIT: Final = Setting(
    "sandbox.soft_memory_limit",
    AGENT_SIZE,
    "2G",
    "The limit where the host has no walls (plain processes); never above the hard one.",
)
STREAM_MEMORY_LIMIT: Final = Setting(
    "sandbox.stream_memory_limit",
    AGENT_SIZE,
    "512M",
    "The wall of a run with steps that stream. Unless it is set, never above `memory_limit`.",
)
CPU_LIMIT: Final = Setting(
    "sandbox.cpu_limit",
    OrWord("unlimited", CPUS),
    "unlimited",
    "Cores an agent may use. CPU may burst, so there is no limit unless one is asked for.",
)
PIDS_LIMIT: Final = Setting(
    "sandbox.pids_limit",
    PIDS,
    "512",
    "Processes and threads of one agent.",
)
HOST_RESERVE: Final = Setting(
    "sandbox.host_memory_reserve",
    OrWord("auto", Size(MIB, PIB)),
    "auto",
    "Memory that the host keeps for itself; auto goes by its size.",
    Stricter.HIGHER,
)
CONTAINER_ENGINE: Final = Setting(
    "sandbox.container_engine",
    Choice(("auto", "podman", "docker", "apple")),
    "auto",
    "What runs the containers of the driver `container`; auto takes the first that is installed."
    + _AT_START,
)
CONTAINER_IMAGE: Final = Setting(
    "sandbox.container_image",
    OrWord("none", Word(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,254}", "the name of an image")),
    "none",
    "The image that runs in containers begin with.",
)
CONTAINER_NETWORK: Final = Setting(
    "sandbox.container_network",
    Word(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}", "host, none, bridge or the name of a network"),
    "host",
    "The network of containers, in the words of their engine." + _AT_START,
)
CONTAINER_MOUNTS: Final = Setting(
    "sandbox.container_mounts",
    Mounts(),
    "[]",
    "What of the host containers see besides their workspace; read-only with :ro." + _AT_START,
)
TOOL_WALLS: Final = Setting(
    "sandbox.tool_walls",
    ToolWalls(AGENT_SIZE),
    "[]",
    "Commands of an agent that get a wall or a host-wide lease of their own.",
)
TOOL_SHARE: Final = Setting(
    "sandbox.tool_share",
    Number(10, 100),
    "75",
    "Percent of an agent's memory that one of its walled commands may use, unless it says a size.",
)
_PERCENT: Final = Number(30, 99)
SKIP_LOW: Final = Setting(
    "ladder.skip_low",
    _PERCENT,
    "70",
    "Percent of memory in use at which heartbeats and low priority are skipped.",
    Stricter.LOWER,
)
LADDER_QUEUE: Final = Setting(
    "ladder.queue",
    _PERCENT,
    "80",
    "Percent of memory in use at which runs are queued instead of started.",
    Stricter.LOWER,
)
PREEMPT: Final = Setting(
    "ladder.preempt",
    _PERCENT,
    "85",
    "Percent of memory in use at which the lowest priority is frozen, stopped and requeued.",
    Stricter.LOWER,
)
EMERGENCY: Final = Setting(
    "ladder.emergency",
    _PERCENT,
    "95",
    "Percent of memory in use at which agents are killed until the relief target is reached.",
    Stricter.LOWER,
)
RELIEF_TARGET: Final = Setting(
    "ladder.relief_target",
    _PERCENT,
    "75",
    "Percent of memory in use at which relief is enough; below preempt.",
    Stricter.LOWER,
)
FREE_FLOOR: Final = Setting(
    "ladder.free_floor",
    Size(32 * MIB, 1024 * GIB),
    "512M",
    "Free memory at which nothing starts, whatever the percentage. The other steps have theirs at "
    "5/4, 3/4 and 3/8 of it.",
    Stricter.HIGHER,
)
QUEUE_DEPTH: Final = Setting(
    "queue.depth",
    Whole(1, 1_000_000),
    "1000",
    "Runs that may wait; one more is refused.",
    Stricter.LOWER,
)
ADMISSION: Final = Setting(
    "queue.admission",
    Choice(("learned", "guaranteed")),
    "learned",
    "Count a run with the size its group was seen to need, or always with its full limit.",
    Stricter.GUARANTEED,
)
TOUCHES: Final = Setting(
    "queue.touches_per_hour",
    Number(0.001, 3000),
    "0.001",
    "With learned sizes: how often an hour all agents together may come to the step `preempt`, at "
    "which bursts wait for each other. From 1800 on they always take turns.",
    Stricter.LOWER,
)
MIN_RUN: Final = Setting(
    "queue.min_run",
    Duration(0.1, 3600),
    "60s",
    "A run is not stopped for a more urgent one before it has run so long.",
    Stricter.HIGHER,
)
MAX_PREEMPTIONS: Final = Setting(
    "queue.max_preemptions",
    Whole(0, 1000),
    "3",
    "A run that was stopped for others so often is left alone.",
    Stricter.LOWER,
)
BREAKER_FAILURES: Final = Setting(
    "breaker.failures",
    Whole(1, 100),
    "3",
    "Failures of a group within the window that open its breaker.",
)
BREAKER_WINDOW: Final = Setting(
    "breaker.window",
    Duration(1, 3600),
    "60s",
    "How long a failure counts.",
)
_PRICE: Final = Number(0, 1_000_000)
MEMORY_PRICE: Final = Setting(
    "cost.memory_gib_hour",
    _PRICE,
    "0",
    "What a GiB of memory costs for an hour, for `paddock report`; 0: nobody said.",
)
CORE_PRICE: Final = Setting(
    "cost.core_hour",
    _PRICE,
    "0",
    "What a core costs for an hour; 0: nobody said.",
)
CURRENCY: Final = Setting(
    "cost.currency",
    Word(r"[A-Za-z]{1,8}", "a name of one to eight letters, such as EUR"),
    "EUR",
    "In which money prices are.",
)
REPORT_EVERY: Final = Setting(
    "report.every",
    OrWord("never", Duration(3600, 31 * 86400)),
    "never",
    "How often the daemon makes a capacity report by itself.",
)
REPORT_DIRECTORY: Final = Setting(
    "report.directory",
    OrWord("auto", Word(r"/[!-~]{1,1000}", "an absolute path without spaces")),
    "auto",
    "Where it puts them; auto is `reports` in its state directory.",
)
REPORT_KEEP: Final = Setting(
    "report.keep",
    Whole(1, 1000),
    "30",
    "So many are kept, the newest.",
)

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    *(value for value in list(globals().values()) if isinstance(value, Setting)),
    *OF_CLUSTERS,
)
BY_KEY: Final[Mapping[str, Setting[Any]]] = {setting.key: setting for setting in SETTINGS}
SECTIONS: Final = tuple(dict.fromkeys(setting.section for setting in SETTINGS))
HOST_WIDE: Final = tuple(setting for setting in SETTINGS if setting.host_wide)
# Those that a project can make stricter for its own runs. The others are about the host's memory as
# a whole, or would put its runs before those of others.
OF_A_PROJECT: Final = (MAX_AGENTS, QUEUE_DEPTH, ADMISSION, SANDBOX_DRIVER)


@dataclass(frozen=True, slots=True)
class Held:
    """A value and where it comes from."""

    value: Any
    source: str  # `built in`, `profile high` or file:line
    at: Place | None = None  # where it is written; None when built in or from a built-in profile
    explicit: bool = False  # written as this key in a file, not through a profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings as they stand for one working directory (or for the whole host)."""

    held: Mapping[str, Held]
    profile: Held
    agents_cap: Held  # the profile's; None: no cap but the safe number
    files: tuple[str, ...] = ()  # those that were read, weakest first
    project_file: str | None = None  # the one of them that may only make host-wide keys stricter
    stricter: frozenset[str] = frozenset()  # host-wide keys that the project made so
    in_vain: Mapping[str, Held] = field(default_factory=dict)  # those that it wrote and may not
    own_presets: Mapping[str, Preset] | None = None  # with those that ship; None: no file has any

    @property
    def presets(self) -> Mapping[str, Preset]:
        if self.own_presets is not None:
            return self.own_presets
        from .preset_reading import built_in

        return built_in()

    def __getitem__(self, setting: Setting[T]) -> T:
        return cast("T", self.held[setting.key].value)

    def where(self, setting: Setting[Any]) -> Held:
        return self.held[setting.key]
