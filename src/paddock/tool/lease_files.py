"""Where leases are: a directory that all users share, and files in it that are no tricks."""

# ruff: noqa: PTH102
from __future__ import annotations

import os
import stat

from .errors import LeaseRefused

PLACES = ("/run/lock", "/tmp")
DIRECTORY = "paddock-leases"


def the_directory(places: tuple[str, ...] = PLACES) -> int:
    """A descriptor of it: whatever happens to the path later, this is what was checked."""
    for place in places:
        if _is_shared(place):
            return _opened(f"{place}/{DIRECTORY}")
    raise LeaseRefused(f"no directory that all users share: {' and '.join(places)} are none")


def _is_shared(place: str) -> bool:
    """Everybody may write, and nobody may remove what is another's."""
    try:
        mode = os.stat(place).st_mode  # noqa: PTH116
    except OSError:
        return False
    return stat.S_ISDIR(mode) and (mode & 0o1002 == 0o1002 or os.access(place, os.W_OK))


def _opened(path: str) -> int:
    try:
        os.mkdir(path, 0o700)
        _open_to_all(path)
    except FileExistsError:
        pass
    except OSError as error:
        raise LeaseRefused(f"{path} cannot be made: {error.strerror}") from None
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise LeaseRefused(f"{path} is not a directory to be trusted: {error.strerror}") from None
    found = os.fstat(descriptor)
    # Anybody could have made it first: that is no harm as long as everybody may use it, because
    # nothing in it is believed but locks.
    if found.st_mode & 0o1777 != 0o1777 and found.st_uid != os.geteuid():
        os.close(descriptor)
        raise LeaseRefused(f"{path} is closed to others; its owner or root must: chmod 1777 {path}")
    return descriptor


def _open_to_all(path: str) -> None:
    """By descriptor: between mkdir and chmod a path could become something else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(descriptor, 0o1777)
    finally:
        os.close(descriptor)


def open_file(directory: int, name: str) -> int:
    """Opened, or made for everybody; never a link, a FIFO, or a file that has another name too."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    for _ in range(10):
        try:
            # Without O_CREAT: with it, `fs.protected_regular` refuses another user's file.
            descriptor = os.open(name, flags, dir_fd=directory)
        except FileNotFoundError:
            try:
                made = os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=directory)
            except FileExistsError:
                continue
            os.fchmod(made, 0o666)  # whatever the umask
            return made
        except OSError as error:
            raise LeaseRefused(
                f"the lease's file {name} cannot be used: {error.strerror}"
            ) from None
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            os.close(descriptor)
            raise LeaseRefused(f"the lease's file {name} is a trick: not a plain file of its own")
        return descriptor
    raise LeaseRefused(f"the lease's file {name} comes and goes")
