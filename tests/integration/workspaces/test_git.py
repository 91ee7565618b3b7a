"""Every git command of ours: deadlines, bounds, environment, and programs that are not run."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from paddock.workspaces import processes
from paddock.workspaces.clones import Wanted, ensure_clone
from paddock.workspaces.errors import GitFailed, GitTimedOut, WorkspaceError
from paddock.workspaces.git import Git, failure
from paddock.workspaces.guards import guarded
from paddock.workspaces.processes import Ended, How
from paddock.workspaces.records import Home
from paddock.workspaces.room import Room
from paddock.workspaces.strategy import choose
from tests.kit import leaks
from tests.kit.repositories import a_repository, commit, git, tip, write
from tests.kit.waiting import until


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """There is such a file if a program of the repository's was run."""
    return tmp_path / "ran"


def test_at_the_deadline_everything_it_started_is_killed(repository: Path) -> None:
    git(repository, "config", "alias.slow", "!f() { sleep 60 & sleep 60; }; f")
    assert Git(directory=repository).timeout_s == 300.0  # REPO-4
    began = time.monotonic()
    slow = Git(directory=repository, timeout_s=0.5)
    with pytest.raises(GitTimedOut, match=r"git slow took longer than 0\.5 s"):
        slow.out("slow")
    assert time.monotonic() - began < 10
    # A killed process may need a moment to leave.
    until(lambda: not any(_stands_in(pid, repository) for pid in leaks.commanded("sleep")))


def _stands_in(pid: int, directory: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == directory
    except OSError:
        return False


def test_output_is_bounded(repository: Path) -> None:
    commit(repository, "large", {"large.txt": "x" * 1_000_000})
    asked = Git(directory=repository)
    ended = asked.ask("show", "HEAD:large.txt", most_bytes=1000)
    assert ended.how is How.CUT and len(ended.out) == 1000
    with pytest.raises(GitFailed, match="printed more than 1000 bytes"):
        asked.out("show", "HEAD:large.txt", most_bytes=1000)


def test_a_large_input_and_a_large_output_do_not_wait_for_each_other(repository: Path) -> None:
    data = os.urandom(3_000_000)
    asked = Git(directory=repository)
    name = asked.line("hash-object", "-w", "--stdin", given=data)
    assert asked.out("cat-file", "blob", name) == data


def test_what_it_wrote_just_before_its_end_is_read(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine it may be quiet for long, and then write and end while nobody looks."""

    def once_it_is(talk: processes._Talk) -> bool:
        os.waitid(os.P_PID, talk._process.pid, os.WEXITED | os.WNOWAIT)  # noqa: SLF001
        return True

    monkeypatch.setattr(processes, "QUIET_S", 0.0)
    monkeypatch.setattr(processes._Talk, "_is_over", once_it_is)  # noqa: SLF001
    assert Git(directory=repository).line("rev-parse", "HEAD") == tip(repository)


def test_a_program_that_reads_no_input_is_no_trouble(repository: Path) -> None:
    assert Git(directory=repository).line("rev-parse", "HEAD", given=b"x" * 1_000_000)


def test_variables_of_whoever_started_us_change_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    asked = Git(directory=repository)
    assert asked.line("rev-parse", "--is-bare-repository") == "false"
    assert asked.line("rev-parse", "--show-toplevel") == str(repository)


def test_what_git_says_in_another_language_is_not_asked_for(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    with pytest.raises(GitFailed, match="unknown revision"):
        Git(directory=repository).out("log", "nothing")


def test_no_git_is_said_in_a_line(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="git is not installed"):
        Git(directory=repository).out("status")


def test_a_directory_that_is_gone_is_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="is not there any more"):
        Git(directory=tmp_path / "nothing").out("status")


# -- programs that a repository names -------------------------------------------------------


def hostile(repository: Path, ran: Path, *, filters: bool = True) -> None:
    """Every setting we know of that makes git run a program."""
    program = f"touch '{ran}'; cat"
    settings = {
        "core.fsmonitor": f"touch '{ran}'; false",
        "core.pager": program,
        "core.editor": program,
        "core.askPass": program,
        "diff.external": program,
        "diff.evil.textconv": program,
        "diff.evil.command": program,
        "gpg.program": program,
        "commit.gpgSign": "true",
        "credential.helper": f"!touch '{ran}'",
        "alias.status": f"!touch '{ran}'",
        "core.sshCommand": program,
        "uploadpack.packObjectsHook": program,
        "merge.evil.driver": program,
        "log.showSignature": "true",
    }
    if filters:
        for kind in ("clean", "smudge"):
            settings[f"filter.evil.{kind}"] = program
        settings["filter.evil.required"] = "true"
        settings["filter.worse.process"] = program
    hooks = repository / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch '{ran}'\n")
        (hooks / hook).chmod(0o755)
    settings["core.hooksPath"] = str(hooks)
    for key, value in settings.items():
        git(repository, "config", key, value)


def test_no_program_that_a_repository_names_is_run(room: Room, repository: Path, ran: Path) -> None:
    attributes = "*.txt filter=evil diff=evil merge=evil\n*.py filter=worse\n"
    commit(repository, "attributes", {".gitattributes": attributes})
    hostile(repository, ran)
    path = room.prepare("run1", repository=repository)
    write(path, {"readme.txt": "changed\n", "new.txt": "new\n", "src/code.py": "print(2)\n"})
    assert b"+changed" in room.diff("run1").text
    saved = room.save("run1", because="a timeout")
    assert saved is not None and len(saved.files) == 3
    room.commits("run1")
    room.release("run1")
    (judged,) = room.gc()
    assert judged.removed, judged.because
    room.refill(repository, want=1)
    room.prepare("run2", repository=repository)
    assert not ran.exists()


def test_the_repository_would_have_run_them(repository: Path, ran: Path) -> None:
    """So that the test above can fail."""
    commit(repository, "attributes", {".gitattributes": "*.txt filter=evil\n"})
    hostile(repository, ran)
    write(repository, {"readme.txt": "changed\n"})
    git(repository, "status")
    assert ran.exists()


def test_a_git_file_that_leads_to_another_repository_is_not_followed(
    room: Room, repository: Path, ran: Path, tmp_path: Path
) -> None:
    """An agent in a container could write one, and settings of its own beside it."""
    path = room.prepare("run1", repository=repository)
    trap = tmp_path / "trap"
    trap.mkdir()
    git(trap, "init", "--quiet", "--bare")
    git(trap, "config", "core.fsmonitor", f"touch '{ran}'")
    git(trap, "config", "core.worktree", str(path))
    (path / ".git").write_text(f"gitdir: {trap}\n")
    write(path, {"new.txt": "new\n"})
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.branch == "paddock/run1"
    room.release("run1")
    (judged,) = room.gc()
    assert not judged.removed and str(trap) in judged.because
    assert not ran.exists()


def test_filters_of_the_users_own_settings_are_followed(
    room: Room, repository: Path, ran: Path
) -> None:
    commit(repository, "attributes", {".gitattributes": "*.txt filter=mine\n"})
    home = Path(os.environ["HOME"])
    (home / ".gitconfig").write_text(f"[filter \"mine\"]\n\tsmudge = touch '{ran}'; cat\n")
    room.prepare("run1", repository=repository)
    assert ran.exists()


def test_what_git_lfs_writes_into_a_repository_is_known(repository: Path) -> None:
    git(repository, "config", "filter.lfs.clean", "git-lfs clean -- %f")
    git(repository, "config", "filter.lfs.process", "git-lfs filter-process")
    git(repository, "config", "filter.Evil.clean", "git-lfs clean -- %f; rm -rf ~")
    found = guarded(Git(directory=repository)).settings
    assert found == {"filter.Evil.clean": ""}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.sshCommand", "evil"),
        ("credential.helper", "!evil"),
        ("url.ext::evil.insteadOf", "https://"),
        ("remote.origin.uploadpack", "evil"),
        ("http.proxy", "evil"),
        ("core.alternateRefsCommand", "evil"),
    ],
)
def test_a_clone_of_ours_whose_settings_somebody_changed_is_not_fetched_into(
    top: Path, repository: Path, key: str, value: str
) -> None:
    home = Home(top / "key")
    home.make()
    wanted = Wanted(address=f"file://{repository}", strategy=choose(local=False))
    ensure_clone(home, wanted, top=top, asked_at=0)
    git(home.clone, "config", key, value)
    with pytest.raises(WorkspaceError, match="which paddock did not write and will not follow"):
        ensure_clone(home, wanted, top=top, asked_at=time.time() + 60)


def test_a_transport_that_runs_programs_is_refused(top: Path, ran: Path) -> None:
    room = Room(top)
    with pytest.raises(GitFailed, match="transport 'ext' not allowed"):
        room.prepare("run1", repository=f"ext::sh -c 'touch {ran}'")
    assert not ran.exists()


def test_passwords_are_in_no_message_command_or_file(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git that writes down how it was called stands in for `ps`."""
    seen = tmp_path / "seen"
    programs = tmp_path / "programs"
    programs.mkdir()
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True)
    (programs / "git").write_text(
        f'#!/bin/sh\necho "$@" >>{seen}\nexec {real.stdout.strip()} "$@"\n'
    )
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(GitFailed) as caught:
        Room(top).prepare("run1", repository="http://me:s3cret@127.0.0.1:9/x.git")
    assert "127.0.0.1" in str(caught.value)
    assert "s3cret" not in str(caught.value) + caught.value.told + seen.read_text()
    held = [path for path in top.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]
    assert held == []


def test_links_and_pipes_in_the_way_of_our_own_files_do_no_harm(
    room: Room, repository: Path, tmp_path: Path
) -> None:
    path = room.prepare("run1", repository=repository)
    (tmp_path / "precious").write_text("x")
    (path / ".git").unlink()
    (path / f".git.{os.getpid()}.paddock").symlink_to(tmp_path / "precious")
    room.prepare("run1", repository=repository)
    assert (tmp_path / "precious").read_text() == "x"
    os.mkfifo(repository / ".git/worktrees/run1/locked")
    (path / ".git").unlink()
    os.mkfifo(path / ".git")
    room.release("run1")
    (judged,) = room.gc()
    assert not judged.removed and "no plain file" in judged.because


def test_a_repository_that_this_git_is_too_old_for_is_said(tmp_path: Path) -> None:
    """What it is that git does not know stands on a second line of what it says."""
    repository = a_repository(tmp_path / "repository")
    git(repository, "config", "core.repositoryformatversion", "1")
    git(repository, "config", "extensions.newest", "1")
    with pytest.raises(GitFailed, match="the repository uses newest, which the git here") as error:
        Git(directory=repository).line("rev-parse", "HEAD")
    assert len(str(error.value).splitlines()) == 1
    said = error.value.told.replace("newest", "refstorage")
    ended = Ended(128, b"", said.encode())
    assert str(failure(("rev-parse",), ended)).startswith("the repository uses reftable, which")
