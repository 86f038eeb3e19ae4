"""Day arithmetic that every language's dates share; pure functions of a day."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MONTHS_IN_YEAR = 12
_DAYS_IN_WEEK = 7


def local_day(instant: datetime, zone: str) -> date:
    """Return the calendar day of an instant in a zone; an unknown zone or a naive instant is read as UTC."""
    aware = instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
    try:
        return aware.astimezone(_zone(zone)).date()
    except (OverflowError, ValueError):
        return aware.date()


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def plus(day: date, unit: str, count: int) -> date:
    """Return the day that is `count` units (`day`, `week`, `month`, `year`) later; a month's end stays in its month.

    Raises:
        OverflowError, ValueError: the result is not a date.
    """
    if unit in ("day", "week"):
        return day + timedelta(days=count * (_DAYS_IN_WEEK if unit == "week" else 1))
    months = count * (_MONTHS_IN_YEAR if unit == "year" else 1)
    index = day.year * _MONTHS_IN_YEAR + day.month - 1 + months
    year, month = divmod(index, _MONTHS_IN_YEAR)
    if not date.min.year <= year <= date.max.year:
        raise OverflowError("date value out of range")
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def start_of(unit: str, day: date) -> date:
    """Return the first day of the ISO week, month or year that a day is in."""
    if unit == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)


def weekday_of_week(day: date, weekday: int) -> date:
    """Return the weekday (0 is Monday) of the ISO week that a day is in."""
    return start_of("week", day) + timedelta(days=weekday)


def near_weekday(today: date, weekday: int, *, ahead: bool) -> date:
    """Return the next such weekday after today, or the latest before it."""
    if ahead:
        return today + timedelta(days=(weekday - today.weekday() - 1) % _DAYS_IN_WEEK + 1)
    return today - timedelta(days=(today.weekday() - weekday - 1) % _DAYS_IN_WEEK + 1)


def month_start(today: date, month: int, *, ahead: bool) -> date:
    """Return the first day of the next such month, or of the latest that has begun."""
    this_year = date(today.year, month, 1)
    if ahead and this_year <= today:
        return date(today.year + 1, month, 1)
    if not ahead and this_year > today:
        return date(today.year - 1, month, 1)
    return this_year


def day_in_year(today: date, month: int, day: int, *, ahead: bool) -> date:
    """Return the next such day from today on, or the latest up to today.

    Raises:
        ValueError: no such day in that year.
    """
    this_year = date(today.year, month, day)
    if ahead and this_year < today:
        return date(today.year + 1, month, day)
    if not ahead and this_year > today:
        return date(today.year - 1, month, day)
    return this_year
