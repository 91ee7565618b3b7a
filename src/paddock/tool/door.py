"""Where a shim comes in: `python -IS door.py SHIM SIZE LEASE ARGUMENTS…`. Not a command for people.

Without click and `site`: 13 ms where `paddock tool` takes 76, before every command of an agent.
"""

# ruff: noqa: PTH100, PTH118, PTH119, PTH120
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from paddock.tool.running import Ask

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REFUSED = 3
NONE = "-"


def main(argv: list[str]) -> int:
    """`SIZE` is bytes, `75%` or `-`; `LEASE` a name or `-`."""
    shim, size, lease, *arguments = argv
    try:
        from paddock.tool.errors import CannotRun, LeaseRefused
        from paddock.tool.running import run_tool
    except ImportError:  # paddock was removed or is being replaced, the agent still works
        _go_on_without(shim, arguments)
    ask = _ask([os.path.basename(shim), *arguments], size, lease)
    ask.own_directory = os.path.dirname(shim)
    try:
        end = run_tool(ask)
    except CannotRun as error:
        sys.stderr.write(f"paddock: {error}\n")
        return error.code
    except LeaseRefused as error:
        sys.stderr.write(f"paddock: {error}\n")
        return REFUSED
    if end.stopped:
        from paddock.tool.advice import explain

        sys.stderr.write(explain(end, ask.argv, os.environ))
    return end.code


def _ask(words: list[str], size: str, lease: str) -> Ask:
    from paddock.tool.running import Ask, Size

    wanted = None
    if size.endswith("%"):
        wanted = Size(percent=float(size[:-1]))
    elif size != NONE:
        wanted = Size(amount_bytes=int(size))
    ask = Ask(words, wanted)
    ask.lease = None if lease == NONE else lease
    return ask


def _go_on_without(shim: str, arguments: list[str]) -> NoReturn:
    own, name = os.path.split(shim)
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        place = os.path.join(directory or ".", name)
        if directory.rstrip("/") != own and os.access(place, os.X_OK):
            os.execv(place, [place, *arguments])
    sys.stderr.write(f"paddock: {name}: not found\n")
    sys.exit(127)


if __name__ == "__main__":
    sys.path.append(ROOT)  # after the standard library: nothing beside us may take its place
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # the interpreter's own end would take 2 ms more, and has nothing left to do
