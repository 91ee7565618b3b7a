"""How the program starts and ends: lazily, in one line, with the codes of the reference."""

import os
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import click
import pytest

from paddock import __version__
from paddock.cli.exits import CommandError, ExitCode
from paddock.cli.main import guarded, main


def ends_with(error: BaseException) -> int:
    def command() -> int:
        raise error

    return guarded(command)


def test_starting_imports_no_command_and_nothing_heavy() -> None:
    code = (
        "import sys, paddock.cli.main; "
        "print([m for m in sys.modules if m.startswith(('paddock.', 'rich', 'asyncio'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(
        ["paddock.cli", "paddock.cli.exits", "paddock.cli.lazy", "paddock.cli.main"]
    )


def test_it_runs_as_a_module_too() -> None:
    command = [sys.executable, "-m", "paddock", "--version"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == f"paddock {__version__}\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_what_is_closed_is_no_bug(closed: str) -> None:
    line = f'"{sys.executable}" -m paddock capacity --ram 64G {closed}'
    found = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["capacity --ram 64G", "capacity --ram 64G --json", "--help"])
def test_a_full_disk_under_its_output_is_said(command: str, unbuffered: str) -> None:
    line = f'"{sys.executable}" -m paddock {command}'
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    run = partial(subprocess.run, shell=True, capture_output=True, text=True, check=False, env=env)
    found = run(f"{line} >/dev/full")
    said = "paddock: its output could not be written: No space left on device\n"
    assert (found.returncode, found.stderr) == (1, said)
    assert run(f"{line} >/dev/full 2>&1").returncode == 1


def test_ctrl_c_in_the_middle_of_its_imports_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt", encoding="ascii")
    command = [sys.executable, "-m", "paddock", "run", "--", "sleep", "60"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")
    told = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    assert told["project"]["scripts"] == {"paddock": "paddock.__main__:main"}  # the same door


def test_called_bare_it_shows_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "capacity" in capsys.readouterr().out


@pytest.mark.parametrize("group", ["bench", "cgroup", "config", "daemon", "host", "workspace"])
def test_what_a_subcommand_does_is_not_cut_off(
    capsys: pytest.CaptureFixture[str], group: str
) -> None:
    assert main([group, "--help"]) == 0
    commands = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    assert commands and not [line for line in commands if line.endswith("...") or len(line) > 80]


def test_an_unknown_command_is_answered_with_the_nearest_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["capcity"]) == 2
    assert capsys.readouterr().err == (
        "paddock: there is no command 'capcity'. Did you mean 'capacity'? Try: paddock --help\n"
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ps", "'ls'"),
        ("cancel", "'kill'"),
        ("stop", "'kill' or 'daemon stop'"),
        ("help", "'--help'"),
        ("version", "'--version'"),
    ],
)
def test_what_other_programs_call_it_is_answered_with_what_it_is_called_here(
    capsys: pytest.CaptureFixture[str], typed: str, meant: str
) -> None:
    assert main([typed]) == 2
    assert f"no command {typed!r}. Did you mean {meant}?" in capsys.readouterr().err


def test_an_unknown_option_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--bogus"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_command_error_ends_with_its_own_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ends_with(CommandError("queue\n full", ExitCode.REFUSED)) == 3
    assert capsys.readouterr().err == "paddock: queue full\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (click.FileError("x.yaml", "is not there"), 2),
        (FileNotFoundError(2, "No such file or directory", "x.yaml"), 2),
        (RuntimeError("oops"), 70),
    ],
)
def test_every_end_has_its_code_and_at_most_one_line(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    assert ends_with(error) == code
    err = capsys.readouterr().err
    assert err.count("\n") <= 1
    assert "Traceback" not in err


def test_a_bug_shows_its_traceback_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDOCK_DEBUG", "1")
    with pytest.raises(RuntimeError, match="oops"):
        ends_with(RuntimeError("oops"))


def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-m", "paddock", "capacity", "--ram", "16G"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert err == b""
    assert process.returncode == ExitCode.BROKEN_PIPE


def test_status_imports_nothing_that_takes_its_time() -> None:
    code = (
        "import sys, paddock.cli.main, paddock.cli.status, paddock.client, paddock.client.starting;"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
        "; print(*(name for name in sys.modules if name.startswith('paddock.')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages, ours = (set(line.split()) for line in found.stdout.splitlines())
    heavy = {"asyncio", "yaml", "rich", "pydantic", "apsw", "starlette", "uvicorn", "subprocess"}
    assert packages & (heavy | {"difflib", "h11", "logging", "platformdirs"}) == set()
    assert not {"paddock.core.policy", "paddock.core.run", "paddock.config.settings"} & ours


@pytest.mark.parametrize("group", ["host", "daemon", "config", "workspace", "cgroup"])
def test_a_group_without_its_command_shows_its_help_as_help(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([group]) == 2
    shown = capsys.readouterr().err.splitlines()
    assert shown[0].startswith(f"Usage: paddock {group} ")
    assert "Commands:" in shown
