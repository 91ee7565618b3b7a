"""A git that comes to one of its commands and stays there, with a child: until somebody ends it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit import leaks
from tests.kit.waiting import until

# Counted: the command at which it stays may come more than once.
_SCRIPT = """\
#!/bin/sh
wanted=0
for word; do
  case $word in {word}) wanted=1; break;; esac
done
if [ $wanted = 1 ] && mkdir {here}/$$ && [ $(ls {here} | wc -l) -gt {passed} ]; then
  {first}
  sleep 300 &
  echo $! > {here}/$$/child
  wait
  exit 1
fi
exec {git} "$@"
"""


class SlowGit:
    """`passed`: so many of these commands are as quick as ever."""

    def __init__(self, directory: Path, *, word: str, passed: int = 0, deaf: bool = False) -> None:
        self.path, self._here = directory / "bin", directory / "stays"
        self.path.mkdir(parents=True)
        self._here.mkdir()
        first = "trap '' TERM" if deaf else ""
        script = _SCRIPT.format(
            word=word, here=self._here, passed=passed, first=first, git=shutil.which("git")
        )
        (self.path / "git").write_text(script, encoding="ascii")
        (self.path / "git").chmod(0o755)

    @property
    def staying(self) -> list[int]:
        """Those that stay now, and their children."""
        files = self._here.glob("*/child")
        found = [int(text) for file in files if (text := file.read_text(encoding="ascii").strip())]
        found += [int(path.parent.name) for path in self._here.glob("*/child")]
        return [pid for pid in found if leaks.is_alive(pid)]

    @property
    def ended(self) -> bool:
        return bool(list(self._here.glob("*/child"))) and not self.staying

    def wait(self, count: int = 1) -> None:
        until(lambda: len(self.staying) == 2 * count)

    @contextmanager
    def used(self) -> Iterator[SlowGit]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", f"{self.path}:{os.environ['PATH']}")
            yield self
