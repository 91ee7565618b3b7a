"""What Docker's API is asked for, and what is read from its answers."""

from __future__ import annotations

import json

import pytest

from paddock.drivers.container.docker import (
    create_body,
    listed_in,
    seen_in,
    socket_of,
    trouble_in,
    used_in,
)
from paddock.drivers.container.engine import Mount, Order
from paddock.drivers.container.unix_http import Answer


def an_order(**changed: object) -> Order:
    usual: dict[str, object] = {
        "name": "paddock-x.a.1",
        "image": "img:1",
        "command": ("/bin/sh", "shim", "agent", "--flag"),
        "environment": {"KEY": "a=b\nc"},
        "directory": "/work",
        "user": "1000:1000",
        "labels": {"dev.paddock.run": "a"},
        "mounts": (Mount("/work", "/work"), Mount("/etc/x", "/y", read_only=True)),
        "limit_bytes": 4096 * 1000,
        "pids": 512,
    }
    return Order(**usual | changed)  # type: ignore[arg-type]


def test_memory_and_swap_are_the_same_so_that_there_is_no_swap() -> None:
    host = create_body(an_order())["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 4096 * 1000
    assert host["PidsLimit"] == 512
    assert host["NanoCpus"] == 0


def test_a_soft_limit_is_set_only_where_it_presses_and_does_not_protect() -> None:
    assert "MemoryReservation" not in create_body(an_order())["HostConfig"]
    host = create_body(an_order(), soft_limit=True)["HostConfig"]
    assert host["MemoryReservation"] == 4096 * 750


def test_the_environment_is_in_the_body_and_nowhere_else_in_it() -> None:
    body = create_body(an_order())
    assert body.pop("Env") == ["KEY=a=b\nc"]
    assert "a=b" not in json.dumps(body)
    assert "a=b" not in repr(an_order())


def test_the_images_own_entrypoint_is_replaced() -> None:
    body = create_body(an_order())
    assert (body["Entrypoint"], body["Cmd"]) == (["/bin/sh"], ["shim", "agent", "--flag"])


def test_mounts_cores_scratch_and_parent_are_passed_on() -> None:
    order = an_order(cpus=0.5, scratch_bytes=1 << 20, cgroup_parent="/fleet", network="none")
    host = create_body(order, userns="keep-id")["HostConfig"]
    assert host["Mounts"][1] == {
        "Type": "bind",
        "Source": "/etc/x",
        "Target": "/y",
        "ReadOnly": True,
    }
    assert host["NanoCpus"] == 500_000_000
    assert host["Tmpfs"] == {"/tmp": "rw,exec,mode=1777,size=1048576"}
    assert (host["CgroupParent"], host["NetworkMode"]) == ("/fleet", "none")
    assert host["UsernsMode"] == "keep-id"


def test_what_an_engine_tells_of_a_container_is_read() -> None:
    state = {"Running": False, "Status": "exited", "ExitCode": 137, "Pid": 0, "OOMKilled": True}
    told = {"Name": "/paddock-x.a.1", "State": state, "Config": {"Labels": {"k": "v"}}}
    seen = seen_in(told)
    assert (seen.name, seen.running, seen.code, seen.oom) == ("paddock-x.a.1", False, 137, True)
    assert seen.labels == {"k": "v"}


def test_one_that_runs_or_never_ran_has_no_exit_code() -> None:
    running = {"State": {"Running": True, "Pid": 7, "ExitCode": 0}}
    created = {"State": {"Running": False, "Status": "created", "ExitCode": 0}}
    assert (seen_in(running).code, seen_in(running).pid) == (None, 7)
    assert seen_in(created).code is None


def test_a_list_is_read_with_and_without_names() -> None:
    assert listed_in({"Names": ["/a"], "Labels": None, "State": "paused"}).running
    assert listed_in({"Names": None, "State": "exited"}).name == ""


def test_use_is_without_page_cache() -> None:
    stats = {"usage": 100, "stats": {"total_inactive_file": 30}}
    assert used_in({"memory_stats": stats}) == 70
    assert used_in({"memory_stats": {"usage": 100, "stats": {"inactive_file": 20}}}) == 80
    assert used_in({"memory_stats": {}}) is None
    assert used_in(None) is None


@pytest.mark.parametrize(
    ("status", "said", "what", "expected", "permanent"),
    [
        (404, "no such image", "image a/b:1", "image a/b:1 is not there; get it with", True),
        (500, 'exec: "/bin/sh": no such file or directory', "c", "has no /bin/sh", True),
        (500, "storage\n is full", "c", "docker: storage is full", False),
        (400, "bad parameter", "c", "docker: bad parameter", True),
        (409, "name is in use", "c", "docker: name is in use", False),
    ],
)
def test_trouble_is_one_line_that_says_what_to_do(
    status: int, said: str, what: str, expected: str, *, permanent: bool
) -> None:
    answer = Answer(status, json.dumps({"message": said}).encode())
    trouble = trouble_in(answer, program="docker", what=what)
    assert expected in str(trouble)
    assert "\n" not in str(trouble)
    assert trouble.permanent is permanent


def test_an_answer_that_is_no_json_is_told_by_its_status() -> None:
    trouble = trouble_in(Answer(502, b"<html>"), program="docker", what="c")
    assert str(trouble) == "docker: status 502"


def test_the_socket_is_where_docker_itself_would_look() -> None:
    assert socket_of({"DOCKER_HOST": "unix:///run/d.sock"}) == "/run/d.sock"
    assert socket_of({"DOCKER_HOST": "tcp://far:2375"}) == "/var/run/docker.sock"
