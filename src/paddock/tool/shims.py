"""The directory of shims that a run's PATH may carry: one small script for each walled command."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from paddock.config.tool_walls import ToolWall

from .running import DEFAULT_SHARE

DIRECTORY: Final = "tools"
NEVER: Final = frozenset({"paddock"})
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,63}")
_GLOB: Final = re.compile(r"[*?\[]")
# dash drops variables that it could not name itself (`npm_config_@x:y`); bash hands them on.
_SHELLS: Final = (("/bin/bash", "#!/bin/bash --posix"), ("/bin/sh", "#!/bin/sh"))

_TEXT: Final = """\
{shell}
# Made by paddock: {name} gets a memory wall or a lease of its own (docs/explain/tool-walls.md).
if [ -x {python} ] && [ -r {door} ]; then
  exec {python} -IS {door} {directory}/{name} {size} {lease} "$@"
fi
# paddock is gone from this machine; the command is not.
set -f
IFS=:
for paddock_shim_place in $PATH; do
  [ "$paddock_shim_place" = {directory} ] || [ ! -x "$paddock_shim_place/{name}" ] ||
    exec "$paddock_shim_place/{name}" "$@"
done
echo 'paddock: {name}: not found' >&2
exit 127
"""


class Shim(NamedTuple):
    name: str
    size: str  # bytes, `75%`, or `-`
    lease: str  # a name, or `-`


def tool_path(
    state: Path | str, walls: Iterable[ToolWall], *, path: str, share: float = DEFAULT_SHARE
) -> str | None:
    """The directory to put first in a run's PATH, made once; None: nothing is walled.

    `path` is the run's own PATH, in which names with * and ? are looked for.
    """
    shims = sorted(_shims(walls, path, share))
    if not shims:
        return None
    directory = Path(state).absolute() / DIRECTORY / _fingerprint(shims)
    if os.pathsep in str(directory):
        return None  # no PATH can name it
    if not directory.is_dir():
        _make(directory, shims)
    return str(directory)


def _shims(walls: Iterable[ToolWall], path: str, share: float) -> Iterator[Shim]:
    """The first wall that fits a name is its wall."""
    seen = set()
    for wall in walls:
        for name in _names(wall.command, path):
            if name not in seen and name not in NEVER and _NAME.fullmatch(name):
                seen.add(name)
                yield Shim(name, _size(wall, share), wall.lease or "-")


def _size(wall: ToolWall, share: float) -> str:
    if wall.memory_bytes is not None:
        return str(wall.memory_bytes)
    return "-" if wall.lease is not None else f"{share:g}%"


def _names(command: str, path: str) -> Iterable[str]:
    """A plain name needs no look: it may be installed later."""
    if not _GLOB.search(command):
        return [command]
    found: set[str] = set()
    for directory in path.split(os.pathsep):
        try:
            entries = os.listdir(directory)  # noqa: PTH208 - 2,000 names, and no more than those
        except OSError:
            continue
        found.update(fnmatch.filter(entries, command))
    return found


def _door() -> str:
    return str(Path(__file__).with_name("door.py"))


def _fingerprint(shims: list[Shim]) -> str:
    text = "\0".join([_TEXT, sys.executable, _door(), _shell(), *map(repr, shims)])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _shell() -> str:
    return next(first for program, first in _SHELLS if os.access(program, os.X_OK))


def _make(directory: Path, shims: list[Shim]) -> None:
    """Whole or not at all: whoever finds the directory finds all of it."""
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=directory.parent))
    try:
        for shim in shims:
            script = fresh / shim.name
            script.write_text(script_of(shim, directory), encoding="utf-8")
            script.chmod(0o700)
        fresh.rename(directory)
    except OSError:
        if not directory.is_dir():  # another was quicker, and made the same
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def script_of(shim: Shim, directory: Path) -> str:
    return _TEXT.format(
        shell=_shell(),
        name=shim.name,
        size=shim.size,
        lease=shim.lease,
        python=shlex.quote(sys.executable),
        door=shlex.quote(_door()),
        directory=shlex.quote(str(directory)),
    )
