"""When to try again, in the words of agent programs."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.supervisor.later import seconds_in
from paddock.supervisor.stated_times import wait_s

NOW = datetime(2026, 11, 16, 14, 30, tzinfo=ZoneInfo("Europe/Berlin"))  # 13:30 UTC
HOUR = 3600.0


@pytest.mark.parametrize(
    ("kind", "text", "seconds"),
    [
        ("seconds", "90", 90.0),
        ("seconds", "1.5", 1.5),
        ("seconds", "soon", None),
        ("seconds", "0", None),
        ("seconds", "-5", None),
        ("epoch", str(int(NOW.timestamp()) + 600), 600.0),
        ("epoch", str((int(NOW.timestamp()) + 600) * 1000), 600.0),
        ("seconds", "inf", None),
        ("seconds", "Infinity", None),
        ("seconds", "nan", None),
        ("seconds", "1e999", None),
        ("epoch", "1700000000", None),  # long over
        ("epoch", "inf", None),
        ("epoch", "nan", None),
        ("duration", "1h2m3s", 3723.0),
        ("duration", "20ms", 0.02),
        ("duration", "1.5 s", 1.5),
        ("duration", "2 hours 5 minutes", 2 * HOUR + 300),
        ("duration", "3 days", 72 * HOUR),
        ("duration", "45", 45.0),
        ("duration", "1 fortnight", None),
        ("duration", "a while", None),
        ("at", "3pm", 1800.0),
        ("at", "3:05 PM", 2100.0),
        ("at", "3 p.m.", 1800.0),
        ("at", "15:00", 1800.0),
        ("at", "2pm", 23.5 * HOUR),  # tomorrow's
        ("at", "2:25pm", None),  # a moment ago, so now
        ("at", "3pm (Europe/Berlin)", 1800.0),
        ("at", "3pm (UTC)", 1.5 * HOUR),
        ("at", "3pm (No/Where)", 1800.0),
        ("at", "9am (America/New_York)", 0.5 * HOUR),
        ("at", "Nov 17, 2:30pm", 24 * HOUR),
        ("at", "Nov 17 at 2:30pm (Europe/Berlin)", 24 * HOUR),
        ("at", "Nov 17th, 2026 2:30 PM", 24 * HOUR),
        ("at", "2026-11-16T14:31:00+01:00", 60.0),
        ("at", "2026-11-16T13:31:00Z", 60.0),
        ("at", "2026-11-16 14:31", 60.0),
        ("at", "Mon, 16 Nov 2026 13:31:00 GMT", 60.0),
        ("at", "next week", None),
        ("at", "", None),
        ("at", "9" * 500, None),
        ("at", "Thu, 01 Jan 99999 00:00:00 GMT", None),
        ("at", "Mon, 16 Nov 2026 13:31:00 +999999", None),
        ("at", "-,", None),
    ],
)
def test_each_form(kind: str, text: str, seconds: float | None) -> None:
    found = wait_s(kind, text, NOW)
    assert found == (None if seconds is None else pytest.approx(seconds, abs=1e-3))


def test_a_date_in_the_next_year_is_not_over() -> None:
    """Said without a year, on New Year's Eve."""
    eve = datetime(2026, 12, 31, 23, 0, tzinfo=UTC)
    assert wait_s("at", "Jan 1, 1am", eve) == pytest.approx(timedelta(hours=2).total_seconds())


def test_a_day_that_the_next_year_has_not_is_no_time() -> None:
    late = datetime(2028, 12, 31, 23, 0, tzinfo=UTC)
    assert wait_s("at", "Feb 29, 1am", late) is None


@given(
    kind=st.sampled_from(("seconds", "epoch", "duration", "at")),
    text=st.text(max_size=90) | st.text("0123456789:-+., TZapm()inf", max_size=30),
)
def test_whatever_a_program_says_it_is_a_pause_or_nothing(kind: str, text: str) -> None:
    found = wait_s(kind, text, NOW)
    assert found is None or 0 < found < math.inf


@given(text=st.text(max_size=90) | st.text("0123456789:-+., TZGMTinf", max_size=40))
def test_so_it_is_with_what_an_agent_writes_down(text: str) -> None:
    found = seconds_in(text, written_at=NOW.timestamp(), now=NOW.timestamp())
    assert found is None or 0 <= found < math.inf
