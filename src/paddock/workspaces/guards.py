"""Programs and files that a repository's own settings name: not run by paddock, not waited for.

What the system's and the user's own settings name is trusted: who could write those needs no trick.
A repository's settings file is shared by all its worktrees, so any agent may have written it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from .errors import UnsafePlace, WorkspaceError
from .git import Git
from .looking import check_plain

Setting = tuple[str, str]

_SHARED_SCOPES: Final = (b"local", b"worktree")
_FILTER: Final = re.compile(r"filter\.(.+)\.(clean|smudge|process|required)", re.DOTALL)
# What `git lfs install --local` writes, and nothing else.
_KNOWN_FILTERS: Final = re.compile(
    r"git-lfs (?:(?:clean|smudge)(?: --skip)? -- %f|filter-process(?: --skip)?)"
)
# Programs that Git LFS runs: its filter is trusted, and reads these in the repository's settings.
_OF_LFS: Final = re.compile(
    r"lfs\.(?:extension\..*|customtransfer\..*|(?:.*\.)?standalonetransferagent)", re.DOTALL
)
_NO_LFS: Final = {
    "filter.lfs.clean": "",
    "filter.lfs.smudge": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
}
# Used when git goes to the network, and not to be taken out one by one.
_ON_THE_WAY: Final = re.compile(
    r"core\.(?:sshcommand|gitproxy|askpass|alternaterefscommand)|credential\..*|url\..*|protocol\..*"
    r"|http\..*|ssh\..*|remote\..*\.(?:uploadpack|receivepack|vcs|proxy)|include.*\.path"
    r"|fetch\.fsck.*|transfer\..*",
    re.DOTALL,
)
_PARTIAL: Final = re.compile(r"remote\..*\.promisor|extensions\.partialclone", re.DOTALL)
_INCLUDE: Final = re.compile(r"include(?:if\..*)?\.path", re.DOTALL)
_FILES: Final = ("core.excludesfile", "core.attributesfile")
_MOST_INCLUDED: Final = 50


def guarded(git: Git) -> Git:
    """The same, with no filter program that the repository itself names."""
    return _without_filters(git, shared_settings(git))


def for_files(git: Git) -> Git:
    """The same, to write files: those that a partial clone left on the other side are fetched,
    unless somebody has named a program for the way there."""
    known = list(shared_settings(git))
    safe = _without_filters(git, known)
    keys = [key for key, _ in known]
    fetches = any(map(_PARTIAL.fullmatch, keys)) and not any(map(_ON_THE_WAY.fullmatch, keys))
    return safe.going_out() if fetches else safe


def _without_filters(git: Git, known: Iterable[Setting]) -> Git:
    settings: dict[str, str] = {}
    for key, value in known:
        match = _FILTER.fullmatch(key)
        if match and not _KNOWN_FILTERS.fullmatch(value):
            settings[key] = "false" if match[2] == "required" else ""
        elif _OF_LFS.fullmatch(key):
            settings |= _NO_LFS
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


def check_settings(git: Git) -> None:
    """UnsafePlace where the repository's settings would make git open what is no file."""
    for _ in shared_settings(git):
        pass


def shared_settings(git: Git) -> Iterator[Setting]:
    """Key (section and name in small letters) and value of all that an agent could have set."""
    words = ("config", "--null", "--no-includes", "--show-scope", "--show-origin", "--list")
    found = git.out(*words).split(b"\0")
    includes = False
    for scope, origin, entry in zip(found[::3], found[1::3], found[2::3], strict=False):
        if scope in _SHARED_SCOPES:
            key, value = _parted(entry)
            file = git.directory / origin.removeprefix(b"file:").decode("utf-8", "surrogateescape")
            includes = _check_file(git, key, value, file) or includes
            yield key, value
    if includes:
        yield from _with_includes(git)


def _with_includes(git: Git) -> Iterator[Setting]:
    words = git.out("config", "--null", "--show-scope", "--list").split(b"\0")
    for scope, entry in zip(words[::2], words[1::2], strict=False):
        if scope in _SHARED_SCOPES:
            yield _parted(entry)


def _parted(entry: bytes) -> Setting:
    key, _, value = entry.partition(b"\n")
    return key.decode("utf-8", "replace"), value.decode("utf-8", "surrogateescape")


def _check_file(git: Git, key: str, value: str, file: Path) -> bool:
    """UnsafePlace where git would open something that is no file; whether more is included."""
    if key in _FILES and value:
        check_plain(git.directory / _expanded(value), key)
    if not _INCLUDE.fullmatch(key):
        return False
    todo, seen = [file.parent / _expanded(value)], 0
    while todo:
        path = todo.pop()
        check_plain(path, key)
        seen += 1
        if seen > _MOST_INCLUDED:
            raise UnsafePlace(f"{file} includes more than {_MOST_INCLUDED} others")
        if path.is_file():
            todo += _included(git, path)
    return True


def _included(git: Git, path: Path) -> Iterator[Path]:
    ended = git.ask("config", "--null", "--no-includes", "--file", path, "--list")
    for entry in ended.out.split(b"\0"):
        key, value = _parted(entry)
        if _INCLUDE.fullmatch(key):
            yield path.parent / _expanded(value)
        elif key in _FILES and value:
            check_plain(git.directory / _expanded(value), key)


def _expanded(value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:  # there is no such user
        return Path(value)
