"""How much is kept, as numbers."""

from __future__ import annotations

import pytest

from paddock.logs.keeping import LOGS_LABEL, MIB, NO_CAP_BYTES, Keeping, logs_label

USUAL = Keeping()


def test_a_quiet_agent_has_its_buffer_and_a_verbose_one_more() -> None:
    ten, minute = 10 * MIB, 60.0
    assert USUAL.limit_bytes(size_bytes=ten, age_s=11 * minute) == ten
    assert USUAL.limit_bytes(size_bytes=ten, age_s=9 * minute) == 25 * MIB
    assert USUAL.limit_bytes(size_bytes=MIB, age_s=0.0) == ten


def test_a_verbose_agent_gets_up_to_50_mb_and_never_more_than_half_of_all() -> None:
    for total, most in ((50, 25), (100, 50), (500, 50), (10, 5)):
        keeping = Keeping(total_bytes=total * MIB)
        assert keeping.limit_bytes(size_bytes=10 * MIB, age_s=1.0) == most * MIB
    large = Keeping(buffer_bytes=100 * MIB, total_bytes=500 * MIB)
    assert large.limit_bytes(size_bytes=100 * MIB, age_s=1.0) == 100 * MIB


def test_a_full_log_is_cut_at_the_buffer_and_has_no_cap() -> None:
    full = Keeping(full=True, total_bytes=10 * MIB)
    assert full.limit_bytes(size_bytes=10 * MIB, age_s=0.0) == 10 * MIB
    assert full.alone_bytes == NO_CAP_BYTES
    assert USUAL.alone_bytes == 50 * MIB


def test_a_label_brings_the_settings_of_a_run_and_nonsense_brings_the_usual() -> None:
    label = logs_label(1, 2, files=3, full=True)
    assert Keeping.of({LOGS_LABEL: label}, USUAL) == Keeping(
        buffer_bytes=1, total_bytes=2, files=3, full=True
    )


@pytest.mark.parametrize("label", ["", "1 2 3", "a b c d", "0 1 1 0", "-1 1 1 0", "1 2 3 4 5"])
def test_a_label_that_cannot_be_read_changes_nothing(label: str) -> None:
    assert Keeping.of({LOGS_LABEL: label}, USUAL) is USUAL
    assert Keeping.of({}, USUAL) is USUAL
