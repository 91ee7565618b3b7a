"""Whom the kernel killed, as its log tells it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from paddock.drivers.victims import KernelLog, largest

CHOSEN = (
    b"4,1234,5678,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
    b"oom_memcg=/paddock-x/fleet/ab.1,task_memcg=/paddock-x/fleet/ab.1/main,task=tail,pid=247,uid=0"
)
KILLED = (
    b"3,1235,5679,-;Memory cgroup out of memory: Killed process 247 (tail) total-vm:67320kB, "
    b"anon-rss:64732kB, file-rss:1280kB, shmem-rss:0kB, UID:0 pgtables:172kB oom_score_adj:700"
)


class Kmsg:
    """A pipe gives records one by one, as /dev/kmsg does, when each is written by itself."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "kmsg"
        self.path.write_bytes(b"")

    def say(self, *records: bytes) -> None:
        with self.path.open("ab") as file:
            for record in records:
                file.write(record.ljust(8192, b" "))  # one read, one record


def test_the_victim_of_a_cgroup_is_named_with_its_size(tmp_path: Path) -> None:
    kmsg = Kmsg(tmp_path)
    kmsg.say(KILLED)  # before our time
    log = KernelLog(str(kmsg.path))
    assert log.victim("ab.1/main") is None
    kmsg.say(b"6,1,1,-;something else", CHOSEN, KILLED)
    assert log.victim("ab.1/main") == "tail (process 247, 63.2 MiB)"
    assert log.victim("b.1/main") is None
    assert log.victim("other.1/main") is None
    log.close()


def test_a_kill_that_was_of_another_choice_is_nobodys(tmp_path: Path) -> None:
    kmsg = Kmsg(tmp_path)
    log = KernelLog(str(kmsg.path))
    kmsg.say(CHOSEN, KILLED.replace(b"247", b"248"))
    assert log.victim("ab.1/main") is None
    log.close()


def test_where_the_log_may_not_be_read_nothing_is_known() -> None:
    log = KernelLog("/no/such/file")
    assert log.victim("ab.1/main") is None
    log.close()


def test_the_largest_process_is_named_with_its_command() -> None:
    other = subprocess.Popen(["sleep", "30"])
    try:
        found = largest([os.getpid(), other.pid, 99999999])
    finally:
        other.kill()
        other.wait()
    assert found is not None and f"(process {os.getpid()}, " in found
    assert largest([]) is None
