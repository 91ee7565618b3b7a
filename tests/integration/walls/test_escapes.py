"""Processes that leave their walls: put back, ended, or gone with their agent; tests/vm too."""

from __future__ import annotations

from paddock.cgroups.mounts import cgroups_of
from paddock.core.events import Emptied, Exited, LimitPassed, Noticed, Started
from paddock.core.units import MIB
from tests.kit.keeping import PYTHON
from tests.kit.walls import WalledStable, within_walls


@within_walls()
async def test_one_that_leaves_its_cgroup_is_put_back_within_two_looks(
    stable: WalledStable,
) -> None:
    files = " ".join(stable.home.supervisor.procs)
    stable.home.supervisor.ensure()
    script = f"for f in {files}; do echo $$ > $f; done; echo out; exec sleep 60"
    attempt = stable.start("sh", "-c", script, limit_bytes=64 * MIB)
    await stable.until(lambda: b"out" in stable.written(attempt))
    looks = await stable.look_until(lambda: bool(stable.of(Noticed, attempt)))
    assert looks <= 2
    note = stable.of(Noticed, attempt)[0].note
    assert "had left its cgroup and was put back" in note
    pid = int(note.split()[1])
    assert stable.walls.is_inside(attempt, cgroups_of(pid))


@within_walls()
async def test_one_that_leaves_a_single_tree_is_put_back(stable: WalledStable) -> None:
    """v1 has one for each wall. None of them keeps a mark by which it could be known."""
    stable.home.supervisor.ensure()
    for count, file in enumerate(stable.home.supervisor.procs):
        leave = f"echo $$ > {file}; echo out; exec env -i sleep 60"
        attempt = stable.start("sh", "-c", leave, run=f"leaver-{count}", limit_bytes=64 * MIB)
        await stable.until(lambda one=attempt: b"out" in stable.written(one))  # type: ignore[misc]
        await stable.look_until(lambda one=attempt: bool(stable.of(Noticed, one)))  # type: ignore[misc]
        note = stable.of(Noticed, attempt)[0].note
        assert "had left its cgroup and was put back" in note
        assert stable.walls.is_inside(attempt, cgroups_of(int(note.split()[1])))


@within_walls()
async def test_a_cgroup_elsewhere_that_is_called_as_its_own_hides_nobody(
    stable: WalledStable,
) -> None:
    others = stable.home.group.child("else")
    procs = " ".join(f"{path.removesuffix('/cgroup.procs')}" for path in others.procs)
    own = "fleet/$PADDOCK_RUN.$PADDOCK_ATTEMPT_NUMBER"
    script = f"for d in {procs}; do mkdir -p $d/{own}; echo $$ > $d/{own}/cgroup.procs; done; "
    attempt = stable.start("sh", "-c", f"{script} echo out; exec sleep 60", limit_bytes=64 * MIB)
    await stable.until(lambda: b"out" in stable.written(attempt))
    await stable.look_until(lambda: bool(stable.of(Noticed, attempt)))
    note = stable.of(Noticed, attempt)[0].note
    assert "had left its cgroup and was put back" in note
    assert stable.walls.is_inside(attempt, cgroups_of(int(note.split()[1])))
    assert others.remove()


@within_walls()
async def test_who_leaves_again_and_again_is_stopped(stable: WalledStable) -> None:
    files = " ".join(stable.home.supervisor.procs)
    stable.home.supervisor.ensure()
    script = f"while :; do for f in {files}; do echo $$ > $f; done; sleep 0.3; done"
    attempt = stable.start("sh", "-c", script, limit_bytes=64 * MIB)
    await stable.hear(Started, attempt)
    await stable.look_until(lambda: bool(stable.of(LimitPassed, attempt)))
    assert "left its cgroup 3 times" in stable.of(LimitPassed, attempt)[0].reason


@within_walls()
async def test_a_stray_without_mark_parent_or_session_does_not_outlive_its_agent(
    stable: WalledStable,
) -> None:
    leave = (
        "import os, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "os.execve('/bin/sleep', ['sleep', '60'], {})"
    )
    script = f'{" ".join(PYTHON)} -c "$1"; sleep 0.3; exit 0'
    attempt = stable.start("sh", "-c", script, "sh", leave, limit_bytes=64 * MIB)
    ended = await stable.hear(Exited, attempt)
    if not ended.empty:
        await stable.hear(Emptied, attempt)
    assert not stable.walls.pids(attempt)
