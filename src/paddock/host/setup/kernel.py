"""The kernel's parameters that many processes need: how much, and why. Only ever raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

AGENTS: Final = 500  # slots of a prepared host (S1)
PIDS_EACH: Final = 512
PAGE: Final = 4096
# Each agent's output pipe has 128 KiB (keeper); shells and tools of its own have some of 64 KiB.
PIPES_EACH_BYTES: Final = (128 + 8 * 64) * 1024
OPEN_FILES: Final = 65_536
MOST_OPEN_FILES: Final = 1_048_576
PROCESSES: Final = 300_000


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    wanted: int
    why: str

    @property
    def file(self) -> str:
        return f"/proc/sys/{self.name.replace('.', '/')}"


PARAMETERS: Final = (
    Parameter(
        "kernel.pid_max",
        4_194_304,
        f"{AGENTS} agents of up to {PIDS_EACH} processes are {AGENTS * PIDS_EACH} numbers, and "
        "32768 is the default; with more of them a number is also reused later",
    ),
    Parameter(
        "kernel.threads-max",
        PROCESSES,
        f"threads count, too: {AGENTS} agents x {PIDS_EACH}, and the host's own",
    ),
    Parameter(
        "fs.inotify.max_user_instances",
        8_192,
        "every file watcher of an agent (a dev server, a test runner, tail -f) takes one, and all "
        "agents of a user share 128 by default",
    ),
    Parameter(
        "fs.inotify.max_user_watches",
        1_048_576,
        "a watcher takes one for each directory of a checkout; a node_modules has thousands",
    ),
    Parameter(
        "fs.file-max",
        2_097_152,
        f"{AGENTS} agents with 4000 open files each, all together",
    ),
    Parameter(
        "vm.max_map_count",
        1_048_576,
        "JVMs, sanitizers and linkers of large programs map more than 65530 pieces",
    ),
    Parameter(
        "fs.pipe-user-pages-soft",
        AGENTS * PIPES_EACH_BYTES // PAGE + 1,
        f"an agent's output takes a pipe of 128 KiB, its shells some of 64 KiB; with 64 MiB in all "
        f"(the default) the pipes of a user's agents shrink to one page long before there are "
        f"{AGENTS}",
    ),
    Parameter(
        "kernel.keys.maxkeys",
        2_000,
        "each container and each session has a keyring, and a user may have 200 by default",
    ),
    Parameter(
        "kernel.keys.maxbytes",
        2_000_000,
        "the same, in bytes",
    ),
)
LEFT_ALONE: Final = (
    "vm.overcommit_memory stays as it is: Node, JVMs, Go and sanitizers reserve far more than they "
    "use, which a strict setting would refuse; the walls count what is really used"
)


def sysctl_text(values: dict[str, int]) -> str:
    lines = ["# Written by `paddock host setup`; `paddock host setup --undo` removes it."]
    for each in PARAMETERS:
        if each.name in values:
            lines += [f"# {each.why}.", f"{each.name} = {values[each.name]}"]
    return "\n".join(lines) + "\n"


def limits_text(user: str) -> str:
    return (
        "# Written by `paddock host setup`; `paddock host setup --undo` removes it.\n"
        f"{user} soft nofile {OPEN_FILES}\n"
        f"{user} hard nofile {MOST_OPEN_FILES}\n"
        f"{user} soft nproc {PROCESSES}\n"
        f"{user} hard nproc {PROCESSES}\n"
    )
