"""What is promised on a host over time: memory and CPU. Says where a profile fits, and takes it."""

from __future__ import annotations

from paddock.simulate.ledger import Ledger
from paddock.simulate.profile import Profile


class Board:
    """No promise goes over the capacity.

    Bursts may be kept to a pool. Without it a few cells fill up with bursts to the brim, and a full
    cell lets no run pass over it, however empty its neighbours are: 500 bursty runs on 32 GiB then
    use 75 % of the memory; with a pool of 27 % they use 88 %. What the waiting runs could not fill
    anyway is not kept back from bursts.
    """

    def __init__(
        self, *, capacity_bytes: int, cpu: int, pool_bytes: int | None, waiting_base_bytes: int
    ) -> None:
        self._capacity = capacity_bytes
        self._cpu_capacity = cpu
        self._pool = pool_bytes
        self._waiting_base = waiting_base_bytes
        self._memory = Ledger()
        self._cpu = Ledger()
        self._bumps = Ledger()

    def earliest(self, shape: Profile, start: int, *, pooled: bool) -> int:
        """The first cell, from `start`, at which the whole profile fits."""
        while True:
            later = self.later(shape, start, pooled=pooled)
            if later == start:
                return start
            start = later

    def later(self, shape: Profile, start: int, *, pooled: bool = True) -> int:
        """`start` if the profile fits there; else a start before which it cannot fit.

        A phase that clashes with a cell clashes with it at every start that leaves the phase over
        that cell: go on to where it begins just after.
        """
        end = start + shape.cells
        clash = self._cpu.last_above(start, end, self._cpu_capacity - shape.cpu)
        if clash < 0:
            clash = self._memory.last_above(start, end, self._capacity - shape.base)
        if clash >= 0:
            return clash + 1
        if pooled and self._pool is not None:
            later = self._clash_in_pool(shape, start)
            if later > start:
                return later
        last_above, capacity = self._memory.last_above, self._capacity
        for begin, finish, level in shape.bumps:
            clash = last_above(start + begin, start + finish, capacity - level)
            if clash >= 0:
                return clash + 1 - begin
        return start

    def promise(self, shape: Profile, start: int) -> None:
        self._change(shape, start, sign=1)

    def take_back(self, shape: Profile, start: int) -> None:
        self._change(shape, start, sign=-1)

    def _change(self, shape: Profile, start: int, *, sign: int) -> None:
        base = sign * shape.base
        self._cpu.add(start, start + shape.cells, sign * shape.cpu)
        self._memory.add(start, start + shape.cells, base)
        self._waiting_base -= base
        for begin, finish, level in shape.bumps:
            self._memory.add(start + begin, start + finish, sign * level - base)
        if self._pool is not None:
            for begin, finish, level in shape.bumps:
                self._bumps.add(start + begin, start + finish, sign * level - base)

    def _clash_in_pool(self, shape: Profile, start: int) -> int:
        assert self._pool is not None
        base_now = self._memory.at(start) - self._bumps.at(start)
        pool = max(self._pool, self._capacity - base_now - self._waiting_base) + shape.base
        last_above = self._bumps.last_above
        for begin, finish, level in shape.bumps:
            # A burst larger than the pool has it for itself.
            clash = last_above(start + begin, start + finish, max(0, pool - level))
            if clash >= 0:
                return clash + 1 - begin
        return start
