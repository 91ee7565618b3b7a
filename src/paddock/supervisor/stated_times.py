"""When to try again, as programs say it: seconds, `1h 5m`, an epoch, `3pm (Europe/Berlin)`."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LONGEST: Final = 80
MILLISECONDS: Final = 1e11  # an epoch above that is no number of seconds
# "resets 3pm", read at 3:01: that was a minute ago, and is not tomorrow.
JUST_NOW: Final = timedelta(minutes=10)
HALF_A_YEAR: Final = timedelta(days=183)  # a date without a year is the nearest one
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_WORDS: Final = {"sec": "s", "min": "m", "hour": "h", "hr": "h", "day": "d", "week": "w"}
_PART: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?([a-z]{0,12})")
_ZONE: Final = re.compile(r"\(?\b(UTC|GMT|[A-Z][A-Za-z_]+/[A-Za-z_/+-]+)\)?$")
_NTH: Final = re.compile(r"\b([0-9]{1,2})(?:st|nd|rd|th)\b")
_CLOCKS: Final = ("%I %p", "%I:%M %p", "%H:%M", "%H:%M:%S")
_DATES: Final = ("%b %d %Y", "%B %d %Y", "%b %d", "%B %d", "%Y-%m-%d")


def wait_s(kind: str, text: str, now: datetime) -> float | None:
    """Seconds from now; None where that cannot be told, or is over: then the usual pause counts."""
    text = text.strip()[:LONGEST]
    match kind:
        case "seconds":
            found = _number(text)
        case "epoch":
            found = _since(_number(text), now)
        case "duration":
            found = _duration(text)
        case _:
            found = _until(text, now)
    return found if found is not None and 0 < found < math.inf else None


def read_time(text: str) -> datetime | None:
    """As ISO 8601 or HTTP write it; without a zone where it names none. None: it is no time."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _since(epoch: float | None, now: datetime) -> float | None:
    if epoch is None:
        return None
    return (epoch / 1000 if epoch > MILLISECONDS else epoch) - now.timestamp()


def _duration(text: str) -> float | None:
    total = 0.0
    for number, word in _PART.findall(text.lower()):
        unit = word if word in _UNITS else word.rstrip("s")
        unit = next((short for long, short in _WORDS.items() if unit.startswith(long)), unit)
        if (unit or "s") not in _UNITS:
            return None
        total += float(number) * _UNITS[unit or "s"]
    return total


def _until(text: str, now: datetime) -> float | None:
    at = _exact(text, now) or _clock(text, now)
    return None if at is None else (at - now).total_seconds()


def _exact(text: str, now: datetime) -> datetime | None:
    at = read_time(text) if "-" in text or "," in text else None
    return at if at is None or at.tzinfo is not None else at.replace(tzinfo=now.tzinfo)


def _clock(text: str, now: datetime) -> datetime | None:
    """A time of day, with a day before it or not; of those to come the next."""
    text, zone = _zone(text, now)
    here = now.astimezone(zone)
    words = re.sub(r"\s+", " ", _NTH.sub(r"\1", text).replace(",", " ").replace(" at ", " "))
    words = re.sub(r"(?<=[0-9])\s?([ap])\.?m\.?$", r" \1m", words.strip().rstrip("."), flags=re.I)
    for clock in _CLOCKS:
        at = _read(words, clock)
        if at is not None:
            today = here.replace(hour=at.hour, minute=at.minute, second=at.second, microsecond=0)
            return today if today > here - JUST_NOW else today + timedelta(days=1)
        for day in _DATES:
            # Without a year strptime would take 1900, which had no 29th of February.
            dated = (f"{words} {here.year}", f"{day} {clock} %Y")
            at = _read(*dated) if "%Y" not in day else _read(words, f"{day} {clock}")
            if at is not None:
                at = at.replace(tzinfo=zone)
                is_next = "%Y" not in day and at < here - HALF_A_YEAR
                return _a_year_on(at) if is_next else at
    return None


def _a_year_on(at: datetime) -> datetime | None:
    try:
        return at.replace(year=at.year + 1)
    except ValueError:
        return None  # the 29th of February is no day of that year


def _zone(text: str, now: datetime) -> tuple[str, tzinfo | None]:
    found = _ZONE.search(text)
    if found is None:
        return text, now.tzinfo
    try:
        return text[: found.start()].strip(), ZoneInfo(found[1])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return text[: found.start()].strip(), now.tzinfo


def _read(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None
