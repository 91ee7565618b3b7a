"""Repositories for tests, load scenarios and benchmarks, made by git fast-import and not stored.

    python -m tests.kit.repositories large DIR --size 1G       one tree of this size
    python -m tests.kit.repositories verbose DIR               agents that write a lot, as scripts
    python -m tests.kit.repositories monorepo DIR --size 2G    many projects, for sparse checkouts

The same kind and size always give the same commits.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from paddock.core.units import format_size, parse_size

PROJECTS = 40
FILE_BYTES = 100_000
HISTORY = 5
# Most of a source tree is text that packs well; a tenth is not.
_WORDS = [f"word{number}" for number in range(2000)]
_CHATTER = """\
#!/bin/sh
# {name}: writes {kb} KB a second for {seconds} s, and commits now and then.
second=0
while [ $second -lt {seconds} ]; do
  head -c {bytes} /dev/zero | tr '\\0' x | fold -w 120
  second=$((second + 1))
  sleep 1
done
"""


def git(directory: Path, *words: str, given: bytes = b"", check: bool = True) -> str:
    """git as a user or an agent would call it: no care is taken."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=directory,
        env=_environment(),
        input=given,
        capture_output=True,
        check=False,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"git {' '.join(words)}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def _environment() -> dict[str, str]:
    """No settings of whoever runs the tests, and always the same author and time."""
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": "/nonexistent"}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "Test", f"GIT_{who}_EMAIL": "test@localhost"}
    return env


def a_repository(directory: Path, files: dict[str, str] | None = None) -> Path:
    """Small, on the branch main, with one commit."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "--quiet", "--initial-branch=main")
    write(directory, files or {"readme.txt": "one\n", "src/code.py": "print(1)\n"})
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message=first")
    return directory


def write(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def commit(directory: Path, message: str, files: dict[str, str] | None = None) -> str:
    write(directory, files or {f"{message}.txt": f"{message}\n"})
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", f"--message={message}")
    return git(directory, "rev-parse", "HEAD")


def tip(directory: Path, ref: str = "HEAD") -> str:
    return git(directory, "rev-parse", "--verify", ref)


# -- large ones -----------------------------------------------------------------------------


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
    git(directory, "init", "--quiet", "--initial-branch=main")
    stream = subprocess.Popen(
        ["git", "fast-import", "--quiet"],
        cwd=directory,
        env=_environment(),
        stdin=subprocess.PIPE,
    )
    assert stream.stdin is not None
    with stream.stdin as pipe:
        for piece in _stream(names, scripts or {}):
            pipe.write(piece)
    assert stream.wait() == 0, "git fast-import failed"
    if checkout:
        git(directory, "reset", "--quiet", "--hard")
    return directory


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


KINDS = {"large": large, "verbose": verbose, "monorepo": monorepo}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.kit.repositories",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--size", type=parse_size, default=parse_size("1G"))
    parser.add_argument("--no-checkout", action="store_true", help="only .git, without files")
    asked = parser.parse_args(argv)
    if asked.directory.exists() and any(asked.directory.iterdir()):
        parser.error(f"{asked.directory} is not empty")
    size = 0 if asked.kind == "verbose" else asked.size
    KINDS[asked.kind](asked.directory, size, checkout=not asked.no_checkout)
    shown = f" of {format_size(size)}" if size else ""
    sys.stderr.write(f"a {asked.kind} repository{shown} is in {asked.directory}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
