"""Work that an agent had no time to commit: committed for it, beside its own index.

No hook is run, nothing is signed, no name is needed. Index and files stay as they are, so that it
works with an `index.lock` that a killed git left.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .beside import beside_index, take_all
from .commits import PADDOCK_EMAIL
from .errors import GitFailed
from .git import Git, failure
from .records import Record
from .stale_locks import over_stale_locks
from .submodules import changed_in, take_commits
from .worktrees import has_branch, look_into

_WHO: Final = {
    "GIT_AUTHOR_NAME": "paddock",
    "GIT_AUTHOR_EMAIL": PADDOCK_EMAIL,
    "GIT_COMMITTER_NAME": "paddock",
    "GIT_COMMITTER_EMAIL": PADDOCK_EMAIL,
}
_REBASING: Final = ("rebase-merge", "rebase-apply")


@dataclass(frozen=True, slots=True)
class Saved:
    """The commit, on which branch it is, what it holds, and what it could not take."""

    commit: str
    branch: str
    files: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # repositories inside, and files that could not be read


def index_mark(git_dir: Path) -> str:
    """Changes whenever git writes the index."""
    try:
        found = (git_dir / "index").stat()
    except FileNotFoundError:
        return "none"
    return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}"


def save(record: Record, path: Path, *, because: str) -> Saved | None:
    """None if all is committed already."""
    git = look_into(record, path)
    head = git.line("rev-parse", "--verify", "HEAD^{commit}")
    with beside_index(git) as beside:
        staged = _only_staged(record, git, beside)
        left_out = (*take_all(beside), *changed_in(beside, path))
        take_commits(beside, path)
        tree = beside.line("write-tree")
        if staged is None and tree in _known_trees(record, git, head):
            return None
        commit = head
        if staged is not None:
            # As it is in no file any more: without a commit of its own it would be lost.
            text = f"paddock: what was staged\n\n{because}"
            commit = _commit(git, staged, parent=commit, text=text)
        text = f"paddock: work that was not committed\n\n{because}"
        commit = _commit(git, tree, parent=commit, text=text)
        files = beside.out("diff-tree", "-r", "-z", "--name-only", "--no-renames", head, commit)
    branch = _put_on_branch(git, record, commit, head=head)
    names = [name.decode("utf-8", "replace") for name in files.split(b"\0") if name]
    return Saved(commit, branch, tuple(names), left_out)


def _known_trees(record: Record, git: Git, head: str) -> set[str]:
    """Of what is committed, by the agent or by an earlier saving."""
    commits = [head] if record.saved is None else [head, record.saved.commit]
    asked = [git.ask("rev-parse", "--verify", "--quiet", f"{one}^{{tree}}") for one in commits]
    return {ended.out.decode("ascii").strip() for ended in asked if ended.code == 0}


def _only_staged(record: Record, git: Git, beside: Git) -> str | None:
    """The tree of the index, if it holds something that the files do not, and that is not saved."""
    if record.saved is not None and record.saved.index == index_mark(Path(record.git_dir)):
        return None
    # `1 XY …`: X is what was staged, Y what changed since.
    if not any(fields[0] == b"1" and b"." not in fields[1] for fields in _status(git)):
        return None
    ended = beside.ask("write-tree")  # fails where conflicts are not solved: there is no such tree
    return ended.out.decode("ascii").strip() if ended.code == 0 else None


def _status(git: Git) -> list[list[bytes]]:
    """`1 XY SUB MODE MODE MODE HASH HASH NAME`; of a damaged index nothing."""
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=no", "--no-renames")
    ended = git.ask(*words, "--ignore-submodules=dirty")
    entries = ended.out.split(b"\0") if ended.code == 0 else []
    return [entry.split(b" ", 8) for entry in entries if entry]


def _commit(git: Git, tree: str, *, parent: str, text: str) -> str:
    ended = git.ask("commit-tree", tree, "-p", parent, given=f"{text}\n".encode(), more=_WHO)
    if ended.code != 0:
        raise failure(("commit-tree",), ended)
    return ended.out.decode("ascii").strip()


def _put_on_branch(git: Git, record: Record, commit: str, *, head: str) -> str:
    """The run's own, if that loses nothing of it; otherwise one beside it."""
    why = "paddock: work that was not committed"
    tip = f"refs/heads/{record.branch}"
    rebasing = any((Path(record.git_dir) / name).exists() for name in _REBASING)
    if not rebasing and has_branch(git, record.branch):
        old = git.line("rev-parse", "--verify", f"{tip}^{{commit}}")
        if git.says_yes("merge-base", "--is-ancestor", old, head):
            over_stale_locks(record, lambda: git.out("update-ref", "-m", why, tip, commit, old))
            return record.branch
    for number in range(1, 1000):
        branch = f"{record.branch}.saved-{number}"
        if not has_branch(git, branch):
            git.out("update-ref", "-m", why, f"refs/heads/{branch}", commit, "0" * len(commit))
            return branch
    raise GitFailed(f"there are a thousand branches {record.branch}.saved-…; remove some")
