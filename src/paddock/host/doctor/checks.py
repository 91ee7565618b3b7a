"""What is wrong with a host, or could be better, each with the command that mends it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from paddock.cgroups.protection import KEPT_BYTES
from paddock.core.units import GIB, MIB, format_size
from paddock.host.doctor.containment import NO_IMAGE, Containment
from paddock.host.doctor.facts import Facts
from paddock.host.setup.kernel import PIPES_EACH_BYTES

Level = Literal["wrong", "hint"]
OUTPUT_PIPE_BYTES: Final = 128 * 1024  # the keeper's, of each agent
DESCRIPTORS_EACH, DESCRIPTORS_OWN = 2, 256  # of the daemon
PROCESSES_EACH: Final = 50  # a live agent with its tools, threads included
LEAST_FREE_BYTES: Final = GIB
LEAST_INODES: Final = 10_000
LEAST_GIT: Final = (2, 31)  # `git worktree` that can be repaired and locked
KILLS_AT_ONCE, TELLS_PEAK = (5, 14), (5, 19)
DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Problem:
    """`hint`: all that is promised holds without it; `wrong`: something does not."""

    name: str
    level: Level
    what: str
    mend: str | None = None


def problems(facts: Facts, walls: Containment) -> list[Problem]:
    found = [*_walls(walls, facts), *_daemon(facts), *_containers(facts), *_state(facts)]
    if facts.linux:
        found += [*_systemd(facts), *_kernel(facts), *_limits(facts), *_hidden(facts)]
    return [*found, *_programs(facts)]


def _sudo(facts: Facts, command: str) -> str:
    return command if facts.uid == 0 else f"sudo {command}"


def _walls(walls: Containment, facts: Facts) -> Iterator[Problem]:
    if walls.word == "none" and walls.chosen:
        yield Problem("walls", "hint", walls.because, "remove sandbox.containment from the file")
    elif walls.word == "none":
        what = f"agents have no memory walls: {walls.because}"
        yield Problem("walls", "wrong", what, walls.mend or _engine(facts))
    if "pids" in walls.missing:
        what = "a fork bomb is not stopped: there is no pids controller for agents here"
        yield Problem("pids", "wrong", what, walls.mend)
    if "freeze" in walls.missing:
        what = "agents are frozen process by process: there is no freezer here"
        yield Problem("freeze", "hint", what, walls.mend)
    if walls.not_kept_by:
        what = f"{walls.not_kept_by[0]} keeps no memory for daemon and keeper (memory.min), who may"
        what += " be slow when others press"
        yield Problem("daemon memory", "hint", what, _keep(walls.not_kept_by, facts))
    if facts.swap_bytes and not walls.promises.no_swap:
        what = f"{format_size(facts.swap_bytes)} of swap are on, and agents would be swapped out"
        yield Problem("swap", "wrong", what, _sudo(facts, "paddock host setup"))
    elif facts.swap_bytes:
        what = f"{format_size(facts.swap_bytes)} of swap are on; agents have none of it, others do"
        yield Problem("swap", "hint", what, _sudo(facts, "paddock host setup"))


def _keep(paths: tuple[str, ...], facts: Facts) -> str | None:
    """For what systemd manages; inside of a user's service that is the user's own manager."""
    size, found = f"{KEPT_BYTES // MIB}M", []
    for path in paths:
        above, _, unit = path.rpartition("/")
        if not unit.endswith((".slice", ".service", ".scope")):
            return None
        order = f"set-property {unit} MemoryMin={size}"
        is_users = any(part.startswith("user@") for part in above.split("/"))
        found.append(
            f"systemctl --user {order}" if is_users else _sudo(facts, f"systemctl {order}")
        )
    return " && ".join(found)


def _engine(facts: Facts) -> str | None:
    if facts.engines:
        return f"run agents in containers of {facts.engines[0]}: --driver container"
    return None


def _daemon(facts: Facts) -> Iterator[Problem]:
    given = facts.given
    if given.config_mistake is not None:
        yield Problem("config", "wrong", given.config_mistake, "paddock config check")
    if given.daemon_version not in (None, given.version):
        what = f"the daemon is version {given.daemon_version}, this command is {given.version}"
        mend = "paddock daemon stop && paddock daemon start (agents go on meanwhile)"
        yield Problem("version", "wrong", what, mend)
    if facts.now < facts.installed_at - DAY_S:
        what = "the clock is wrong: it says a day before paddock was installed"
        yield Problem("clock", "wrong", what, "set the clock, as with `timedatectl set-ntp true`")


def _containers(facts: Facts) -> Iterator[Problem]:
    if facts.given.driver == "container" and not facts.given.image:
        what = f"runs are to live in containers, and there is {NO_IMAGE}"
        mend = "sandbox: {container_image: NAME} in the file that says driver: container"
        yield Problem("image", "wrong", what, mend)


def _state(facts: Facts) -> Iterator[Problem]:
    path, state = facts.given.state, facts.state
    if state.exists and state.uid != facts.uid:
        what = f"{path} belongs to user {state.uid}, not to {facts.user}"
        mend = f"set PADDOCK_STATE to a directory of {facts.user}'s own, or give this one back"
        yield Problem("state", "wrong", what, mend)
    elif state.exists and state.mode & 0o077:
        what = f"{path} can be entered by others (mode {state.mode:o}): it holds what agents wrote"
        yield Problem("state", "wrong", what, f"chmod 700 {path}")
    if state.free_bytes < LEAST_FREE_BYTES:
        what = f"{format_size(state.free_bytes)} are free under {path}; output of agents goes there"
        mend = "delete what is not needed, or set PADDOCK_STATE to a larger disk"
        yield Problem("disk", "wrong", what, mend)
    if state.free_inodes is not None and state.free_inodes < LEAST_INODES:
        what = f"{state.free_inodes} files can still be made under {path}"
        yield Problem("disk", "wrong", what, "delete small files, or use another file system")


def _systemd(facts: Facts) -> Iterator[Problem]:
    if facts.systemd and facts.uid != 0 and not facts.lingers:
        what = f"{facts.user} does not linger: systemd ends daemon and agents with the last login"
        yield Problem("linger", "wrong", what, f"sudo loginctl enable-linger {facts.user}")


def _kernel(facts: Facts) -> Iterator[Problem]:
    shown = f"kernel {facts.kernel[0]}.{facts.kernel[1]}"
    if not facts.psi:
        what = "the kernel does not tell stalls (PSI), so pressure is seen later"
        yield Problem("psi", "hint", what, "boot with psi=1 on the kernel's command line")
    if facts.kernel < KILLS_AT_ONCE:
        what = f"{shown} has no cgroup.kill (5.14): processes are killed one by one"
        yield Problem("kernel", "hint", what, "use a newer kernel")
    elif facts.kernel < TELLS_PEAK:
        what = f"{shown} has no memory.peak (5.19): short peaks between two looks are not seen"
        yield Problem("kernel", "hint", what, "use a newer kernel")


def _limits(facts: Facts) -> Iterator[Problem]:
    agents, mend = facts.given.agents, _sudo(facts, "paddock host setup")
    pages = facts.parameters["fs.pipe-user-pages-soft"]
    # Whoever has CAP_SYS_RESOURCE, as root usually has, is not counted.
    if facts.uid != 0 and pages and pages * 4096 < agents * PIPES_EACH_BYTES:
        room, held = pages * 4096 // OUTPUT_PIPE_BYTES, format_size(pages * 4096)
        what = f"a user's pipes may hold {held}: output pipes for {room} of {agents} agents"
        yield Problem("pipes", "wrong" if room < agents else "hint", what, mend)
    instances = facts.parameters["fs.inotify.max_user_instances"]
    if instances is not None and instances < agents * 2:
        what = f"{instances} file watchers for all agents of a user, and there may be {agents}"
        yield Problem("inotify", "hint", what, mend)
    need = agents * DESCRIPTORS_EACH + DESCRIPTORS_OWN
    if facts.open_files < need:
        what = f"{facts.open_files} open files are allowed, {agents} agents need {need}"
        yield Problem("open files", "wrong", what, f"ulimit -n {need}, or {mend}")
    if facts.processes < agents * PROCESSES_EACH:
        what = f"{facts.processes} processes are allowed for this user, threads included"
        yield Problem("processes", "hint", f"{what}; {agents} agents may need more", mend)


def _hidden(facts: Facts) -> Iterator[Problem]:
    if facts.hidepid and facts.uid != 0:
        what = "/proc hides other users' processes (hidepid): what they hold cannot be told"
        yield Problem("hidepid", "hint", what, "ask root to mount /proc without hidepid")


def _programs(facts: Facts) -> Iterator[Problem]:
    if facts.git is None:
        what = "git is not installed: agents cannot be given workspaces of their own"
        yield Problem("git", "hint", what, "install git with this system's package manager")
    elif facts.git < LEAST_GIT:
        what = f"git is {facts.git[0]}.{facts.git[1]}, and workspaces need 2.31"
        yield Problem("git", "hint", what, "install a newer git")
