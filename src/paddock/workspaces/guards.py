"""Programs that a repository's own settings name: not run by paddock.

What the system's and the user's own settings name is trusted: who could write those needs no trick.
A repository's settings file is shared by all its worktrees, so any agent may have written it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .errors import WorkspaceError
from .git import Git

_SHARED_SCOPES: Final = (b"local", b"worktree")
_FILTER: Final = re.compile(r"filter\.(.+)\.(clean|smudge|process|required)", re.DOTALL)
# What `git lfs install --local` writes, and nothing else.
_KNOWN_FILTERS: Final = re.compile(
    r"git-lfs (?:(?:clean|smudge)(?: --skip)? -- %f|filter-process(?: --skip)?)"
)
# Used when git goes to the network, and not to be taken out one by one.
_ON_THE_WAY: Final = re.compile(
    r"core\.(?:sshcommand|gitproxy|askpass|alternaterefscommand)|credential\..*|url\..*|protocol\..*"
    r"|http\..*|ssh\..*|remote\..*\.(?:uploadpack|receivepack|vcs|proxy)|include.*\.path"
    r"|fetch\.fsck.*|transfer\..*",
    re.DOTALL,
)


def guarded(git: Git) -> Git:
    """The same, with no filter program that the repository itself names."""
    settings: dict[str, str] = {}
    for key, value in shared_settings(git):
        match = _FILTER.fullmatch(key)
        if match and not _KNOWN_FILTERS.fullmatch(value):
            settings[key] = "false" if match[2] == "required" else ""
    return git.with_settings(settings) if settings else git


def check_the_way(git: Git) -> None:
    """Before git goes to the network for a clone of ours: nobody but us had to set this there."""
    for key, _ in shared_settings(git):
        if _ON_THE_WAY.fullmatch(key):
            file = Path(git.git_dir or git.directory) / "config"
            raise WorkspaceError(
                f"{file} sets {key}, which paddock did not write and will not follow; take it out: "
                f"git config --file {file} --unset-all {key}"
            )


def shared_settings(git: Git) -> Iterator[tuple[str, str]]:
    """Key (section and name in small letters) and value of all that an agent could have set."""
    words = git.out("config", "--null", "--show-scope", "--list").split(b"\0")
    for scope, entry in zip(words[::2], words[1::2], strict=False):
        key, _, value = entry.partition(b"\n")
        if scope in _SHARED_SCOPES:
            yield key.decode("utf-8", "replace"), value.decode("utf-8", "replace")
