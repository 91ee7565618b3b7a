"""The defaults of a directory: read again when a file changed, and only then."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from paddock.api.defaults import LOOK_S, DefaultsOf
from paddock.config.mistakes import ConfigError
from tests.kit.factories import a_policy

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _no_files_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("PADDOCK_PROFILE", "tiny")  # the daemon's own: it must not count


def test_a_file_that_appears_changes_or_goes_is_seen(tmp_path: Path) -> None:
    moments = count(step=2 * LOOK_S)
    where, defaults, policy = tmp_path / "a/b", DefaultsOf(lambda: next(moments)), a_policy()
    where.mkdir(parents=True)
    config = tmp_path / "a/.paddock/config.yaml"

    def limit() -> int:
        return defaults.at(str(where), policy, profile=None, said={}).run.limit_bytes

    assert limit() == 4 * GIB
    config.parent.mkdir()
    config.write_text("sandbox: {memory_limit: 1G}\n", encoding="utf-8")
    assert limit() == GIB
    config.write_text("sandbox: {memory_limit: 2G }\n", encoding="utf-8")
    assert limit() == 2 * GIB
    config.write_text("sandbox: {memory_limit: x}\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        limit()
    config.unlink()
    assert limit() == 4 * GIB


def test_submissions_that_follow_each_other_at_once_share_a_look(tmp_path: Path) -> None:
    moments = iter([10.0, 10.0 + LOOK_S / 2, 10.0 + 2 * LOOK_S])
    defaults, policy = DefaultsOf(lambda: next(moments)), a_policy()
    first = defaults.at(str(tmp_path), policy, profile=None, said={})
    config = tmp_path / ".paddock/config.yaml"
    config.parent.mkdir()
    config.write_text("sandbox: {memory_limit: 1G}\n", encoding="utf-8")
    assert defaults.at(str(tmp_path), policy, profile=None, said={}) is first
    assert defaults.at(str(tmp_path), policy, profile=None, said={}).run.limit_bytes == GIB


def test_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults, policy = DefaultsOf(), a_policy()
    first = defaults.at(str(tmp_path), policy, profile=None, said={})
    monkeypatch.setattr("paddock.api.defaults.settings_of", None)
    assert defaults.at(str(tmp_path), policy, profile=None, said={}) is first


def test_the_limit_is_what_the_daemon_would_admit(tmp_path: Path) -> None:
    small = a_policy(total="3G", reserve="1G")
    given = DefaultsOf().at(str(tmp_path), small, profile=None, said={})
    assert given.run.limit_bytes <= small.largest_bytes
    assert given.reduced is not None and given.reduced.startswith("runs that say nothing get")


def test_the_profile_is_the_submitters(tmp_path: Path) -> None:
    defaults, policy = DefaultsOf(), a_policy()
    said = {"PADDOCK_PROFILE": "high"}
    assert defaults.at(str(tmp_path), policy, profile=None, said={}).simple_s == 900.0
    assert defaults.at(str(tmp_path), policy, profile=None, said=said).simple_s == 1800.0
    assert defaults.at(str(tmp_path), policy, profile="low", said=said).simple_s == 600.0
