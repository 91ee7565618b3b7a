"""Killing agents without anybody's help: their cgroups, and whatever of them is elsewhere."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Sequence

from paddock.cgroups.group import Group
from paddock.cgroups.v2 import kill_each
from paddock.drivers.local.keeper.members import STOPPED_STATES, Process, look_at, send
from paddock.drivers.local.release import release

from .agents import Agent, Yard

GRACE_S = 10.0
GONE_WITHIN_S = 5.0
# A look at 300 processes takes 8 ms; less rest than this and looking would be all that is done.
ROUND_S = 0.05
Clock = Callable[[], float]


def kill_now(yard: Yard, agents: Sequence[Agent], *, within_s: float = GONE_WITHIN_S) -> list[str]:
    """SIGKILL to all they have, again until nothing is left. Returns the keys of those that still
    have processes then: stuck in the kernel, or another user's."""
    last = yard.own_key()
    ordered = sorted(agents, key=lambda agent: agent.key == last)
    give_up_at = time.monotonic() + within_s
    while True:
        struck = [pid for agent in ordered for pid in agent.pids()]
        for agent in ordered:
            _strike(agent)
        release(struck)
        _find_strays(yard, ordered)
        ordered = [agent for agent in ordered if agent.pids()]
        if not ordered or time.monotonic() > give_up_at:
            return [agent.key for agent in ordered]
        time.sleep(ROUND_S)


def stop_politely(yard: Yard, agents: Sequence[Agent], *, grace_s: float = GRACE_S) -> list[str]:
    """SIGTERM to all they have, and SIGKILL for what is left after the grace."""
    _find_strays(yard, agents)
    for agent in agents:
        _ask_to_end(agent)
    give_up_at = time.monotonic() + grace_s
    left = [agent for agent in agents if agent.pids()]
    while left and time.monotonic() < give_up_at:
        time.sleep(ROUND_S)
        left = [agent for agent in left if agent.pids()]
    return kill_now(yard, agents)


def _find_strays(yard: Yard, agents: Collection[Agent]) -> None:
    """One look at all processes for all of them."""
    marked = yard.marked()
    for agent in agents:
        inside = set(agent.group.pids()) if agent.group is not None else set()
        agent.strays = [one for one in marked.get(agent.key, []) if one.pid not in inside]


def _strike(agent: Agent) -> None:
    if agent.group is not None:
        _strike_group(agent.group)
    for one in agent.strays:
        send(one.pid, one.start, signal.SIGKILL)


def _strike_group(group: Group) -> None:
    pids = group.pids()
    if os.getpid() in pids:
        # A kill by freezing first (v1) would freeze us with it, and nobody would thaw anybody.
        kill_each([pid for pid in pids if pid != os.getpid()])
    else:
        group.kill()
    thaw_all(group)  # killed in a frozen child of it, a process of v1 would wait there


def _ask_to_end(agent: Agent) -> None:
    """Frozen meanwhile, so that nobody forks away between the list and the signal."""
    group = agent.group
    if group is not None:
        alone = os.getpid() not in group.pids() and group.freeze()
        for process in filter(None, map(look_at, group.pids())):
            _terminate(process)
        if alone:
            group.thaw()
        thaw_all(group)
    for process in agent.strays:
        _terminate(process)


def _terminate(process: Process) -> None:
    if process.pid == os.getpid():
        return
    send(process.pid, process.start, signal.SIGTERM)
    if process.state in STOPPED_STATES:
        send(process.pid, process.start, signal.SIGCONT)


def thaw_all(group: Group) -> None:
    """It and everything below: an agent that was frozen can neither obey nor, in v1, die."""
    group.thaw()
    for name in group.children():
        thaw_all(group.child(name))
