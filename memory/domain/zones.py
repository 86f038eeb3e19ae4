"""IANA time zones by name."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo


def zone_of(name: str) -> tzinfo:
    """Return a zone; an empty or unknown name is UTC, since what was said is worth more than its exact hour."""
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError):
        return UTC


def start_of_day(day: date, zone: str) -> datetime:
    """Return the first instant of a day in a zone, in UTC; where a clock change skips midnight, the one after it."""
    return datetime.combine(day, time.min, zone_of(zone)).astimezone(UTC)
