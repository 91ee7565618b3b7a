"""`paddock capacity` as people and scripts see it."""

import json
from pathlib import Path

import pytest

from paddock.cli.capacity import this_machine
from paddock.cli.exits import CommandError
from paddock.cli.main import main
from paddock.core.units import GIB
from tests.kit.machine import Machine


@pytest.fixture
def users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only configuration, on a machine of 24 GiB."""
    monkeypatch.setattr("paddock.cli.capacity.this_machine", lambda: ("This machine", 24 * GIB))
    monkeypatch.setattr("paddock.config.layers.HOST_FILE", tmp_path / "none.yaml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("PADDOCK_PROFILE", raising=False)
    (tmp_path / "paddock").mkdir()
    return tmp_path / "paddock/config.yaml"


def answer(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, object]:
    assert main(["capacity", "--json", *args]) == 0
    parsed = json.loads(capsys.readouterr().out)
    assert isinstance(parsed, dict)
    return parsed


def test_the_json_has_the_keys_scripts_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--ram", "1536G", "--per-agent", "4G")
    assert (found["max_agents"], found["recommended_agents"]) == (326, 300)
    assert found["host_reserve_bytes"] == 232 * GIB
    assert (found["per_agent_bytes"], found["total_bytes"]) == (4 * GIB, 1536 * GIB)
    rows = found["matrix"]
    assert isinstance(rows, list)
    assert [row["max_agents"] for row in rows] == [2, 4, 8, 12, 326]


def test_the_sum_is_shown_in_words_and_the_matrix_as_a_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["capacity", "--ram", "15.6G"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "The host has 16 GiB of memory (measured 15.6 GiB, counted as the size it was sold as)."
    )
    assert lines[2] == "(16 GiB - 8 GiB) / 4 GiB each = 2 agents at most, 2 recommended."
    table = lines[4:]
    assert len(table) == 6
    assert len({len(line) for line in table}) == 1


def test_of_this_machine_the_configured_wall_and_reserve_count(
    capsys: pytest.CaptureFixture[str], users_file: Path
) -> None:
    users_file.write_text(
        "sandbox: {memory_limit: 2G, host_memory_reserve: 8G}\n", encoding="utf-8"
    )
    found = answer(capsys)
    assert (found["per_agent_bytes"], found["host_reserve_bytes"]) == (2 * GIB, 8 * GIB)
    assert found["max_agents"] == 8
    found = answer(capsys, "--per-agent", "4G", "--reserve", "12G")
    assert (found["per_agent_bytes"], found["max_agents"]) == (4 * GIB, 3)


@pytest.mark.parametrize(
    ("text", "allowed", "said"),
    [
        ("", 5, "may be more: 5 at once at most (by the profile medium; `performance_profile"),
        ("performance_profile: host", None, "may be more: as many as fit."),
        ("performance_profile: low", 2, "At once are allowed here: 2 (by the profile low; `perf"),
        ("queue: {depth: none}", None, ""),
    ],
)
def test_of_this_machine_it_says_what_is_allowed_too(
    capsys: pytest.CaptureFixture[str],
    users_file: Path,
    *,
    text: str,
    allowed: int | None,
    said: str,
) -> None:
    """Else `capacity`, `config show` and `status` have three numbers, and no word on why."""
    users_file.write_text(text, encoding="utf-8")
    assert answer(capsys)["allowed_agents"] == allowed
    assert main(["capacity"]) == 0
    line = capsys.readouterr().out.splitlines()[3]
    assert said in line and bool(line) == bool(said)
    assert main(["capacity", "--ram", "24G"]) == 0
    assert "profile" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--ram", "-4G"], "'-4G' is not a size above zero"),
        (["--ram", "0"], "'0' is not a size above zero"),
        (["--ram", "4 Gigs"], "'4 Gigs' is not a size"),
        (["--ram", "NaN"], "'NaN' is not a size"),
        (["--ram", "inf"], "'inf' is not a size"),
        (["--ram", ""], "an empty text is not a size"),
        (["--ram", "16"], "'16' is not from 64 MiB"),
        (["--per-agent", "-1G"], "'-1G' is not a size above zero"),
        (["--per-agent", "0"], "'0' is not a size above zero"),
        (["--per-agent", "4"], "'4' is not from 16 MiB to 1 TiB"),
        (["--reserve", "NaN"], "'NaN' is not a size"),
        (["--ram", "16G", "--reserve", "17G"], "a reserve of 17 GiB leaves nothing of 16 GiB"),
        (["--ram", "16G", "--reserve", "16G", "--per-agent", "1G"], "leaves nothing"),
        (["--rom", "16G"], "No such option"),
        (["16G"], "unexpected extra argument"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], args: list[str], said: str
) -> None:
    assert main(["capacity", *args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("paddock: ")
    assert said in err
    assert err.count("\n") == 1


def test_an_agent_that_cannot_fit_is_said_so_beside_the_floor_of_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["capacity", "--ram", "16G", "--per-agent", "12G"]) == 0
    out, err = capsys.readouterr()
    assert "1 agent at most by the rule's floor, but not even one fits" in out
    assert "an agent of 12 GiB cannot fit the 8 GiB left for agents" in err
    found = answer(capsys, "--ram", "16G", "--per-agent", "12G")
    assert (found["max_agents"], found["fits"]) == (1, False)


def test_the_default_agent_on_a_small_host_is_what_fits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["capacity", "--ram", "4G", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["per_agent_bytes"] == 2 * GIB
    assert "the usual 4 GiB would not fit" in err


def test_without_ram_it_is_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capacity"]) == 0
    assert capsys.readouterr().out.startswith("This machine")


def test_a_limited_machine_says_what_limits_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.meminfo(total_kb=64 * GIB // 1024, available_kb=60 * GIB // 1024)
    machine.v2("/me")
    machine.limit_v2("/sys/fs/cgroup/me", 16 * GIB)
    limit = tmp_path / "sys/fs/cgroup/me"
    assert this_machine(tmp_path) == (f"This machine, limited by {limit},", 16 * GIB)


def test_a_machine_that_cannot_be_read_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="describe it with --ram, as in --ram 16G"):
        this_machine(tmp_path)
