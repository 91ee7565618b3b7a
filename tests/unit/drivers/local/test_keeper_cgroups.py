"""The way out of an agent's cgroup, from pretend files."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.drivers.local.keeper.cgroups import home_of, leave_agents_cgroups


@pytest.mark.parametrize(
    ("path", "home"),
    [
        ("/", None),
        ("/user.slice/session.scope", None),
        ("/paddock.service/supervisor", None),
        ("/paddock.service/fleet", None),
        ("/other/fleet/a.1", None),
        ("/u/paddock.service/fleet/a.1", "/u/paddock.service/supervisor"),
        ("/paddock-1/fleet/a.1/tool", "/paddock-1/supervisor"),
        ("/paddock-1/fleet/a.1/paddock-2/fleet/b.1", "/paddock-1/fleet/a.1/paddock-2/supervisor"),
    ],
)
def test_home_is_beside_the_fleet(path: str, home: str | None) -> None:
    assert home_of(path) == home


def pretend(directory: Path, cgroup: str, mountinfo: str) -> str:
    (directory / "cgroup").write_text(cgroup, encoding="utf-8")
    (directory / "mountinfo").write_text(mountinfo, encoding="utf-8")
    return str(directory)


def test_every_hierarchy_is_left_also_where_only_a_part_is_mounted(tmp_path: Path) -> None:
    one, two = tmp_path / "v1", tmp_path / "v2"
    for home in (one / "paddock-1" / "supervisor", two / "paddock-1" / "supervisor"):
        home.mkdir(parents=True)
    proc = pretend(
        tmp_path,
        "4:cpu,memory:/top/paddock-1/fleet/a.1\n3:pids:/elsewhere\n0::/paddock-1/fleet/a.1\n",
        f"35 24 0:31 /top {one} rw shared:9 - cgroup cgroup rw,cpu,memory\n"
        f"30 23 0:26 / {two} rw,nosuid - cgroup2 cgroup2 rw\n",
    )
    assert leave_agents_cgroups(proc) == []
    for place in (one, two):
        told = place / "paddock-1" / "supervisor" / "cgroup.procs"
        assert told.read_text(encoding="ascii") == "0"


def test_what_holds_it_back_is_said_in_one_line_each(tmp_path: Path) -> None:
    cgroup = "4:memory:/paddock-1/fleet/a.1\n0::/paddock-1/fleet/a.1\n"
    mountinfo = "35 24 0:31 / /no/such/mount rw - cgroup cgroup rw,memory\n"
    one, two = leave_agents_cgroups(pretend(tmp_path, cgroup, mountinfo))
    assert "/no/such/mount/paddock-1/supervisor: No such file" in one
    assert "not mounted" in two
