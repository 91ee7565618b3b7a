"""Repositories for tests, load scenarios and benchmarks, made by git fast-import and not stored.

    python -m tests.kit.repositories large DIR --size 1G       one tree of this size
    python -m tests.kit.repositories verbose DIR               agents that write a lot, as scripts
    python -m tests.kit.repositories monorepo DIR --size 2G    many projects, for sparse checkouts

The same kind and size always give the same commits.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from paddock.bench.repositories import environment, large, monorepo, verbose
from paddock.core.units import format_size, parse_size


def git(directory: Path, *words: str, given: bytes = b"", check: bool = True) -> str:
    """git as a user or an agent would call it: no care is taken."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=directory,
        env=environment(),
        input=given,
        capture_output=True,
        check=False,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"git {' '.join(words)}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout.decode("utf-8", "surrogateescape").strip()


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


__all__ = ["a_repository", "commit", "git", "large", "monorepo", "tip", "verbose", "write"]

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
