"""Repositories of any size for measurements, made by git fast-import in seconds and not stored.

The same kind and size always give the same commits.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

PROJECTS: Final = 40
FILE_BYTES: Final = 100_000
HISTORY: Final = 5
# Most of a source tree is text that packs well; a tenth is not.
_WORDS: Final = [f"word{number}" for number in range(2000)]
_CHATTER: Final = """\
#!/bin/sh
# {name}: writes {kb} KB a second for {seconds} s, and commits now and then.
second=0
while [ $second -lt {seconds} ]; do
  head -c {bytes} /dev/zero | tr '\\0' x | fold -w 120
  second=$((second + 1))
  sleep 1
done
"""


class NotMade(Exception):
    """git could not make it; says what git said."""


def environment() -> dict[str, str]:
    """No settings of whoever calls, and always the same author."""
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": "/nonexistent"}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "Test", f"GIT_{who}_EMAIL": "test@localhost"}
    return env


def large(directory: Path, size_bytes: int, *, checkout: bool = True) -> Path:
    """One tree of this size in files of 100 kB, and a few commits on top of it."""
    count = max(1, size_bytes // FILE_BYTES)
    names = [f"src/part{number // 100:04}/file{number:06}.txt" for number in range(count)]
    return _imported(directory, names, checkout=checkout)


def monorepo(directory: Path, size_bytes: int, *, checkout: bool = True) -> Path:
    """Forty projects beside each other; nobody needs more than one or two of them."""
    count = max(PROJECTS, size_bytes // FILE_BYTES)
    names = [
        f"projects/project{number % PROJECTS:02}/src/module{number // PROJECTS // 50:03}/"
        f"file{number // PROJECTS:05}.txt"
        for number in range(count)
    ]
    return _imported(directory, [*names, "tools/build.txt", "readme.txt"], checkout=checkout)


def verbose(directory: Path, size_bytes: int = 0, *, checkout: bool = True) -> Path:
    """Ten agents that write more than 1 MB a minute, each a script in `agents/`."""
    scripts = {
        f"agents/chatter{number}.sh": _CHATTER.format(
            name=f"chatter {number}", kb=20 * number, seconds=60, bytes=20_000 * number
        ).encode()
        for number in range(1, 11)
    }
    names = [f"src/file{number:06}.txt" for number in range(max(10, size_bytes // FILE_BYTES))]
    return _imported(directory, names, checkout=checkout, scripts=scripts)


def _imported(
    directory: Path,
    names: Sequence[str],
    *,
    checkout: bool,
    scripts: dict[str, bytes] | None = None,
) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    _git(directory, "init", "--quiet", "--initial-branch=main")
    stream = subprocess.Popen(
        ["git", "fast-import", "--quiet"], cwd=directory, env=environment(), stdin=subprocess.PIPE
    )
    assert stream.stdin is not None
    with stream.stdin as pipe:
        for piece in _stream(names, scripts or {}):
            pipe.write(piece)
    if stream.wait() != 0:
        raise NotMade(f"git fast-import ended with {stream.returncode} in {directory}")
    if checkout:
        _git(directory, "reset", "--quiet", "--hard")
    return directory


def _git(directory: Path, *words: str) -> None:
    done = subprocess.run(
        ["git", *words], cwd=directory, env=environment(), capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise NotMade(f"git {words[0]} in {directory}: {said[-300:]}")


def _stream(names: Sequence[str], scripts: dict[str, bytes]) -> Iterator[bytes]:
    chance = random.Random(1)
    text = " ".join(chance.choices(_WORDS, k=FILE_BYTES // 5)).encode()
    noise = chance.randbytes(FILE_BYTES)
    yield from _commit_head(1, "everything")
    for number, name in enumerate(names):
        # Each differs at its beginning, so that git stores every one of them.
        body = noise if number % 10 == 9 else text
        start = b"%d\n" % number
        yield _file(name, "100644", start + body[: FILE_BYTES - len(start)])
    for name, script in scripts.items():
        yield _file(name, "100755", script)
    for number in range(2, HISTORY + 1):
        yield from _commit_head(number, f"change {number}")
        yield _file(names[number % len(names)], "100644", b"change %d\n" % number + text)


def _commit_head(number: int, message: str) -> Iterator[bytes]:
    yield b"commit refs/heads/main\nmark :%d\n" % number
    yield b"committer Test <test@localhost> %d +0000\n" % (1_700_000_000 + number)
    yield b"data %d\n%s\n" % (len(message), message.encode())
    if number > 1:
        yield b"from :%d\n" % (number - 1)


def _file(name: str, mode: str, data: bytes) -> bytes:
    return b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), name.encode(), len(data), data)
