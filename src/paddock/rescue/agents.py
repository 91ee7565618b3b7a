"""Who lives here right now: read from cgroups, records and marks, never from the daemon."""

from __future__ import annotations

import os

from paddock.cgroups.group import Group
from paddock.cgroups.use import held_bytes
from paddock.cgroups.v2 import Group2
from paddock.drivers.local.keeper.members import (
    DEAD_STATES,
    Census,
    Leads,
    Process,
    look_at,
    mark_in,
    read_proc,
    scan,
)
from paddock.drivers.local.rough import rough_bytes

from .records import NORMAL, Facts, HomeDirectory, Records, facts_in, read_facts, read_home

BY_HAND = "hand-"  # cgroups that `paddock cgroup create` made, beside those of attempts


class Agent:
    """One attempt that has processes, or a cgroup made by hand that has some."""

    __slots__ = ("facts", "group", "key", "strays", "used_bytes")

    def __init__(self, key: str, facts: Facts, *, group: Group | None = None) -> None:
        self.key, self.facts, self.group = key, facts, group
        self.strays: list[Process] = []  # its processes that are in no cgroup of it
        self.used_bytes = 0

    @property
    def over_bytes(self) -> int:
        """Without a known size nobody can be over it."""
        expected = self.facts.expected_bytes
        return 0 if expected is None else self.used_bytes - expected

    def pids(self) -> list[int]:
        """Of those that live, without ourselves, whom an agent may have called: one that is dead
        and not yet reaped holds no memory."""
        inside = [] if self.group is None else self.group.pids()
        pids = [*inside, *(one.pid for one in self.strays)]
        return [pid for pid in pids if pid != os.getpid() and is_alive(pid)]


class Yard:
    """All agents of one paddock."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.instance = ""
        self.home: HomeDirectory | None = None
        self.find()

    def find(self) -> None:
        """Where it lives: again at every look, because a daemon may move in while we watch."""
        self.instance = self.records.instance()
        self.home = read_home(self.records)

    @property
    def where(self) -> str | None:
        return None if self.home is None else self.home.group.path

    def agents(self, *, thorough: bool = True) -> list[Agent]:
        """`thorough`: also who left its cgroup. Where there are walls that is a luxury: it takes a
        look at every process of the machine, 25 µs each."""
        self.find()
        facts = read_facts(self.records)
        found = self._in_cgroups(facts)
        if thorough or self.home is None:
            self._add_strays(found, facts)
        living = [agent for agent in found.values() if agent.pids()]
        for agent in living:
            agent.used_bytes = _used_bytes(agent)
        return living

    def _in_cgroups(self, facts: dict[str, Facts]) -> dict[str, Agent]:
        if self.home is None:
            return {}
        fleet = self.home.fleet
        found = {}
        for key in fleet.children():
            known = facts.get(key) or _facts_by_name(key)
            if known is not None:
                found[key] = Agent(key, known, group=fleet.child(key))
        return found

    def _add_strays(self, found: dict[str, Agent], facts: dict[str, Facts]) -> None:
        for key, members in self.marked().items():
            known = facts.get(key) or _facts_by_name(key)
            if known is None:
                continue
            agent = found.setdefault(key, Agent(key, known))
            inside = set(agent.group.pids()) if agent.group is not None else set()
            agent.strays = [one for one in members if one.pid not in inside]

    def marked(self) -> dict[str, list[Process]]:
        """By `RUN.N`: whoever wears our mark, and whatever descends from them. Never ourselves:
        `paddock kill` may be called by an agent."""
        if not self.instance:
            return {}
        processes = scan()
        processes.pop(os.getpid(), None)
        marks = {pid: self._key_worn(one) for pid, one in processes.items()}
        leads = Leads(0)
        leads.marks = {key: key for key in marks.values() if key is not None}
        return Census(processes, leads, marks.get).members if leads.marks else {}

    def _key_worn(self, process: Process) -> str | None:
        mark = mark_in(read_proc(process.task, "environ"))
        instance, _, key = (mark or "").partition(".")
        return key if instance == self.instance and key else None

    def own_key(self) -> str | None:
        """Of the agent that we are part of, if any."""
        instance, _, key = os.environ.get("PADDOCK_ATTEMPT", "").partition(".")
        return key if instance and instance == self.instance else None


def _facts_by_name(key: str) -> Facts | None:
    """Without a record, or with a torn one, a name is all there is."""
    if key.startswith(BY_HAND):
        return Facts(key, 0, key.removeprefix(BY_HAND), NORMAL)
    return facts_in({}, key)


def is_alive(pid: int) -> bool:
    process = look_at(pid)
    return process is not None and process.state not in DEAD_STATES


def _used_bytes(agent: Agent) -> int:
    used = sum(rough_bytes(one.task) for one in agent.strays)
    if agent.group is None:
        return used
    return used + (held_bytes(agent.group.path, is_v2=isinstance(agent.group, Group2)) or 0)


def chosen(agents: list[Agent], refs: tuple[str, ...]) -> tuple[list[Agent], list[str]]:
    """By id, by a beginning of one that fits no other, or by name (its newest); and who was not
    found. ValueError: a beginning fits several."""
    found: dict[str, Agent] = {}
    unknown = []
    for ref in refs:
        agent = _meant(agents, ref)
        if agent is None:
            unknown.append(ref)
        else:
            # An older attempt that is still there is of the same run.
            found |= {one.key: one for one in agents if one.facts.run == agent.facts.run}
    return list(found.values()), unknown


def _meant(agents: list[Agent], ref: str) -> Agent | None:
    """All attempts of one run are one run: the newest stands for it."""
    newest = sorted(agents, key=lambda one: (one.facts.begun_at, one.facts.attempt), reverse=True)
    for agent in newest:
        if ref == agent.facts.run:
            return agent
    for agent in newest:
        if ref == agent.facts.name:
            return agent
    fits = [agent for agent in newest if ref and agent.facts.run.startswith(ref)]
    runs = sorted({agent.facts.run for agent in fits})
    if len(runs) > 1:
        more = " and more" if len(runs) > 5 else ""
        raise ValueError(f"{ref!r} could be {', '.join(runs[:5])}{more}: say more of it")
    return fits[0] if fits else None
