"""Reading and writing the small files of a cgroup. What is written is read back."""

# os instead of pathlib: these are read for every agent, every second, and by `paddock relieve` on
# a machine that has hardly any memory left.
from __future__ import annotations

import os

MOST_DIGITS = 20  # the kernel's counters have 64 bits
LARGEST_FILE = 64 * 1024  # memory.stat has 2 to 4 KiB; cgroup.procs may have more than one page
ONE_READ = 2048  # of less than that, half a page, there is no rest


class NotSet(OSError):
    """A wall that the kernel did not take, or took differently: nothing may rely on it."""


File = str | os.PathLike[str]


def read(path: File) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = piece = os.read(descriptor, LARGEST_FILE)
        while len(piece) >= ONE_READ:  # the kernel gives what its own buffer holds, then the rest
            piece = os.read(descriptor, LARGEST_FILE)
            text += piece
    finally:
        os.close(descriptor)
    return text.decode("utf-8", "surrogateescape")


def read_or_empty(path: File) -> str:
    """Also of what says only when it is read that it is switched off, as PSI does."""
    try:
        return read(path)
    except (OSError, ValueError):  # ValueError: a NUL in a path that /proc told
        return ""


def lines_of(path: File) -> list[str]:
    """Not splitlines(): a cgroup's name may hold any sign but a newline, and whoever makes one with
    a form feed in it would write a second line, about another place than its own."""
    return [line for line in read_or_empty(path).split("\n") if line]


def write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def number(text: str) -> int | None:
    """None for `max`, which is no number, and for whatever else is none."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


def table(text: str) -> dict[str, int]:
    """Lines of `name value`."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS:
            found[name] = int(value)
    return found


def put(path: str, value: str | int) -> None:
    """Raises NotSet unless the file then says what was written; sizes are rounded to pages."""
    wanted = str(value)
    try:
        found = _write_and_read(path, wanted).split("\n", 1)[0].strip()
    except OSError as error:
        raise NotSet(
            error.errno, f"{path} could not be set to {wanted}: {error.strerror}"
        ) from None
    if not _same(wanted, found):
        raise NotSet(None, f"{path} says {found or 'nothing'} after {wanted} was written to it")


def _write_and_read(path: str, text: str) -> str:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
        return os.pread(descriptor, ONE_READ, 0).decode("ascii", "replace")
    finally:
        os.close(descriptor)


def _same(wanted: str, found: str) -> bool:
    if wanted == found:
        return True
    one, other = number(wanted), number(found)
    page = os.sysconf("SC_PAGE_SIZE")
    return one is not None and other is not None and one - page < other <= one


def pids_in(path: str) -> list[int]:
    """Of a `cgroup.procs`; 0 stands for one that this PID namespace cannot see."""
    return [pid for word in read_or_empty(path).split() if (pid := number(word))]
