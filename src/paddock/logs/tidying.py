"""Bringing a run's files in order: pack what was rotated, let go of what is too much.

All of it may be broken off at any system call and begun again: `tidy` is also what a start does
after a crash. Runs in a thread; only `rotate` is for whoever moves the bytes.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from . import names
from .aside import Aside
from .keeping import Keeping
from .names import HALF, Kind, Part
from .packing import MEMBER_BYTES, pack
from .shelf import READ, opened
from .steps import Step
from .turns import Turns

_WRITE: Final = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_NEW: Final = _WRITE | os.O_CREAT | os.O_EXCL


class Tidier:
    """Of one directory with all runs. `step` is told what is about to be done."""

    def __init__(self, turns: Turns, aside: Aside, step: Step) -> None:
        self.turns, self._aside = turns, aside
        self._step = step

    def close(self) -> None:
        """After those who rotate and tidy."""
        self._aside.close()

    # -- rotating -------------------------------------------------------------------------

    def rotate(self, directory: Path, agent: str, *, attempt: int, base: int) -> Part | None:
        """The live file becomes a part that waits. None: there is nothing in it, or its agent
        writes to it by a name of its own, as in a virtual machine. `base`: where it begins."""
        with opened(directory) as handle:
            if handle is None:
                return None
            try:
                facts = os.stat(names.live_name(attempt), dir_fd=handle, follow_symlinks=False)
            except FileNotFoundError:
                return None
            if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1 or not facts.st_size:
                return None
            end = base + facts.st_size
            part = names.rotated(agent, attempt, start=base, end=end, at=time.time())
            self._rename(handle, directory.name, names.live_name(attempt), part.name)
            return part

    def widen(self, directory: Path, before: Part | None, after: Part) -> None:
        """A gap that grew; its first part is made here."""
        with opened(directory) as handle:
            if handle is None:
                return
            if before is not None:
                self._rename(handle, directory.name, before.name, after.name)
                return
            self._make_gap(handle, directory.name, after)

    def sync_soon(self, directory: Path, name: str) -> None:
        """Packing may take its turn, and power fail before: what was rotated is put on the disk as
        it is, under its name, while it waits or is packed."""
        self._aside.sync(directory.name, lambda: self._make_sure_of(directory, name))

    def _make_sure_of(self, directory: Path, name: str) -> None:
        """What is gone was packed meanwhile, and that is on the disk."""
        with opened(directory) as handle, suppress(FileNotFoundError):
            if handle is None:
                return
            source = os.open(name, READ, dir_fd=handle)
            try:
                self._step("fsync rotated")
                os.fsync(source)
            finally:
                os.close(source)
            self._step("fsync directory")
            os.fsync(handle)

    # -- tidying --------------------------------------------------------------------------

    def tidy(self, directory: Path, keeping: Keeping) -> bool:
        """False if something could not be packed: what waits is whole, and stays."""
        with opened(directory) as handle:
            if handle is None:
                return True
            work = _Work(handle, directory.name)
            self._clear(work)
            well = self._pack_all(work)
            if not keeping.full:
                self._let_go(work, keeping)
            self._join_gaps(work)
            return well

    def _clear(self, work: _Work) -> None:
        """What an earlier one left half done."""
        for name in work.listed():
            if name.startswith(HALF) and name.endswith(".gz"):
                self._unlink(work, name)
        found = work.rotated()
        kept = names.in_order(found)
        for part in found:
            if part not in kept:  # another holds its bytes
                self._unlink(work, part.name)
            elif part.kind is Kind.GAP and work.size(part.name):
                self._empty(work, part.name)

    def _pack_all(self, work: _Work) -> bool:
        well = True
        for part in work.parts():
            if part.kind is Kind.WAITING:
                work.tried.add((part.attempt, part.start))
                try:
                    self._pack(work, self._as_it_is(work, part))
                except FileNotFoundError:
                    continue  # the run was removed meanwhile
                except OSError:
                    well = False
        return well

    def _as_it_is(self, work: _Work, part: Part) -> Part | None:
        """After a loss of power less may be there than was renamed: then there is a gap."""
        size = work.size(part.name)
        if size >= part.size:
            return part
        lost = names.gap(part.attempt, part.start + size, part.end, 0)
        if not size:
            self._rename(work.handle, work.run, part.name, lost.name)
            return None
        # In this order: until it has its real name, the part hides the gap.
        self._make_gap(work.handle, work.run, lost)
        real = names.cut_to(part, part.start + size)
        self._rename(work.handle, work.run, part.name, real.name)
        return real

    def _pack(self, work: _Work, part: Part | None) -> None:
        if part is None:
            return
        handle, half = work.handle, f"{HALF}{part.name}.gz"
        source = os.open(part.name, READ, dir_fd=handle)
        try:
            lines = self._write_packed(handle, half, source, part.size)
            self._rename(handle, work.run, half, names.packed(part, lines).name)
            self._step("fsync directory")
            os.fsync(handle)
            self._unlink(work, part.name)
        finally:
            self._aside.let_go(source)

    def _write_packed(self, handle: int, half: str, source: int, size: int) -> int:
        """How many lines are in it. Of one that could not be written nothing stays."""
        self._step("open")
        target = os.open(half, _NEW, 0o600, dir_fd=handle)
        try:
            self._step("write")
            _, lines = pack(source, target, size)
            facts = os.fstat(source)
            os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            self._step("fsync")
            os.fsync(target)
        except OSError:
            with suppress(OSError):
                os.unlink(half, dir_fd=handle)
            raise
        finally:
            os.close(target)
        return lines

    # -- letting go -----------------------------------------------------------------------

    def _let_go(self, work: _Work, keeping: Keeping) -> None:
        """The oldest first; never the newest, nor the live file of the newest attempt, nor what was
        rotated meanwhile: that counts when it is packed, and ten times less."""
        rotated = [part for part in work.settled() if part.kind is not Kind.GAP]
        for part in rotated[: -keeping.files]:
            self._drop(work, part)
        newest = max((part.size for part in rotated), default=0)
        room = keeping.total_bytes - min(
            max(keeping.buffer_bytes, newest), keeping.total_bytes // 2
        )
        kept = sorted(work.kept(), key=lambda part: (part.attempt, part.start))
        used = sum(work.size(part.name) for part in kept)
        for part in kept[:-1]:
            if used <= room:
                break
            used -= work.size(part.name)
            self._drop(work, part)

    def _drop(self, work: _Work, part: Part) -> None:
        """It becomes a gap by one rename; that it still has its content matters to nobody."""
        lines = part.lines
        if lines is None:
            lines = _lines(work.handle, part.name)
        lost = names.gap(part.attempt, part.start, part.end, lines)
        self._rename(work.handle, work.run, part.name, lost.name)
        self._empty(work, lost.name)

    def _join_gaps(self, work: _Work) -> None:
        """But an attempt's last, which may just be growing."""
        before: Part | None = None
        parts = work.parts()
        last = {part.attempt: part for part in parts}
        for part in parts:
            if part.kind is not Kind.GAP or part is last[part.attempt]:
                before = None
            elif before is None or before.attempt != part.attempt or before.end != part.start:
                before = part
            else:
                lines = (before.lines or 0) + (part.lines or 0)
                whole = names.gap(part.attempt, before.start, part.end, lines)
                # The larger one hides the other until that is gone.
                self._rename(work.handle, work.run, before.name, whole.name)
                self._unlink(work, part.name)
                before = whole

    # -- system calls ---------------------------------------------------------------------

    def _rename(self, handle: int, run: str, old: str, new: str) -> None:
        self._step("rename")
        with self.turns.turning(run):
            os.rename(old, new, src_dir_fd=handle, dst_dir_fd=handle)

    def _unlink(self, work: _Work, name: str) -> None:
        self._step("unlink")
        with self.turns.turning(work.run), suppress(FileNotFoundError):
            os.unlink(name, dir_fd=work.handle)

    def _make_gap(self, handle: int, run: str, part: Part) -> None:
        self._step("open")
        with self.turns.turning(run), suppress(FileExistsError):
            os.close(os.open(part.name, _NEW, 0o600, dir_fd=handle))

    def _empty(self, work: _Work, name: str) -> None:
        self._step("truncate")
        with suppress(FileNotFoundError):
            descriptor = os.open(name, _WRITE, dir_fd=work.handle)
            try:
                os.ftruncate(descriptor, 0)
            finally:
                os.close(descriptor)


class _Work:
    """One run's directory, looked at anew at each question."""

    def __init__(self, handle: int, run: str) -> None:
        self.handle, self.run = handle, run
        self.tried: set[tuple[int, int]] = set()  # attempt and start of what was to be packed

    def listed(self) -> list[str]:
        return os.listdir(self.handle)  # noqa: PTH208

    def rotated(self) -> list[Part]:
        """Also those whose bytes another holds."""
        found = (part for name in self.listed() if (part := names.parsed(name)))
        return [part for part in found if part.kind is not Kind.LIVE]

    def parts(self) -> list[Part]:
        return names.in_order(self.rotated())

    def settled(self) -> list[Part]:
        """Without those that have their turn next."""
        return [part for part in self.parts() if not self._is_next(part)]

    def _is_next(self, part: Part) -> bool:
        return part.kind is Kind.WAITING and (part.attempt, part.start) not in self.tried

    def kept(self) -> list[Part]:
        """Settled ones, and the files of attempts that came before the newest."""
        found = [part for name in self.listed() if (part := names.parsed(name))]
        newest = max((part.attempt for part in found), default=0)
        kept = [part for part in self.settled() if part.kind is not Kind.GAP]
        for part in found:
            if part.kind is Kind.LIVE and part.attempt < newest:
                start = _base(self.handle, part.attempt)
                end = start + self.size(part.name)
                if start < end:
                    kept.append(Part(part.attempt, start, end, Kind.LIVE, part.name))
        return kept

    def size(self, name: str) -> int:
        try:
            facts = os.stat(name, dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return 0
        return facts.st_size if stat.S_ISREG(facts.st_mode) else 0


def _base(handle: int, attempt: int) -> int:
    """Where the live file of an attempt begins."""
    found = (names.parsed(name) for name in os.listdir(handle))
    rotated = (part for part in found if part is not None and part.kind is not Kind.LIVE)
    return max((part.end for part in rotated if part.attempt == attempt), default=0)


def _lines(handle: int, name: str) -> int:
    """Of a file that was never packed; 0 where it cannot be read."""
    try:
        descriptor = os.open(name, READ, dir_fd=handle)
    except OSError:
        return 0
    lines = at = 0
    try:
        while data := os.pread(descriptor, MEMBER_BYTES, at):
            lines += data.count(b"\n")
            at += len(data)
    except OSError:
        return lines
    finally:
        os.close(descriptor)
    return lines
