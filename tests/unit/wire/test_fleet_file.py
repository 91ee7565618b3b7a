"""Fleet files: what is read, and every mistake with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.core.units import GIB, MIB
from paddock.wire.fleet_file import FleetFile, FleetFileError, parse_fleet, parse_fleet_text
from paddock.wire.run_request import RunRequest

PROJECT = Path(__file__).parents[3]
HOME = Path("/work/shop")


def parse(text: str) -> FleetFile:
    return parse_fleet_text(text, file="f.yaml", directory=HOME)


def runs(*lines: str, before: str = "") -> FleetFile:
    return parse(f"{before}\nruns:\n" + "".join(f"  - {line}\n" for line in lines))


def run(line: str, *, defaults: str = "{}") -> RunRequest:
    (found,) = runs(line, before=f"defaults: {defaults}").runs
    return found


def complaints(text: str) -> list[str]:
    with pytest.raises(FleetFileError) as caught:
        parse(text)
    return list(caught.value.lines())


def complaint(line: str) -> str:
    (found,) = complaints(f"runs:\n  - {line}\n")
    return found


def test_the_example_is_the_documented_one_and_is_read_in_full() -> None:
    fleet = parse_fleet(PROJECT / "examples/fleet.yaml")
    assert fleet.name == "payments-refactor"
    implement, review, test = fleet.runs
    assert (implement.priority, implement.role) == ("high", "implementation")
    assert (implement.memory_bytes, implement.timeout_s) == (256 * MIB, 600.0)
    assert (review.memory_bytes, review.needs) == (128 * MIB, ("implement",))
    assert (test.env, test.retries) == ({"CI": "1"}, 1)
    (beat,) = fleet.heartbeats
    assert (beat.every_s, beat.run.name, beat.run.priority) == (2.0, "health", "low")
    assert str(fleet.places["review"]).endswith("fleet.yaml:11")
    text = (PROJECT / "examples/fleet.yaml").read_text(encoding="utf-8")
    page = (PROJECT / "docs/reference/fleet-file.md").read_text(encoding="utf-8")
    assert text[text.index("\nfleet: ") :] in page


def test_the_example_runs_on_any_machine_that_has_sh() -> None:
    fleet = parse_fleet(PROJECT / "examples/fleet.yaml")
    for run in (*fleet.runs, *(beat.run for beat in fleet.heartbeats)):
        assert run.command[0] == "sh"
        assert run.memory_bytes is not None and run.memory_bytes <= 256 * MIB


def test_a_list_instead_of_a_fleet_is_answered_in_terms_of_fleets() -> None:
    (said,) = complaints("- {name: a, command: [x]}\n")
    assert said.endswith("allowed: a table of keys and values, as in `runs:`")


def test_every_option_has_its_key() -> None:
    found = run(
        "{name: a, command: [x], priority: low, memory: 4G, memory_high: 60%, cpu: 1.5, pids: 99,"
        " timeout: 2h, soft_timeout: 1h, complexity: complex, repo: 'https://h/x.git', branch: b,"
        " shallow: true, sparse: [src/web, docs/], submodules: true, any_size: true,"
        " ready_marker: ok, role: quality, model: m, group: g, retries: 2, env: {CI: 1, NO: no},"
        " on_end: 'notify-send done', driver: local, performance_profile: high, strict: true}"
    )
    assert found == RunRequest(
        name="a",
        command=("x",),
        priority="low",
        memory_bytes=4 * GIB,
        memory_high_percent=60.0,
        cpu=1.5,
        pids=99,
        timeout_s=7200.0,
        soft_timeout_s=3600.0,
        complexity="complex",
        repo="https://h/x.git",
        branch="b",
        shallow=True,
        sparse=("src/web", "docs"),
        submodules=True,
        any_size=True,
        ready_marker="ok",
        role="quality",
        model="m",
        group="g",
        retries=2,
        env={"CI": "1", "NO": "no"},
        on_end="notify-send done",
        driver="local",
        performance_profile="high",
        strict=True,
    )


def test_no_bound_is_a_word_and_a_high_mark_can_be_a_size() -> None:
    found = run("{name: a, command: [x], timeout: none, cpu: unlimited, memory_high: 1G}")
    assert (found.timeout_s, found.cpu, found.memory_high_bytes) == ("none", "unlimited", GIB)


def test_words_of_a_command_are_text_whatever_they_look_like() -> None:
    assert run("{name: a, command: [sleep, 5, true, 0755, ~, '']}").command == (
        *("sleep", "5", "true", "0755", "~", ""),
    )


def test_a_run_wins_over_the_defaults_and_variables_are_joined() -> None:
    defaults = "{memory: 2G, agent: claude, prompt: p, repo: ., branch: main, env: {A: 1, B: 2}}"
    found = run("{name: a, command: [x], memory: 1G, dir: /srv, env: {B: 3}}", defaults=defaults)
    assert (found.agent, found.prompt, found.command) == (None, None, ("x",))
    assert (found.dir, found.repo, found.branch) == ("/srv", None, None)
    assert (found.memory_bytes, found.env) == (GIB, {"A": "1", "B": "3"})
    assert run("{name: a, prompt: other}", defaults=defaults).agent == "claude"
    assert run("{name: a, prompt: other}", defaults="{command: [x], agent: codex}").command == ()


def test_paths_are_relative_to_the_file_and_urls_stay() -> None:
    assert run("{name: a, command: [x], repo: .}").repo == "/work/shop"
    assert run("{name: a, command: [x], dir: sub/x}").dir == "/work/shop/sub/x"
    assert run("{name: a, command: [x], repo: 'git@h:o/x.git'}").repo == "git@h:o/x.git"
    assert run("{name: a, command: [x], repo: 'host:x'}").repo == "host:x"
    assert run("{name: a, command: [x], repo: './a:b'}").repo == "/work/shop/a:b"


def test_what_is_about_the_repository_of_the_defaults_is_left_to_it() -> None:
    defaults = "{repo: ., branch: main, shallow: true, sparse: [src], ready_marker: ok}"

    def found(keys: str) -> RunRequest:
        return run(f"{{name: a, command: [x]{keys}}}", defaults=defaults)

    usual = found("")
    assert (usual.branch, usual.shallow, usual.sparse) == ("main", True, ("src",))
    other = found(", repo: ../other")
    assert (other.branch, other.shallow, other.sparse) == (None, False, ())
    assert other.ready_marker == "ok"
    plain = found(", dir: .")
    assert (plain.repo, plain.branch, plain.ready_marker) == (None, None, None)
    assert "~ of a user who exists" in complaint("{name: a, command: [x], dir: ~nobody-here/x}")


@pytest.mark.parametrize(
    ("line", "group"),
    [
        ("{name: a, agent: claude, prompt: p, repo: ., role: review}", "claude/shop/review"),
        ("{name: a, command: [/usr/bin/pytest, -q], repo: ..}", "pytest/work"),
        ("{name: a, command: [x], repo: 'git@host:owner/api.git'}", "x/api"),
        ("{name: a, command: [x], dir: /srv/data}", "x"),
        ("{name: a, steps: [{name: s, command: [make]}], role: testing}", "make/testing"),
        ("{name: a, command: [x], group: mine}", "mine"),
        ("{name: a, command: [/]}", "a"),
    ],
)
def test_a_group_is_agent_repository_and_role(line: str, group: str) -> None:
    assert run(line).group_in("") == group


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{name: a/b, command: [x]}", "f.yaml:2: runs[0].name: found 'a/b'; allowed: letters"),
        ("{name: .., command: [x]}", "found '..'"),
        ("{name: a..b, command: [x]}", "found 'a..b'"),
        ('{name: "a\\nb", command: [x]}', "found 'a\\nb'"),
        ('{name: "", command: [x]}', "found ''"),
        ("{name: [a], command: [x]}", "found a list of 1"),
        ("{command: [x]}", "runs[0].name: found nothing; allowed: letters"),
        ("{name: a}", "runs.a: found nothing to run; allowed: exactly one of command, agent with"),
        ("{name: a, agent: claude}", "runs.a: found an agent without a prompt"),
        ("{name: a, prompt: p}", "runs.a: found a prompt without an agent"),
        (
            "{name: a, agent: plain, prompt: p, command: [x]}",
            "runs.a: found command and agent; allowed: exactly one of command, agent with prompt, "
            "and steps; the program of `agent: plain` goes into arguments",
        ),
        ("{name: a, agent: claude, prompt: p, command: [x]}", "runs.a: found command and agent;"),
        (
            "{name: a, prompt: p, command: [x]}",
            "runs.a: found command and a prompt; allowed: exactly",
        ),
        (
            "{name: a, command: pytest -q}",
            "runs.a.command: found the text 'pytest -q'; allowed: a list",
        ),
        ("{name: a, command: []}", "runs.a.command: found an empty list"),
        ("{name: a, command: ['', x]}", "found an empty program"),
        ('{name: a, command: ["x\\0y"]}', "in it; allowed"),
        ("{name: a, command: [x, [y]]}", "found a list of 1 in it"),
        ("{name: a, command: [x], memory: -1G}", "runs.a.memory: found '-1G'"),
        ("{name: a, command: [x], memory: true}", "found true (yes or no); allowed: a size"),
        ("{name: a, command: [x], cpu: .nan}", "found .nan; allowed: unlimited, or a number"),
        ("{name: a, command: [x], cpu: .inf}", "found .inf"),
        ("{name: a, command: [x], retries: 007}", "found 007, a number with a zero in front"),
        ("{name: a, command: [x], retries: yes}", "found 'yes'; allowed: a whole number"),
        ("{name: a, command: [x], timeout: 1:30}", "found '1:30'; allowed: none, or a time"),
        (
            "{name: a, command: [x], timeout: 1m, soft_timeout: 1m}",
            "allowed: less than its timeout",
        ),
        ("{name: a, command: [x], memory: 1G, memory_high: 1G}", "allowed: a share, or less than"),
        ("{name: a, command: [x], dir: a, repo: b}", "found dir and repo; allowed: dir (as it is)"),
        ("{name: a, command: [x], branch: b}", "a.branch: found no repo beside it"),
        ("{name: a, command: [x], ready_marker: b}", "allowed: only together with repo"),
        ("{name: a, command: [x], repo: b, sparse: []}", "sparse: found"),
        ("{name: a, command: [x], repo: b, sparse: [../x]}", "a list of 1 to 1000 directories"),
        ("{name: a, command: [x], repo: b, sparse: src}", "a list of 1 to 1000 directories"),
        ("{name: a, command: [x], repo: b, shallow: often}", "shallow: found 'often'"),
        ("{name: a, command: [x], priority: urgent}", "allowed: critical, high, normal or low"),
        ("{name: a, command: [x], driver: locl}", "did you mean local?"),
        ("{name: a, comand: [x]}", "runs.a.comand: found an unknown key; did you mean command?"),
        ("{name: a, command: [x], stdin: true}", "runs.a.stdin: found an unknown key"),
        ("{name: a, command: [x], env: {PADDOCK_RUN: 1}}", "PADDOCK_ is paddock's own"),
        ("{name: a, command: [x], env: {'A=B': 1}}", "found the variable 'A=B'"),
        ("{name: a, command: [x], role: 'a\\b'}", "runs.a.role: found"),
        ("{name: a, command: [x], needs: a}", "found 'a'; allowed: a list of names"),
        ("{name: a, command: [x], needs: [a]}", "found a circle: a needs a"),
        ("{name: a, steps: []}", "runs.a.steps: found an empty list"),
        ("{name: a, steps: [{name: s}]}", "found a step without a name, or without a command"),
        ("{name: a, steps: [{name: s, comand: [x]}]}", "did you mean command?"),
        ("5", "runs[0]: found 5; allowed: a table"),
    ],
)
def test_a_mistake_in_a_run_is_one_line(line: str, said: str) -> None:
    assert said in complaint(line)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f.yaml:1: runs: found nothing; allowed: a list of 1 to 10,000 tables"),
        ("runs: []", "f.yaml:1: runs: found an empty list"),
        ("runs: 5", "f.yaml:1: runs: found 5"),
        ("fleet: a/b\nruns: [{name: a, command: [x]}]", "f.yaml:1: fleet: found 'a/b'"),
        ("defaults: {name: x}\nruns: [{name: a, command: [x]}]", "defaults.name: found an unknown"),
        ("run: 5\nruns: [{name: a, command: [x]}]", "f.yaml:1: run: found an unknown key"),
        ("heartbeats: [{name: h, command: [x]}]", "heartbeats.h.every: found nothing; allowed: a"),
        ("heartbeats: [{name: h, every: 1ms, command: [x]}]", "heartbeats.h.every: found '1ms'"),
        ("heartbeats: [{name: h, every: 5s, command: [x], needs: [a]}]", "needs: found an unknown"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(text: str, said: str) -> None:
    (line,) = complaints(text)
    assert said in line


def test_an_unknown_need_is_told_also_beside_a_run_without_a_name() -> None:
    lines = complaints(
        "runs:\n"
        "  - {name: one, command: [x], needs: [two, thre]}\n"
        "  - {nam: two, command: [x]}\n"
        "  - {name: ../x, command: [x]}\n"
    )
    assert [line.partition(": found")[0] for line in lines] == [
        "f.yaml:2: runs.one.needs",
        "f.yaml:3: runs[1].nam",
        "f.yaml:4: runs[2].name",
    ]
    assert "the unknown run 'thre'" in lines[0]  # and `two` may be the one with the mistyped key


def test_needs_are_known_and_end_somewhere() -> None:
    lines = complaints(
        "runs:\n"
        "  - {name: implement, command: [x], needs: [c]}\n"
        "  - {name: b, command: [x], needs: [implment]}\n"
        "  - {name: c, command: [x], needs: [d]}\n"
        "  - {name: d, command: [x], needs: [implement]}\n"
        "  - {name: e, command: [x], needs: [f]}\n"
        "  - {name: f, command: [x], needs: [e]}\n"
    )
    assert "f.yaml:3: runs.b.needs: found the unknown run 'implment'" in lines[1]
    assert lines[1].endswith("did you mean implement?")
    circles = "\n".join(lines)
    assert "f.yaml:2: runs.implement.needs: found a circle: implement needs c needs d" in circles
    assert "a circle: e needs f needs e" in circles


def test_names_are_unique_also_between_runs_and_heartbeats() -> None:
    (line,) = complaints(
        "runs:\n  - {name: a, command: [x]}\nheartbeats:\n  - {name: a, every: 5s, command: [x]}\n"
    )
    assert (
        line
        == "f.yaml:4: name: found the name 'a' twice (first in line 2); allowed: a name of its own"
    )


def test_all_mistakes_come_at_once_in_order() -> None:
    lines = complaints(
        "defualts: {}\nruns:\n  - {name: a}\n  - {name: b, command: x}\n  - name: c\n    cpu: 0\n"
    )
    assert [line.split(":")[1] for line in lines] == ["1", "3", "4", "6"]


def test_a_variables_value_is_in_no_message_and_no_repr() -> None:
    (line,) = complaints("runs: [{name: a, command: [x], env: {KEY: [hunter2]}}]")
    assert "hunter2" not in line
    long = complaint(f"{{name: a, command: [x], env: {{KEY: {'hunter2' * 20_000}}}}}")
    assert "hunter2" not in long
    assert "hunter2" not in repr(run("{name: a, command: [x], env: {KEY: hunter2}}"))


def test_huge_input_is_bounded(tmp_path: Path) -> None:
    assert (
        "found a list of 10001"
        in complaints(
            "runs:\n" + "".join(f"  - {{name: r{n}, command: [x]}}\n" for n in range(10_001))
        )[0]
    )
    assert len(complaints("runs:\n" + "  - {name: a/b}\n" * 5000)) == 101
    long = complaint(f"{{name: {'x' * 1_000_000}, command: [x]}}")
    assert len(long) < 400
    assert "1,000,000 characters" in long
    assert "1,000,000 characters at most" in complaint(
        f"{{name: a, agent: b, prompt: {'x' * 1_000_001}}}"
    )
    file = tmp_path / "large.yaml"
    file.write_text("prompt: " + "x" * 10_000_000, encoding="utf-8")
    with pytest.raises(FleetFileError, match="found more than 4 MiB"):
        parse_fleet(file)
    with pytest.raises(FleetFileError, match="4 MiB at most"):
        parse("x" * 5_000_000)


def test_ten_thousand_runs_in_one_chain_are_read() -> None:
    lines = [f"{{name: r{n}, command: [x], needs: [r{n - 1}]}}" for n in range(1, 10_000)]
    assert len(runs("{name: r0, command: [x]}", *lines).runs) == 10_000


def test_the_name_of_a_fleet_is_that_of_its_file_unless_given(tmp_path: Path) -> None:
    file = tmp_path / "my fleet!.yaml"
    file.write_text("runs: [{name: a, command: [x]}]\n", encoding="utf-8")
    assert parse_fleet(file).name == "my-fleet"
