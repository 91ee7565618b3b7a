"""Clones of ours that nobody uses any more go, unless a branch is only there."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Final

from paddock.core.units import format_duration

from .clones import used_at
from .errors import Busy, WorkspaceError
from .git import Git
from .keeping import Keep, Removable
from .locks import hold
from .looking import check_common
from .records import Home
from .removal import check_inside, delete_tree

_OURS: Final = ("--exclude=refs/remotes/*", "--glob=refs/*")


def clear_clone(
    top: Path, home: Home, *, idle_s: float, now_at: float, dry_run: bool
) -> Keep | Removable:
    try:
        with hold(home.lock, who="clearing a clone", wait_s=0):
            found = _judge(home, idle_s=idle_s, now_at=now_at)
            if dry_run or isinstance(found, Keep):
                return found
            check_inside(top, home.clone)
            going = home.directory / f".cloning-{uuid.uuid4().hex}"  # such ones are swept
            home.clone.rename(going)
    except (Busy, WorkspaceError, OSError) as error:
        return Keep(str(error))
    delete_tree(top, going)
    return found


def _judge(home: Home, *, idle_s: float, now_at: float) -> Keep | Removable:
    users = len(home.runs.names()) + len(home.slots.names())
    if users:
        return Keep(f"{users} workspace{'s come' if users > 1 else ' comes'} from it")
    idle = now_at - used_at(home.clone)
    if idle < idle_s:
        since, wanted = format_duration(max(0.0, idle)), format_duration(idle_s)
        return Keep(f"idle for {since}, and {wanted} are wanted")
    check_common(home.clone)
    git = Git(directory=home.clone, git_dir=home.clone).bounded()
    only_here = git.line("rev-list", "--count", *_OURS, "--not", "--remotes")
    if only_here != "0":
        branches = git.out("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        names = ", ".join(name.decode("utf-8", "replace") for name in branches[:3])
        return Keep(f"{only_here} commits are only in it, on {names or 'no branch'}; push them")
    return Removable("all of it is on the other side")
