"""The matrix with real agent programs: a stand-in for their model asks for the edits and the tests.

What is measured is the program with all that it starts, and the stand-in, which lives beside it.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from paddock.config.preset import Preset, Task, start_line
from paddock.rehearsal.putting_on import CannotRehearse, Part, put_on
from paddock.rehearsal.script import Run, Script, Scripts, Step, Write
from paddock.rehearsal.summary import played
from paddock.wire.run_request import RunRequest

from .workload import EDIT, MODULES, TASKS, make_repository, module_text, new_test_text
from .works import Scene, Work

PROMPT: Final = "Every module of the shop needs discounts, with tests. Do what you are asked for."
# It has no tools: it takes files from its model's text, and commits them itself.
BY_TEXT: Final = "aider"
# Said each time: Gemini CLI hides the home's git configuration from what it runs.
_COMMIT: Final = "git -c user.name=bench -c user.email=bench@localhost commit"
PROGRAMS: Final = ("claude", "codex", "opencode", "gemini", BY_TEXT)


def rehearsed(agent: str, task: str, presets: Mapping[str, Preset]) -> Work:
    """CannotRehearse where the program is not there, or has no stand-in."""
    find_program(agent, presets)
    one = TASKS[task]

    def scene(directory: Path) -> Scene:
        return _scene(agent, task, presets, directory)

    return Work(
        name=f"{agent}, {task}",
        scene=scene,
        told=f"{agent}, {one.told}",
        expected_mib=one.expected_mib,
    )


def find_program(agent: str, presets: Mapping[str, Preset]) -> None:
    """Looked for before anything is made: what is missing is said first."""
    with TemporaryDirectory(prefix="paddock-bench-look-") as top:
        request = RunRequest(name="--agent", agent=agent, prompt=PROMPT)
        _, parts = put_on(request, presets=presets, scripts=Scripts(Script(())), top=Path(top))
    if not parts:
        raise CannotRehearse(f"{agent} is a command like any other: leave out --rehearse")


def script_of(task: str, *, by_text: bool = False) -> Script:
    """As `workload.work` does it: read, edit, test, commit; at the end everything once."""
    files = TASKS[task].files
    if by_text:
        return Script(tuple(_in_words(files)), "Every module has discounts.")
    return Script(tuple(_with_tools(files)), "Every module has discounts.")


def _with_tools(files: int) -> Iterator[Step]:
    yield Run("ls && git log --oneline | head -5")
    for n in range(files):
        yield Run(f"cat shop/m{n}.py && cat >> shop/m{n}.py <<'EDIT'{EDIT}EDIT")
        yield Write(f"tests/test_discount{n}.py", new_test_text(n))
        tests = _unittest(f"tests.test_m{n}", f"tests.test_discount{n}")
        yield Run(f"{tests} && git add -A && {_COMMIT} -qm 'Discounts in m{n}'")
    yield Run(_unittest(*(f"tests.test_m{n}" for n in range(MODULES))))
    yield Run("git log --stat --oneline")


def _in_words(files: int) -> Iterator[Step]:
    for n in range(files):
        yield Write(f"shop/m{n}.py", module_text(n) + EDIT)
        yield Write(f"tests/test_discount{n}.py", new_test_text(n))


def _unittest(*names: str) -> str:
    return shlex.join([sys.executable, "-B", "-m", "unittest", "-q", *names])


def _scene(agent: str, task: str, presets: Mapping[str, Preset], directory: Path) -> Scene:
    repo = directory / "shop"
    make_repository(repo)
    by_text = _plays(agent, presets) == BY_TEXT
    scripts = Scripts(script_of(task, by_text=by_text))
    request = RunRequest(name="agent", agent=agent, prompt=PROMPT)
    made, (part,) = put_on(request, presets=presets, scripts=scripts, top=directory / "rehearsal")
    assert made.program is not None
    preset = presets[agent]
    line, _ = start_line(preset, Task(prompt=PROMPT))
    return Scene(
        command=line.by(made.program).at(str(uuid.uuid4())),
        directory=repo,
        env={**preset.env, **made.env},
        wrong=lambda: undone(part, repo, TASKS[task].files),
    )


def _plays(agent: str, presets: Mapping[str, Preset]) -> str:
    return Path(presets[agent].start[0]).name


def undone(part: Part, repo: Path, files: int) -> str:
    """A program that only ended well has not shown what it needs: the work must be there."""
    found = played(part.script, part.ledger)
    if not found.whole:
        return f"did not play its script to its end: {found}"
    edited = sum("def discounted" in path.read_text("utf-8") for path in repo.glob("shop/m*.py"))
    if edited != files:
        return f"edited {edited} of {files} files"
    words = ["git", "status", "--porcelain", "--", "shop", "tests"]
    left = subprocess.run(words, cwd=repo, capture_output=True, text=True, check=False)
    if left.returncode or left.stdout:
        return "did not commit all of its work"
    return ""
