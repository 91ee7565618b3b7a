"""Git's side of a workspace: a worktree is added, filled, handed over, forgotten.

What git keeps for all worktrees is changed under the repository's lock. Files are written without
it: each worktree has an index of its own, and that is where the time goes.
"""

from __future__ import annotations

import glob
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .errors import GitFailed, WorkspaceError
from .git import Git, patiently
from .guards import check_settings, for_files, guarded
from .looking import (
    check_common,
    check_repository,
    check_workspace,
    check_worktrees,
    common_of,
    find_top,
)
from .plain_files import put_plain, read_plain
from .records import Record

CHECKOUT_TIMEOUT_S: Final = 900.0
_GITDIR: Final = "gitdir: "
_WHY: Final = "paddock: a prepared workspace was handed over"


@dataclass(frozen=True, slots=True)
class Source:
    """A repository on this machine: the user's own, or a clone of ours."""

    common: Path
    place: Path  # where HEAD is asked for
    remote: str = ""  # branches are first looked for there

    @property
    def git(self) -> Git:
        return Git(directory=self.place, git_dir=self.common if self.remote else None)


def find_source(repository: Path) -> Source:
    """The repository that holds this path; WorkspaceError says what is wrong with it."""
    if not repository.is_dir():
        raise WorkspaceError(f"{repository} is not a directory; give the path of a git repository")
    top = find_top(repository)
    if top is None:
        raise WorkspaceError(
            f"{repository} is in no git repository; make one with git init, or use --dir"
        )
    common = checked_common(top)
    Git(directory=top).out("rev-parse", "--git-dir")  # whether git itself will work in it
    return Source(common, top)


def checked_common(top: Path) -> Path:
    """Where the repository that begins here keeps what is everybody's, once it may be looked at."""
    common = common_of(top)
    check_common(common)
    check_settings(Git(directory=common, git_dir=common))
    return common


def resolve(source: Source, branch: str | None) -> str:
    """The commit a run begins with."""
    if branch is not None and (branch.startswith("-") or not branch.strip()):
        raise WorkspaceError(f"{branch!r} is no branch, tag or commit")
    head = f"refs/remotes/{source.remote}/HEAD" if source.remote else "HEAD"
    names = [head] if branch is None else [f"refs/heads/{branch}", branch]
    if branch is not None and source.remote:
        names.insert(0, f"refs/remotes/{source.remote}/{branch}")
    for name in names:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        ended = source.git.ask(*words)
        if ended.code == 0:
            return ended.out.decode("ascii").strip()
    if branch is None:
        raise WorkspaceError(f"{source.place} has no commit yet; a workspace begins with one")
    raise WorkspaceError(f"{source.place} has no branch, tag or commit {branch!r}")


def check_directories(source: Source, commit: str, names: tuple[str, ...]) -> None:
    """git takes a directory that is not there without a word, and an agent would find nothing."""
    for name in names:
        if source.git.ask("cat-file", "-t", f"{commit}:{name}").out != b"tree\n":
            raise WorkspaceError(f"the repository has no directory {name!r} for a sparse checkout")


def git_of(record: Record, path: Path) -> Git:
    """By what paddock wrote down, and not by the `.git` in the directory: an agent can write it."""
    git_dir = Path(record.git_dir)
    return guarded(Git(directory=path, git_dir=git_dir, work_tree=path))


def look_into(record: Record, path: Path) -> Git:
    """To look at its files. UnsafePlace where git could be made to wait, or be led elsewhere."""
    check_workspace(record, path)
    return git_of(record, path).bounded()


def look_at(record: Record) -> Git:
    """To look at commits and references: for that nobody needs the directory."""
    check_repository(record)
    git_dir = Path(record.git_dir or record.common)
    return Git(directory=git_dir, git_dir=git_dir).bounded()


# -- under the repository's lock ----------------------------------------------------------------


def add(source: Source, path: Path, *, branch: str | None, commit: str) -> Path:
    """Without its files yet; what git keeps for it. A branch that is there is gone on with."""
    git = Git(directory=source.common, git_dir=source.common)
    if branch is None:
        words: tuple[str | Path, ...] = ("--detach", "--", path, commit)
    elif has_branch(git, branch):
        words = ("--", path, branch)
    else:
        words = ("--no-track", "-b", branch, "--", path, commit)
    try:
        patiently(lambda: git.out("worktree", "add", "--quiet", "--no-checkout", *words))
    except GitFailed as error:
        raise _explained(error, branch or commit) from None
    return admin_of(path)


def has_branch(git: Git, branch: str) -> bool:
    return git.says_yes("show-ref", "--verify", "--quiet", f"refs/heads/{branch}")


def _explained(error: GitFailed, branch: str) -> GitFailed:
    if "cannot lock ref" in error.told and "exists; cannot create" in error.told:
        return GitFailed(
            f"the branch {branch} cannot be made, because another has a part of its name "
            f"({error}); rename that one",
            told=error.told,
        )
    return error


def make_branch(common: Path, branch: str, *, commit: str) -> bool:
    """False if there is one of this name already, or it cannot be made."""
    git = Git(directory=common, git_dir=common)
    zeros = "0" * len(commit)
    return git.ask("update-ref", "-m", _WHY, f"refs/heads/{branch}", commit, zeros).code == 0


def hand_over(git_dir: Path, path: Path, *, branch: str) -> None:
    """A prepared worktree that stands where this branch is gets it: no file is looked at."""
    git = Git(directory=path, git_dir=git_dir, work_tree=path)
    patiently(lambda: git.out("symbolic-ref", "-m", _WHY, "HEAD", f"refs/heads/{branch}"))


def tell_place(git_dir: Path, path: Path) -> None:
    """The worktree was renamed: git must find it again."""
    put_plain(git_dir / "gitdir", os.fsencode(path / ".git") + b"\n")


def registered(common: Path, path: Path) -> Path | None:
    """What git keeps for a worktree there, also where it got no further than that. It calls it by
    the last part of its path, and a number if there is another of that name."""
    wanted = os.fsencode(path / ".git")
    for file in (common / "worktrees").glob(f"{glob.escape(path.name)}*/gitdir"):
        with suppress(OSError, ValueError):  # gone meanwhile, or no plain file: not what git wrote
            if read_plain(file).removesuffix(b"\n") == wanted:
                return file.parent
    return None


def unregister(common: Path, path: Path) -> None:
    """What a git registered whose daemon was killed, of a directory that is not there."""
    check_worktrees(common)
    git = Git(directory=common, git_dir=common)
    patiently(lambda: git.out("worktree", "remove", "--force", "--force", "--", path))


def forget(record: Record, path: Path, *, half_made: bool = False) -> None:
    """What git keeps for this one alone: `prune` would also take those on unplugged disks.

    `half_made`: also where a git that was ended in the middle has it locked.
    """
    git_dir = Path(record.git_dir)
    try:
        known = Path(os.fsdecode(read_plain(git_dir / "gitdir").removesuffix(b"\n"))).parent
    except FileNotFoundError:
        return
    if known != path:
        if known.exists():  # a hand-over was killed in the middle, and it is the other's now
            return
        tell_place(git_dir, path)
    check_worktrees(Path(record.common))
    git = Git(directory=Path(record.common), git_dir=Path(record.common))
    force = ("--force",) * (2 if half_made else 1)
    patiently(lambda: git.out("worktree", "remove", *force, "--", path))


def drop_unused_branch(record: Record) -> None:
    """A run that committed nothing leaves no branch, unless its first commit is only there."""
    if not record.branch:
        return
    git = Git(directory=Path(record.common), git_dir=Path(record.common))
    ref = f"refs/heads/{record.branch}"
    elsewhere = ("--not", f"--exclude={ref}", "--glob=refs/*")
    if not git.out("rev-list", "--max-count=1", record.start, *elsewhere):
        # Refused by git unless it still is where the run began.
        git.ask("update-ref", "-d", ref, record.start)


# -- without it ---------------------------------------------------------------------------------


def fill(
    record: Record, path: Path, *, commit: str = "HEAD", timeout_s: float | None = None
) -> None:
    """Write the files of this commit. Not `reset`: that would leave lines in the log of HEAD."""
    git = _writing(record, path).lasting(timeout_s or CHECKOUT_TIMEOUT_S)
    patiently(lambda: git.out("read-tree", "--reset", "-u", commit))


def move_to(record: Record, path: Path, *, commit: str) -> None:
    """A prepared worktree, to where its branch is now: only what differs is written."""
    git = _writing(record, path).lasting(CHECKOUT_TIMEOUT_S)
    patiently(lambda: git.out("read-tree", "-m", "-u", "HEAD", commit))
    patiently(lambda: git.out("update-ref", "--no-deref", "HEAD", commit))


def narrow(record: Record, path: Path, *, to: tuple[str, ...]) -> None:
    """A sparse checkout; only in clones of ours, because it writes their settings."""
    git = _writing(record, path)
    names = b"".join(os.fsencode(name) + b"\n" for name in to)
    git.out("sparse-checkout", "set", "--cone", "--stdin", given=names)


def _writing(record: Record, path: Path) -> Git:
    return for_files(Git(directory=path, git_dir=Path(record.git_dir), work_tree=path))


# -- what lies in the directory -----------------------------------------------------------------


def admin_of(path: Path) -> Path:
    """Where `.git` says that git keeps what it knows of this worktree; OSError, ValueError."""
    file = path / ".git"
    text = os.fsdecode(read_plain(file)).removesuffix("\n")
    if not text.startswith(_GITDIR):
        raise ValueError(f"{file} is damaged")
    return Path(text.removeprefix(_GITDIR))


def mend(record: Record, path: Path) -> None:
    """`.git` as it was, where an agent removed or changed it; its files are not touched."""
    file = path / ".git"
    if not Path(record.git_dir).is_dir():
        raise WorkspaceError(
            f"the repository no longer knows the workspace {path}; look at it by hand, and move it "
            "away to get a new one"
        )
    try:
        if admin_of(path) == Path(record.git_dir):
            return
    except (OSError, ValueError):
        pass
    if file.is_dir() and not file.is_symlink():
        raise WorkspaceError(f"{file} has become a repository of its own; look at it by hand")
    put_plain(file, os.fsencode(f"{_GITDIR}{record.git_dir}\n"))
