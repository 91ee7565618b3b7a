"""The other side of an address: whether it has what a run asks for, before the run is taken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from .errors import GitFailed, NotThere
from .git import Git
from .secrets import parted, without_secrets

ASK_S: Final = 5.0  # people wait for it; REPO-4 would allow more
_NAME: Final = "asked"  # a remote of this one command, so that its address is in no argument
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_REVISION: Final = re.compile(r"[~^:@{?*\[\\\s]")  # what no branch has in its name
# What a server says that is there. All else may be a cable.
_NO_LOGIN: Final = ("could not read Username", "Authentication failed", "Permission denied (public")
_NO_REPOSITORY: Final = re.compile(
    r"repository '[^'\n]*' not found|does not appear to be a git repository|no such repository",
    re.IGNORECASE,
)


def check(address: str, branch: str | None) -> None:
    """NotThere says what is wrong. GitFailed: it could not be asked, and that may pass."""
    place = parted(address)
    shown = without_secrets(place.url)
    settings = {**place.headers, f"remote.{_NAME}.url": place.url}
    git = Git(directory=Path("/"), timeout_s=ASK_S).with_settings(settings).going_out()
    names = _names(branch)
    words = ("ls-remote", "--quiet", "--end-of-options", _NAME, "HEAD", *names)
    try:
        lines = git.out(*words).decode("utf-8", "replace").splitlines()
    except GitFailed as error:
        raise definite(error, shown) or error from None
    found = {line.partition("\t")[2] for line in lines}
    if "HEAD" not in found:
        raise NotThere(f"{shown} has no commit yet; a workspace begins with one")
    if names and not found.intersection(names):
        raise NotThere(f"{shown} has no branch or tag {branch!r}")


def _names(branch: str | None) -> tuple[str, ...]:
    """What git would take it for. None: a commit may be there without a name."""
    if branch is None or _COMMIT.fullmatch(branch) or _REVISION.search(branch):
        return ()
    plain = branch.removeprefix("origin/")
    return (
        f"refs/heads/{branch}",
        f"refs/tags/{branch}",
        f"refs/heads/{plain}",
        f"refs/{branch}",
        branch,
    )


def definite(error: GitFailed, shown: str) -> NotThere | None:
    """An answer of the other side, and no trouble on the way to it."""
    if any(words in error.told for words in _NO_LOGIN):
        return NotThere(
            f"{shown} wants a login, and paddock asks nobody; set up a credential helper or an ssh "
            "key for it"
        )
    if _NO_REPOSITORY.search(error.told):
        return NotThere(f"{shown} is no git repository, or not for you: {error}")
    return None
