"""Presets: those that ship, a user's own, and what is refused with its line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from paddock.config.layers import settings_of
from paddock.config.mistakes import ConfigError
from paddock.config.patterns import BadPattern, compiled
from paddock.config.preset import Preset, Task, Unfit, how_to_get, resume_line, start_line
from paddock.config.preset_kinds import PRESET_KINDS
from paddock.config.preset_reading import built_in
from tests.architecture.source import PROJECT

NAMES = ("claude", "codex", "gemini", "opencode", "aider", "plain")
PROMPT = "- say {session} and {again}"


def presets(path: Path, text: str, *, project: str = "") -> dict[str, Preset]:
    files = {"user": path / "user.yaml"}
    files["user"].write_text(text, encoding="utf-8")
    if project:
        files["project"] = path / "project.yaml"
        files["project"].write_text(project, encoding="utf-8")
    return dict(settings_of(files).presets)


def mistakes(path: Path, text: str, *, project: str = "") -> list[str]:
    with pytest.raises(ConfigError) as error:
        presets(path, text, project=project)
    return [line.replace(f"{path}/", "") for line in error.value.lines()]


# -- those that ship ----------------------------------------------------------------------------


def test_six_ship() -> None:
    assert tuple(built_in()) == NAMES
    assert all(each.source == "built in" and each.about for each in built_in().values())


def test_how_to_get_it_belongs_to_the_program(tmp_path: Path) -> None:
    text = """agents:
  careful: {like: claude}
  far: {start: [/opt/claude, "{prompt}"]}
  other: {like: claude, start: [other, "{session}", "{model}", "{prompt}"]}
  own: {like: other, install: make other}
  silent: {like: claude, install: null}
"""
    found = presets(tmp_path, text)
    claude = "npm install -g @anthropic-ai/claude-code"
    hints = {name: found[name].install for name in ("careful", "far", "other", "own", "silent")}
    said = {"careful": claude, "far": claude, "other": "", "own": "make other", "silent": ""}
    assert hints == said
    assert how_to_get(found["other"]) == "other is not installed here"
    assert all(each.install for each in built_in().values() if each.program)


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_is_one_word_whatever_it_says(name: str) -> None:
    task = Task(prompt=PROMPT, model="m", arguments=("./agent", "-x"))
    line, by_stdin = start_line(built_in()[name], task)
    words = line.at("SESSION")
    assert not by_stdin
    assert [word for word in words if PROMPT in word] == [words[-1]]
    # Where it could be taken for an option, something in front of it says that it is none.
    assert words[-2] == "--" or words[-1].startswith("--") or name == "plain"
    assert words.index("./agent") + 1 == words.index("-x") < len(words) - 1
    again = resume_line(built_in()[name], task)
    if again is not None:
        assert sum("SESSION" in word for word in again.at("SESSION")) == 1
        assert again.at("SESSION")[0] == words[0] and again.at("SESSION")[-2:] != words[-2:]
    if name != "plain":
        assert words[words.index("m") - 1] == "--model"


def test_a_prompt_that_is_no_argument_comes_as_stdin() -> None:
    long = Task(prompt="x" * 131_072, arguments=("a",))
    ends = {}
    for name in NAMES[:-1]:
        line, by_stdin = start_line(built_in()[name], long)
        assert by_stdin and all(len(word) < 200 for word in line.words)
        ends[name] = line.words[-1]
    assert ends["codex"] == "-" and ends["aider"] == "--message-file=/dev/stdin"
    with pytest.raises(Unfit, match="131,072 bytes, and plain takes one of 131,071 at most"):
        start_line(built_in()["plain"], long)
    with pytest.raises(Unfit, match="needs a program"):
        start_line(built_in()["plain"], Task(prompt=""))


def test_every_key_is_documented() -> None:
    page = (PROJECT / "docs/reference/presets.md").read_text(encoding="utf-8")
    assert [key for key in ("like", *PRESET_KINDS) if f"| `{key}` |" not in page] == []
    assert [name for name in NAMES if f"| `{name}` |" not in page] == []


# -- one's own ----------------------------------------------------------------------------------


def test_one_begins_with_another_and_changes_a_few_keys(tmp_path: Path) -> None:
    text = """\
agents:
  mine: {like: theirs, env: {A: 1}, again: go on}
  theirs: {like: codex, memory: 1G}
  claude: {memory: 6G, later: null, stdin: null}
  new:
    start: [new, "{prompt}"]
"""
    found = presets(tmp_path, text)
    assert set(found) == {*NAMES, "mine", "theirs", "new"}
    mine, ships = found["mine"], built_in()
    assert (mine.name, mine.start, mine.env, mine.again) == (
        *("mine", ships["codex"].start, {"A": "1"}, "go on"),
    )
    assert mine.memory_bytes == 1 << 30 and mine.source.endswith("user.yaml:2")
    assert found["claude"].start == ships["claude"].start
    assert (found["claude"].memory_bytes, found["claude"].later) == (6 << 30, ())
    assert found["claude"].stdin is None and ships["claude"].stdin == ""
    assert resume_line(found["new"], Task(prompt="x")) is None


def test_a_project_may_only_say_how_much_memory(tmp_path: Path) -> None:
    found = presets(
        tmp_path, "agents: {claude: {env: {A: b}}}", project="agents: {claude: {memory: 1G}}"
    )
    assert (found["claude"].memory_bytes, found["claude"].env) == (1 << 30, {"A": "b"})
    project = """\
agents:
  claude: {env: {PATH: /tmp}, memory: 1G}
  mine: {like: claude}
  codxe: {memory: 1G}
"""
    said = mistakes(tmp_path, "", project=project)
    assert [line.partition(";")[0] for line in said] == [
        "project.yaml:2: agents.claude.env: found it in a project's file",
        "project.yaml:3: agents.mine.like: found it in a project's file",
        "project.yaml:4: agents.codxe: found the unknown preset 'codxe'",
    ]
    assert said[2].endswith("did you mean codex?")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("5", "agents.a: found 5; allowed: a table of keys, as in {like: claude, memory: 6G}"),
        ("{}", "agents.a.start: found nothing; allowed: a list of the program"),
        ("{start: [x]}", "agents.a.start: found no {prompt} in it"),
        ("{start: x}", "agents.a.start: found 'x'; allowed: a list"),
        ("{start: [x, '{promt}']}", "found the unknown {promt}; did you mean prompt?"),
        ("{start: [x, '{prompt}', '-m{model}']}", "allowed: {model} as a word of its own"),
        ("{start: [x, '{prompt}', '{model}']}", "found {model}, and no words for it"),
        ("{start: [x, '{prompt}'], model: [-m]}", "a list of words that says the model"),
        ("{start: [x, '{prompt}'], model: [-m, '{model}']}", "found no {model} in start"),
        ("{start: [x, '{session}', '{prompt}']}", "found {session}, which nobody knows yet"),
        ("{start: [x, '{session}{prompt}']}", "{session} and the prompt in words of their own"),
        ("{start: [x, '{prompt}'], resume: [x, '{session}']}", "{session}, which nobody knows"),
        ("{like: claude, session: 'id (.*)'}", "a pattern without (?P<session>…)"),
        ("{like: clade}", "agents.a.like: found the unknown preset 'clade'; allowed: "),
        ("{like: a}", "agents.a.like: found a circle by way of 'a'"),
        ("{like: claude, memry: 1G}", "agents.a.memry: found an unknown key"),
        ("{like: claude, memory: 1}", "agents.a.memory: found 1 bytes; allowed: a size"),
        ("{like: claude, env: {PADDOCK_X: hunter2}}", "PADDOCK_ is paddock's own"),
        ("{like: claude, later: [{pattern: '(a'}]}", "found '(a' (missing ): (a)"),
        ("{like: claude, later: [{pattern: '(?=a)'}]}", "no lookahead"),
        ("{like: claude, later: [{pattern: '(?P<when>a)'}]}", "the groups when; allowed"),
        ("{like: claude, later: [{exit: [0]}]}", "found 0; allowed: a list of exit codes"),
        ("{like: claude, later: [{}]}", "found a sign without a pattern or a code"),
        ("{like: claude, lost: [{patern: a}]}", "did you mean pattern?"),
    ],
)  # fmt: skip
def test_a_broken_one_is_refused_with_line_key_and_reason(
    tmp_path: Path, body: str, said: str
) -> None:
    (line,) = mistakes(tmp_path, f"agents:\n  a: {body}\n")
    assert line.startswith("user.yaml:2: agents.a") and said in line
    assert "hunter2" not in line


def test_every_mistake_is_told_at_once_and_circles_end(tmp_path: Path) -> None:
    text = """\
agents:
  a: {like: b}
  b: {like: c}
  c: {like: a}
  "1": {like: claude}
  d: {like: claude, memory: x, later: [{pattern: '['}]}
"""
    said = mistakes(tmp_path, text)
    assert [line.split(": ")[0] for line in said][:1] == ["user.yaml:4"]
    assert "a circle by way of 'a'" in said[0]
    assert [line.split(" found")[0] for line in said[1:]] == [
        "user.yaml:5: agents.1:",
        "user.yaml:6: agents.d.memory:",
        "user.yaml:6: agents.d.later:",
    ]


# -- patterns -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["(a+)+$", "(a|aa)+$", "(.*a){20}b", "^(a*)*b"])
def test_no_pattern_holds_the_interpreter(text: str) -> None:
    began = time.process_time()
    assert compiled(text).search("a" * 8192 + "!") is None
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize("text", [r"(a)\1", "a{1,1000}{1,1000}", "x" * 501, "(?<=a)b", "*"])
def test_what_could_is_refused(text: str) -> None:
    with pytest.raises(BadPattern):
        compiled(text)
