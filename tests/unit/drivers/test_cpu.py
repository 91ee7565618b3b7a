"""CPU time of processes, read where no cgroup counts it."""

from __future__ import annotations

import os
import subprocess

from paddock.drivers.cpu import processes_s
from tests.kit.waiting import until


def test_what_this_process_took_is_what_the_kernel_counts() -> None:
    before = sum(os.times()[:4])
    found = processes_s([os.getpid()])
    assert before - 0.05 <= found <= sum(os.times()[:4]) + 0.05


def test_a_name_with_brackets_and_spaces_changes_nothing() -> None:
    script = "printf 'a) 1 2 (b' > /proc/self/comm; while :; do :; done"
    with subprocess.Popen(["sh", "-c", script]) as busy:
        try:
            until(lambda: processes_s([busy.pid]) >= 0.05, within_s=30)
            assert processes_s([busy.pid]) < 30
        finally:
            busy.kill()


def test_who_is_gone_took_nothing() -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    assert processes_s([done.pid, 1 << 30]) == 0
