"""From what the loop asks for and the user has set to what an engine is asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from paddock.core.run import Attempt
from paddock.drivers.container.apple import create_words, env_file
from paddock.drivers.container.apple import seen_in as seen_by_apple
from paddock.drivers.container.engine import EngineTrouble, Mount
from paddock.drivers.container.naming import Names
from paddock.drivers.container.orders import order_of
from paddock.drivers.container.settings import ContainerSettings
from paddock.ports import Launch

NAMES = Names(Path("/o"), Path("/l"), "0123456789abcdef")


def an_order(settings: ContainerSettings | None = None, **launch: Any) -> Any:
    usual: dict[str, Any] = {"command": ("agent", "-x"), "environment": {"K": "v"}}
    usual |= {"directory": Path("/work/tree"), "limit_bytes": 100 << 20} | launch
    wanted = Launch(attempt=Attempt("a", 1), **usual)
    settings = settings or ContainerSettings(image="usual:1")
    return order_of(wanted, NAMES, settings, epoch=3, held=True)


def test_a_runs_own_image_goes_before_the_usual_one() -> None:
    assert an_order().image == "usual:1"
    assert an_order(labels={"image": "own:2"}).image == "own:2"


def test_the_command_comes_after_the_shim_word_by_word() -> None:
    words = an_order(labels={"umask": "077"}).command
    assert words == (
        *("/bin/sh", "/l/a.1/in/shim", "/l/a.1/in", "held", "0077", "/dev/null"),
        *("agent", "-x"),
    )


def test_workspace_and_box_are_mounted_under_their_own_paths() -> None:
    mounts = an_order(stdin=Path("/s/in")).mounts
    assert Mount("/work/tree", "/work/tree") in mounts
    assert Mount("/l/a.1/in", "/l/a.1/in") in mounts
    assert Mount("/s/in", "/s/in", read_only=True) in mounts


def test_the_workspace_wins_over_a_mount_in_its_place() -> None:
    settings = ContainerSettings(image="i", mounts=(Mount("/x", "/work/tree", read_only=True),))
    targets = [mount for mount in an_order(settings).mounts if mount.target == "/work/tree"]
    assert targets == [Mount("/work/tree", "/work/tree")]


def test_labels_name_instance_run_attempt_and_epoch_only() -> None:
    assert an_order().labels == {
        "dev.paddock.instance": "0123456789abcdef",
        "dev.paddock.run": "a",
        "dev.paddock.attempt": "1",
        "dev.paddock.epoch": "3",
    }


def test_cores_are_unlimited_unless_asked_for() -> None:
    assert an_order().cpus == 0.0
    assert an_order(labels={"cpu": "0.5"}).cpus == 0.5
    assert an_order(labels={"cpu": "unlimited"}).cpus == 0.0


def test_scratch_is_half_of_the_limit_unless_it_is_set() -> None:
    assert an_order().scratch_bytes == 50 << 20
    assert an_order(ContainerSettings(image="i", scratch_bytes=0)).scratch_bytes == 0


def test_the_user_is_the_daemons_own_unless_it_is_set_in_numbers() -> None:
    assert an_order().user == f"{os.geteuid()}:{os.getegid()}"
    assert an_order(ContainerSettings(user="1000:100")).user == "1000:100"
    with pytest.raises(ValueError, match="two numbers"):
        an_order(ContainerSettings(user="alice"))


def test_apples_command_has_the_environment_in_a_file_only() -> None:
    words = create_words(an_order(), "/tmp/env")
    assert words[:5] == [
        "create",
        "--name",
        "paddock-0123456789abcdef.a.1",
        "--env-file",
        "/tmp/env",
    ]
    assert words[words.index("--memory") + 1] == "100M"
    assert not any("K=v" in word for word in words)
    assert words[-2:] == ["agent", "-x"]
    assert env_file({"K": "v", "L": "a=b"}) == "K=v\nL=a=b\n"
    with pytest.raises(EngineTrouble, match="several lines"):
        env_file({"K": "a\nb"})


def test_apples_list_is_read() -> None:
    told = b'[{"status":"running","configuration":{"id":"x","labels":{"k":"v"}}}]'
    (seen,) = seen_by_apple(told)
    assert (seen.name, seen.running, seen.labels) == ("x", True, {"k": "v"})
    assert seen_by_apple(b"no JSON") == []
