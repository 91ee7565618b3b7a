"""Every fault there is, and how a seed deals them to rounds."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.chaos import bad_agents, on_disk, on_processes, on_store, on_surroundings
from tests.chaos.fault import Fault, May
from tests.kit import striking

LOST = May.BE_LOST | May.END_EARLY
FAILS, AGAIN = May.FAIL_AT_WORK, May.RUN_AGAIN
LACKS = May.LACK_ROOM | FAILS
FAULTS: tuple[Fault, ...] = (
    Fault("kill-daemon", "SIGKILL of the daemon, one to three times", do=on_processes.kill_daemon),
    *(
        Fault(
            f"kill-in-{point}",
            f"SIGKILL of the daemon when {about}",
            do=on_processes.kill_in(point),
            alone=True,
        )
        for point, about in striking.POINTS.items()
    ),
    Fault("stop-daemon", "SIGTERM of the daemon", do=on_processes.stop_daemon),
    Fault("hang-daemon", "the daemon stands still for a while", do=on_processes.hang_daemon),
    Fault("kill-keeper", "SIGKILL of the keeper", LOST, do=on_processes.kill_keeper),
    Fault("hang-keeper", "the keeper stands still for a while", do=on_processes.hang_keeper),
    Fault("kill-both", "SIGKILL of daemon and keeper", LOST, do=on_processes.kill_both),
    Fault("kill-web", "SIGKILL of the dashboard while it is asked", do=on_processes.kill_web),
    Fault("full-disk", "the state directory's disk is full", LACKS, do=on_disk.fill_disk),
    Fault(
        "read-only",
        "a dead daemon's disk is read-only",
        FAILS,
        do=on_disk.make_read_only,
        alone=True,
    ),
    Fault("no-memory", "a neighbour takes the host's memory", AGAIN, do=on_disk.take_memory),
    Fault("busy-store", "somebody locks a dead daemon's database", do=on_store.hold_store),
    Fault("damaged-store", "the database's pages rot", do=on_store.damage_store, alone=True),
    Fault("removed-store", "the database is removed", do=on_store.remove_store, alone=True),
    Fault("removed-socket", "the socket is removed", do=on_surroundings.remove_socket),
    Fault("clock-steps", "the clock is set, by a month at most", do=on_surroundings.step_clock),
    Fault("settings", "settings change, some to nonsense", do=on_surroundings.change_settings),
    Fault("git-locks", "a dead git's locks in a repository", do=on_surroundings.lock_repository),
    Fault("deaf", "an agent that ignores every signal", agents=bad_agents.deaf),
    Fault("daemonize", "one that leaves daemons behind", agents=bad_agents.daemonize),
    Fault("hold-pipe", "one whose children hold its output", agents=bad_agents.hold_pipe),
    Fault("escape", "one that leaves its cgroup again and again", agents=bad_agents.escape),
    Fault("fill-pids", "one that takes all processes it may", agents=bad_agents.fill_pids),
    Fault("fork-bomb", "a fork bomb", agents=bad_agents.fork_bomb),
    Fault("sigchld", "300 orphans and 50,000 SIGCHLD", agents=bad_agents.spam_sigchld),
    Fault("flood", "24 to 600 MiB of output at full speed", agents=bad_agents.flood),
    Fault("over-wall", "one that goes over its memory limit", agents=bad_agents.over_its_wall),
    Fault("chmod", "one that closes its workspace", agents=bad_agents.chmod_workspace),
    Fault("remove-git", "one that removes .git", agents=bad_agents.remove_git),
    Fault("leave-locks", "one that dies with git's locks", agents=bad_agents.leave_locks),
)
NAMES = {fault.name: fault for fault in FAULTS}
AIMED = frozenset(f"kill-in-{point}" for point in striking.POINTS)
# Whoever is among these, the daemon of the round's end may be another than that of its beginning.
ENDS_DAEMON = frozenset(
    {"kill-daemon", "stop-daemon", "kill-both", "read-only", "busy-store", "damaged-store", *AIMED}
)
MANY = (1, 2, 3, 4, 4)


def dealt(seed: int, number: int, only: Sequence[str] = ()) -> list[Fault]:
    """Those of one round. The same seed and number give the same, whatever was before."""
    draw = random.Random(f"{seed}/{number}/faults")
    if only:
        return [NAMES[name] for name in only]
    hand: list[Fault] = []
    many = draw.choice(MANY)
    for fault in draw.sample(FAULTS, len(FAULTS)):
        if len(hand) < many and fits(fault, hand):
            hand.append(fault)
    return hand


def fits(fault: Fault, hand: Sequence[Fault]) -> bool:
    if fault.do is None:
        return True
    done = [one for one in hand if one.do is not None]
    return not done or not (fault.alone or any(one.alone for one in done))


def whole_deck(seed: int, most: int) -> list[list[Fault]]:
    """Every fault once, in as few rounds as may be."""
    rounds: list[list[Fault]] = []
    for fault in random.Random(f"{seed}/deck").sample(FAULTS, len(FAULTS)):
        for hand in rounds:
            if len(hand) < most and fits(fault, hand):
                hand.append(fault)
                break
        else:
            rounds.append([fault])
    return rounds


def may_differ(hand: Sequence[Fault]) -> May:
    may = May.NOTHING
    for fault in hand:
        may |= fault.may
    return may
