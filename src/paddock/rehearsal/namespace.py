"""A network of its own: a namespace with nothing in it but loopback.

By root's right, or inside a user namespace where a host allows everybody to make one.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 0x1


class NoNamespace(Exception):
    """This host gives us none; says why and what to do."""


def enter() -> None:
    """Of the calling process and what it starts from now on. For a process with one thread."""
    user, group = os.getuid(), os.getgid()
    try:
        _unshare(_CLONE_NEWNET)
    except OSError:
        try:
            _unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
            # Everybody stays who they are: only our own id is known inside.
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{user} {user} 1")
            _write("/proc/self/gid_map", f"{group} {group} 1")
        except OSError as error:
            raise NoNamespace(
                f"no network namespace here ({error.strerror}); run it as root, or allow "
                "user namespaces: sysctl kernel.unprivileged_userns_clone=1"
            ) from error
    try:
        _loopback_up()
    except OSError as error:
        raise NoNamespace(f"no loopback in a network namespace here ({error.strerror})") from error


def _unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        asked = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(door, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(door, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="ascii")


def main() -> int:
    """Whether there would be one: for a look beforehand, in a process that can be thrown away."""
    try:
        enter()
    except NoNamespace as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
