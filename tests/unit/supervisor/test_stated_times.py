"""When to try again, in the words of agent programs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

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
        ("epoch", "1700000000", None),  # long over
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
    ],
)
def test_each_form(kind: str, text: str, seconds: float | None) -> None:
    found = wait_s(kind, text, NOW)
    assert found == (None if seconds is None else pytest.approx(seconds, abs=1e-3))


def test_a_date_in_the_next_year_is_not_over() -> None:
    """Said without a year, on New Year's Eve."""
    eve = datetime(2026, 12, 31, 23, 0, tzinfo=UTC)
    assert wait_s("at", "Jan 1, 1am", eve) == pytest.approx(timedelta(hours=2).total_seconds())
