"""Is this place safe to look at? Asked before git goes where an agent could write.

git opens what it finds: a pipe in place of a file keeps it waiting for ever, a device never ends, a
repository above (`/tmp/.git`) may be anybody's. What is strange is not looked at, and so it stays.
Between this look and git's own somebody may still change it: then git's deadline ends it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .errands import current
from .errors import UnsafePlace
from .plain_files import read_plain
from .records import Record

LARGEST_INDEX_BYTES: Final = 512 << 20  # some five million files
LONGEST_S: Final = 60.0
_GITDIR: Final = "gitdir: "
# Other worktrees of the repository and what submodules keep: looked at when they are gone into.
_APART: Final = frozenset({"worktrees", "modules"})
# What git reads of every worktree when it makes or removes one of them.
_OF_A_WORKTREE: Final = ("gitdir", "HEAD", "commondir", "locked")
_OF_A_REPOSITORY: Final = ("HEAD", "config", "commondir", "index", "objects", "refs", "packed-refs")


def check_workspace(record: Record, path: Path) -> None:
    """UnsafePlace says what is wrong with it, or with the repository that it belongs to."""
    check_repository(record)
    check_files(path)


def check_repository(record: Record) -> None:
    """What git keeps: for this worktree, and for all."""
    git_dir, common = Path(record.git_dir or record.common), Path(record.common)
    if git_dir != common and git_dir.exists():
        _check_all_of(git_dir)
        _check_belongs(git_dir, common)
    _check_all_of(common)
    found = _size_of(git_dir / "index")
    if found > LARGEST_INDEX_BYTES:
        raise UnsafePlace(f"{git_dir}/index has {found} bytes, more than paddock lets git read")
    if record.alternates is not None and record.alternates != alternates_mark(common):
        raise UnsafePlace(
            f"{common}/objects/info/alternates is not what it was: what is committed could lie "
            "elsewhere, and go with that"
        )


def check_common(common: Path) -> None:
    """The same in short, before something new is made: references and settings, no objects."""
    _check_short(common)
    check_worktrees(common)


def check_worktrees(common: Path) -> None:
    """UnsafePlace where git would wait in what it keeps for any of them."""
    for worktree in (common / "worktrees").glob("*"):
        for name in _OF_A_WORKTREE:
            _check_mode(worktree / name)


def _check_short(common: Path) -> None:
    _check_all_of(common, apart=_APART | {"objects"})


def check_references(record: Record) -> None:
    """For looks at commits that come every few seconds."""
    if os.path.lexists(record.git_dir):  # of one that was removed only the branch is left
        _check_all_of(Path(record.git_dir))
    _check_short(Path(record.common))


def alternates_mark(common: Path) -> str:
    """Changes with the list of other places where git looks for objects; empty: there are none."""
    try:
        return hashlib.sha256(read_plain(common / "objects/info/alternates")).hexdigest()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"strange: {error}"


def check_plain(path: Path, who: str) -> None:
    """One that settings name: a plain file, or not there."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise UnsafePlace(f"{who} names {path}, which is no plain file: git would wait in it")


def git_dir_of(below: Path, *, inside: tuple[Path, ...]) -> Path:
    """Of a repository inside a workspace, if what git keeps for it is where git puts it."""
    place = below / ".git"
    if place.is_symlink():
        raise UnsafePlace(f"{place} is a link")
    try:
        found = place if place.is_dir() else _led_to(place)
    except (OSError, ValueError) as error:
        raise UnsafePlace(f"{place} cannot be read ({error})") from None
    real = found.resolve()
    if not any(real.is_relative_to(top.resolve()) for top in inside):
        raise UnsafePlace(f"{place} leads to {real}, which is none of this workspace's")
    _check_all_of(real)
    return real


def find_top(directory: Path) -> Path | None:
    """Where the repository of this directory begins. git itself would try to open what it meets
    on the way up, in directories where everybody may write."""
    here = directory.resolve()
    for place in (here, *here.parents):
        if _is_top(place / ".git") or _is_bare(place):
            return place
    return None


def common_of(top: Path) -> Path:
    """Of a repository that begins here: where its objects and branches are."""
    try:
        place = top / ".git"
        if not os.path.lexists(place):
            return top.resolve()  # a bare one
        git_dir = place.resolve() if place.is_dir() else _led_to(place).resolve()
        if not os.path.lexists(git_dir / "commondir"):
            return git_dir
        said = os.fsdecode(read_plain(git_dir / "commondir").removesuffix(b"\n"))
    except (OSError, ValueError) as error:
        raise UnsafePlace(f"what git keeps for {top} cannot be found ({error})") from None
    return (git_dir / said).resolve()


def _is_top(git: Path) -> bool:
    if git.is_file():
        with_head = _led_to_or_none(git)
        return with_head is not None and _is_plain(with_head / "HEAD")
    return git.is_dir() and _is_plain(git / "HEAD")


def _is_bare(place: Path) -> bool:
    return _is_plain(place / "HEAD") and (place / "objects").is_dir() and (place / "refs").is_dir()


def _is_plain(path: Path) -> bool:
    """A HEAD may be a link, to a branch that has no commit yet."""
    return path.is_symlink() or path.is_file()


def _led_to_or_none(file: Path) -> Path | None:
    try:
        return _led_to(file)
    except (OSError, ValueError):
        return None


def _led_to(file: Path) -> Path:
    text = os.fsdecode(read_plain(file)).removesuffix("\n")
    if not text.startswith(_GITDIR):
        raise ValueError(f"{file} is damaged")
    return file.parent / text.removeprefix(_GITDIR)


def _check_belongs(git_dir: Path, common: Path) -> None:
    try:
        said = os.fsdecode(read_plain(git_dir / "commondir").removesuffix(b"\n"))
    except (OSError, ValueError) as error:
        raise UnsafePlace(f"{git_dir}/commondir cannot be read ({error})") from None
    if (git_dir / said).resolve() != common.resolve():
        raise UnsafePlace(f"{git_dir} says that it belongs to {said}, and it is one of {common}")


def check_files(path: Path) -> None:
    """The files that git reads for itself, and repositories inside: git looks whether they are."""
    for entry in _walk(path, apart=frozenset({".git"}), is_top=True):
        if not entry.name.startswith(".git"):
            continue
        _check_entry(entry)
        if entry.name == ".git" and entry.is_dir(follow_symlinks=False):
            _check_all_of(Path(entry.path))
        elif entry.name == ".git" and (led := _led_to_or_none(Path(entry.path))) is not None:
            for name in _OF_A_REPOSITORY:
                _check_mode(led / name)


def _check_all_of(directory: Path, *, apart: frozenset[str] = _APART) -> None:
    for entry in _walk(directory, apart=apart):
        _check_entry(entry)


def _walk(top: Path, *, apart: frozenset[str], is_top: bool = False) -> Iterator[os.DirEntry[str]]:
    """All below, but what is in directories of these names: anywhere among files, where `.git` at
    the top is known; among what git keeps at the top only, since a branch may be called so, too."""
    give_up_at = time.monotonic() + LONGEST_S
    todo = [os.fspath(top)]
    while todo:
        current().check()
        if time.monotonic() > give_up_at:
            raise UnsafePlace(f"{top} has more in it than can be seen in {LONGEST_S:g} s")
        directory = todo.pop()
        try:
            with os.scandir(directory) as entries:
                found = list(entries)
        except OSError as error:
            if directory == os.fspath(top):
                raise UnsafePlace(f"{top} cannot be read ({error.strerror})") from None
            continue  # closed to git as well, which says so where it matters
        for entry in found:
            if is_top and directory == os.fspath(top) and entry.name == ".git":
                continue
            yield entry
            is_apart = entry.name in apart and (is_top or directory == os.fspath(top))
            if entry.is_dir(follow_symlinks=False) and not is_apart:
                todo.append(entry.path)


def _check_entry(entry: os.DirEntry[str]) -> None:
    """By what the directory says of it: no call for each of a hundred thousand objects."""
    plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
    if not plain:
        _check_mode(Path(entry.path))


def _check_mode(path: Path) -> None:
    """Whatever a link leads to. A socket cannot be opened, so nobody waits in it."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        what = "a pipe" if stat.S_ISFIFO(mode) else "a device"
        raise UnsafePlace(f"{path} is {what}, and git would wait in it; look at it by hand")


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
