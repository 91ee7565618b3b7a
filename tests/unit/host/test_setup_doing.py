"""Setup done and taken back on a host made of files; the real effects are in tests/vm."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.config.layers import settings_of
from paddock.host.setup.changes import BY_KIND, Change, SwapOff, as_json, from_json
from paddock.host.setup.doing import apply, revert
from paddock.host.setup.ground import Failed
from paddock.host.setup.plan import plan
from paddock.host.setup.record import FILE, Record, alone
from paddock.host.setup.running import set_up, undo
from tests.kit.prepared_host import Host


@pytest.fixture(params=[(2, False), (1, False), (2, True), (1, True)], ids=str)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    version, systemd = request.param
    return Host(tmp_path, version=version, systemd=systemd)


def problems(host: Host) -> list[str]:
    return [text for step in host.set_up() for text in step.problems]


def left(host: Host) -> list[str]:
    return [done.problem for done in undo(host.ground) if done.problem]


def test_undo_gives_back_exactly_what_there_was(host: Host) -> None:
    before = host.picture()
    assert problems(host) == []
    assert host.picture() != before
    assert left(host) == []
    after = {name: text.replace(" 0 -2", " 1024 -2") for name, text in host.picture().items()}
    assert {name for name in after if after[name] != before.get(name)} == set()
    assert set(after) == set(before)


def test_a_second_setup_changes_nothing(host: Host) -> None:
    host.set_up()
    before = host.picture()
    assert [step.changes for step in plan(host.read())] == [()] * 6
    assert problems(host) == []
    assert host.picture() == before


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """In memory where there is such a place: every change is synced to the disk, several times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as name:
        yield Path(name)


def test_whatever_the_moment_of_an_interruption_undo_gives_all_back(quick_path: Path) -> None:
    count = sum(len(step.changes) for step in plan(Host(quick_path / "plan").read()))
    assert count > 15
    for moment in range(count):
        host = Host(quick_path / str(moment))
        before = host.picture()
        interrupt(host, after=moment)
        assert left(host) == [], moment
        after = host.picture()
        assert set(after) == set(before), moment
        assert after["etc/fstab"] == before["etc/fstab"]


def interrupt(host: Host, *, after: int) -> None:
    """Recorded and not done is the worst moment of each change."""
    record = Record(host.ground)
    changes = [change for step in plan(host.read()) for change in step.changes]
    for change in changes[:after]:
        record.add(change)
        apply(change, host.ground)
    record.add(changes[after])


def test_setup_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    whole, halved = Host(tmp_path / "whole"), Host(tmp_path / "halved")
    whole.set_up()
    interrupt(halved, after=9)
    assert problems(halved) == []
    one, other = whole.picture(), halved.picture()
    record = FILE.lstrip("/")
    assert {name for name in one if one[name] != other[name]} <= {record}
    assert left(halved) == []
    assert halved.picture()["etc/fstab"] == Host(tmp_path / "new").picture()["etc/fstab"]


def test_a_change_that_fails_is_said_and_stops_no_other(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.programs.fails = "swapoff"
    done = host.set_up()
    assert [text for step in done for text in step.problems] == [
        "`swapoff /dev/sda2` failed: not today"
    ]
    assert (
        "/var/lib/paddock/scratch" in host.machine.root.joinpath("proc/self/mountinfo").read_text()
    )
    assert not any(isinstance(change, SwapOff) for change in Record(host.ground).changes)


def test_what_somebody_changed_since_is_left_and_said(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.set_up()
    host.machine.write("/etc/sysctl.d/60-paddock.conf", "mine = 1\n")
    host.machine.write("/proc/sys/vm/max_map_count", "777\n")
    host.machine.write("/var/lib/paddock/workspaces/work", "of an agent")
    said = "\n".join(left(host))
    assert "60-paddock.conf was changed since" in said
    assert "vm.max_map_count was set to 777 since" in said
    assert "workspaces is not empty" in said
    # Mended, the rest can be taken back, too.
    for path in ("etc/sysctl.d/60-paddock.conf", "var/lib/paddock/workspaces/work"):
        (tmp_path / path).unlink()
    host.machine.write("/proc/sys/vm/max_map_count", "100\n")
    assert left(host) == []
    assert not (tmp_path / "var/lib/paddock").exists()


def test_lines_that_others_added_to_fstab_meanwhile_stay(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.set_up()
    fstab = tmp_path / "etc/fstab"
    fstab.write_text(fstab.read_text() + "UUID=2 /data ext4 defaults 0 2\n")
    assert left(host) == []
    assert fstab.read_text() == (
        "UUID=1 / ext4 defaults 0 1\n/dev/sda2 none swap sw 0 0\n# a comment\n"
        "UUID=2 /data ext4 defaults 0 2\n"
    )


def test_a_fstab_without_a_last_newline_is_given_back_as_it_was(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.machine.write("/etc/fstab", "/dev/sda2 none swap sw 0 0")
    change = plan(host.read())[1].changes[0]
    apply(change, host.ground)
    assert (tmp_path / "etc/fstab").read_text().startswith("# off by `paddock host setup`")
    assert revert(change, host.ground) is None
    assert (tmp_path / "etc/fstab").read_text() == "/dev/sda2 none swap sw 0 0"


def test_swap_comes_back_with_its_priority(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.machine.write("/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 p 9 0 100\n")
    host.set_up()
    left(host)
    assert "swapon -p 100 /dev/zram0" in host.programs.ran


def test_a_record_that_cannot_be_read_stops_everything(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.machine.write(FILE, '{"format": 99}')
    with pytest.raises(Failed, match="cannot be understood"):
        host.set_up()
    assert host.programs.ran == []


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    host = Host(tmp_path)
    with alone(host.ground), pytest.raises(Failed, match="another `paddock host setup`"):
        host.set_up()


def test_the_written_configuration_is_one_that_paddock_reads(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.set_up()
    settings = settings_of({"host": tmp_path / "etc/paddock/config.yaml"})
    assert settings.profile.value == "host"


def test_every_kind_of_change_survives_being_written_down(tmp_path: Path) -> None:
    seen: dict[str, Change] = {}
    for version, systemd in ((2, False), (1, True), (2, True)):
        host = Host(tmp_path / f"{version}{systemd}", version=version, systemd=systemd)
        host.machine.write("/etc/systemd/system/a.swap", "[Swap]\n")
        host.machine.write("/etc/fstab", "")
        if version == 2:
            (host.machine.root / "sys/fs/cgroup/paddock").mkdir()
        for step in plan(host.read()):
            seen |= {change.kind: change for change in step.changes}
    assert {kind for kind in BY_KIND if kind not in seen} <= {"owner", "linger"}
    for change in seen.values():
        assert from_json(json.loads(json.dumps(as_json(change)))) == change


def test_an_unknown_change_is_no_change() -> None:
    with pytest.raises(ValueError, match="not a change that this paddock knows"):
        from_json({"kind": "earthquake"})


def test_setup_stops_between_changes_when_nothing_can_be_recorded(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (tmp_path / "var/lib/paddock").write_text("in the way")
    with pytest.raises(Failed, match=r"setup\.json cannot be written"):
        list(set_up(plan(host.read()), host.ground))
    assert host.programs.ran == []
