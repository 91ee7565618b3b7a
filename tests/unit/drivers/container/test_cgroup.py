"""Counters and walls read from cgroup files, v1, v2 and both."""

from __future__ import annotations

from pathlib import Path

from paddock.drivers.container.cgroup import Cgroup, cgroup_mounts, cgroup_of, own_cgroups

V1_STAT = "cache 9\nrss 1\ntotal_cache 300\ntotal_rss 500\ntotal_shmem 20\n"
V2_STAT = "anon 400\nfile 999\nkernel_stack 5\nshmem 10\nslab_unreclaimable 7\n"


def write(directory: Path, **files: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(text, encoding="ascii")
    return directory


def a_v1(directory: Path, **files: str) -> Cgroup:
    usual = {"memory__stat": V1_STAT, "memory__limit_in_bytes": "10000\n"}
    usual |= {"memory__oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"}
    usual |= {"memory__max_usage_in_bytes": "900\n", "pids__max": "512\n"}
    write(directory, **usual | files)
    return Cgroup(1, memory=directory, pids=directory, freezer=directory)


def a_v2(directory: Path, **files: str) -> Cgroup:
    usual = {"memory__stat": V2_STAT, "memory__max": "5000\n", "memory__peak": "1500\n"}
    usual |= {"memory__events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"}
    usual |= {"pids__max": "512\n", "memory__swap__max": "0\n"}
    write(directory, **usual | files)
    return Cgroup(2, memory=directory, pids=directory, freezer=directory)


def test_use_is_what_cannot_be_reclaimed(tmp_path: Path) -> None:
    assert a_v1(tmp_path / "1").used_bytes() == 520
    assert a_v2(tmp_path / "2").used_bytes() == 422


def test_peak_is_less_the_page_cache_and_nothing_at_the_wall(tmp_path: Path) -> None:
    assert a_v1(tmp_path / "1").toll().peak_bytes == 600
    assert a_v1(tmp_path / "1w", memory__max_usage_in_bytes="10000\n").toll().peak_bytes == 0
    assert a_v2(tmp_path / "2").toll().peak_bytes == 501


def test_a_kill_at_its_own_wall_is_told_apart_from_one_above(tmp_path: Path) -> None:
    killed = "max 9\noom 1\noom_kill 2\n"
    assert a_v2(tmp_path / "own", memory__events=killed).toll().oom_kills == 2
    assert a_v2(tmp_path / "own", memory__events=killed).toll().at_own_wall
    above = a_v2(tmp_path / "above", memory__events="max 0\noom 0\noom_kill 1\n").toll()
    assert (above.oom_kills, above.at_own_wall) == (1, False)


def test_in_v1_the_peak_tells_whose_wall_it_was(tmp_path: Path) -> None:
    limit = {"memory__limit_in_bytes": str(64 << 20), "memory__oom_control": "oom_kill 1\n"}
    own = a_v1(tmp_path / "own", memory__max_usage_in_bytes=str(64 << 20), **limit).toll()
    above = a_v1(tmp_path / "above", memory__max_usage_in_bytes=str(40 << 20), **limit).toll()
    assert (own.oom_kills, own.at_own_wall) == (1, True)
    assert (above.oom_kills, above.at_own_wall) == (1, False)


def test_refused_forks_are_named(tmp_path: Path) -> None:
    assert a_v1(tmp_path / "none").toll().note is None
    note = a_v1(tmp_path / "some", pids__events="max 3\n").toll().note
    assert note == "its 512 processes and threads (pids) were in use, and 3 more were refused"


def test_walls_are_read_back(tmp_path: Path) -> None:
    good = a_v2(tmp_path / "good")
    assert good.broken_wall(limit_bytes=5000, pids=512) is None
    assert good.broken_wall(limit_bytes=4999, pids=512) is not None
    for number, (name, text, said) in enumerate(
        [
            ("memory__max", "max\n", "memory is limited to max"),
            ("memory__swap__max", "max\n", "swap is limited to max"),
            ("pids__max", "max\n", "processes are limited to max"),
        ]
    ):
        broken = a_v2(tmp_path / f"b{number}", **{name: text})
        found = broken.broken_wall(limit_bytes=5000, pids=512)
        assert found is not None and said in found


def test_in_v1_swap_beyond_the_limit_is_a_broken_wall(tmp_path: Path) -> None:
    for swap, is_broken in (("10000\n", False), ("10001\n", True)):
        cgroup = a_v1(tmp_path / swap.strip(), memory__memsw__limit_in_bytes=swap)
        assert (cgroup.broken_wall(limit_bytes=10000, pids=512) is not None) is is_broken


def test_what_is_gone_counts_nothing(tmp_path: Path) -> None:
    nothing = Cgroup(1, memory=tmp_path / "no", pids=tmp_path / "no", freezer=tmp_path / "no")
    assert nothing.used_bytes() == 0
    assert nothing.toll().oom_kills == 0
    assert nothing.processes() == []
    assert not nothing.freeze()


def test_freezing_is_written_in_each_versions_words(tmp_path: Path) -> None:
    one = a_v1(tmp_path / "1", freezer__state="THAWED")
    two = a_v2(tmp_path / "2", cgroup__freeze="0")
    assert one.freeze() and two.freeze()
    assert (tmp_path / "1/freezer.state").read_text(encoding="ascii") == "FROZEN"
    assert (tmp_path / "2/cgroup.freeze").read_text(encoding="ascii") == "1"
    assert one.thaw() and two.thaw()
    assert (tmp_path / "1/freezer.state").read_text(encoding="ascii") == "THAWED"


MOUNTS = """\
30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 24 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
33 24 0:29 /below /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
"""


def test_mounts_are_found_by_controller_and_partial_ones_are_not_used() -> None:
    found = cgroup_mounts(MOUNTS)
    assert found["memory"] == "/sys/fs/cgroup/memory"
    assert found[""] == "/sys/fs/cgroup/unified"
    assert "freezer" not in found


def test_a_path_that_leads_upwards_is_not_followed() -> None:
    assert own_cgroups("4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/../x\n") == {
        "memory": "/a/b",
        "cpu": "/c",
        "cpuacct": "/c",
    }


def a_host(root: Path, cgroups: str, mounts: str) -> None:
    write(root / "proc/7", cgroup=cgroups)
    write(root / "proc/self", mountinfo=mounts)


def test_on_a_host_with_both_the_one_with_the_memory_controller_is_taken(tmp_path: Path) -> None:
    a_host(tmp_path, "4:memory:/box\n5:pids:/box\n0::/box\n", MOUNTS)
    write(tmp_path / "sys/fs/cgroup/memory/box", memory__stat=V1_STAT)
    found = cgroup_of(7, tmp_path)
    assert found is not None
    assert (found.version, found.used_bytes()) == (1, 520)


def test_pure_v2_is_found_and_one_without_a_memory_controller_is_not(tmp_path: Path) -> None:
    a_host(tmp_path, "0::/box\n", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    assert cgroup_of(7, tmp_path) is None
    write(tmp_path / "sys/fs/cgroup/box", memory__stat=V2_STAT)
    found = cgroup_of(7, tmp_path)
    assert found is not None and found.version == 2
    assert cgroup_of(8, tmp_path) is None
