"""Relative and absolute dates of English: what day 'in March', 'last week' or 'next Friday' is, seen from a day.

Conventions, where people differ: 'next Friday' is the Friday of the next ISO week; 'last Friday' the latest one before
today; a period ('last week', 'in 2019', 'last month') is its first day; a bare month or weekday is the latest one for
something that happened and the next one for something that will.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

from memory.domain.statements import calendar_days as days

Direction = Literal["past", "future"]

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
            "nine": 9, "ten": 10, "a couple of": 2}  # fmt: skip
_SEASON_MONTH = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_HOLIDAYS = {"christmas": (12, 25), "christmas eve": (12, 24), "new year's eve": (12, 31), "valentine's day": (2, 14),
             "halloween": (10, 31)}  # fmt: skip

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PREPOSITION = (
    r"(?:(?:since|from|by|until|till|on|in|at|during|around|back in|starting|as of|early|late|this coming|for)\s+){0,2}"
)
_COUNT = r"(?:\d{1,3}|a couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten)"

_PATTERN = re.compile(
    rf"\b(?:{_PREPOSITION})(?:the\s+)?(?:(?P<iso>{_YEAR}-(?:1[0-2]|0[1-9])-(?:3[01]|[12]\d|0[1-9]))"
    rf"|(?P<day>{_DAY})(?:st|[nr]d|th)?\s+(?:of\s+)?(?P<month>{_MONTH})\b\.?(?:,?\s+(?P<year>{_YEAR}))?"
    rf"|(?P<month2>{_MONTH})\.?\s+(?P<day2>{_DAY})(?:st|[nr]d|th)?\b(?!:)(?:,?\s+(?P<year2>{_YEAR}))?"
    rf"|(?P<relative>day after tomorrow|day before yesterday|today|tonight|tomorrow|yesterday|this morning|this "
    rf"afternoon|this evening|last night)"
    rf"|(?P<which>next|last|this|this coming|coming|past)\s+(?P<unit>week|weekend|month|year|{_WEEKDAY}|{_MONTH}"
    rf"|spring|summer|autumn|fall|winter)|(?P<ago>{_COUNT})\s+(?P<ago_unit>day|week|month|year)s?\s+ago"
    rf"|(?P<weekday>{_WEEKDAY})|(?P<holiday>christmas eve|christmas|new year's eve|valentine's day|halloween)"
    rf")\b|\bin\s+(?P<ahead>{_COUNT})\s+(?P<ahead_unit>day|week|month|year)s?\b"
    rf"|\b(?:since|in|from|by|until|of|back in|around)\s+(?:early\s+|late\s+"
    rf"|mid-?)?(?:(?P<month3>{_MONTH})\.?\s*,?\s*)?(?P<year3>{_YEAR})\b"
    rf"|\b(?:since|in|from|by|until|during|back in|around|for)\s+(?:early\s+|late\s+|mid-?)?(?P<month4>{_MONTH})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DateHit:
    """A date and where its words stand."""

    day: date
    start: int
    end: int


def find(text: str, today: date, direction: Direction) -> DateHit | None:
    """Return the first date in a clause, or None.

    Args:
        text: a clause.
        today: the day of speaking, in the speaker's zone.
        direction: which way an incomplete date points.
    """
    for match in _PATTERN.finditer(text):
        day = _resolve(match, today, direction)
        if day is not None:
            return DateHit(day, match.start(), match.end())
    return None


def leading(text: str) -> int:
    """Return how many characters a date at the very beginning takes; 0 when there is none."""
    match = _PATTERN.match(text)
    return match.end() if match else 0


def _resolve(match: re.Match[str], today: date, direction: Direction) -> date | None:
    found = match.groupdict()
    for group, resolve in _RESOLVERS:
        if found[group]:
            try:
                return resolve(found, today, direction)
            except (ValueError, OverflowError):
                return None
    return None


def _month(words: str) -> int:
    return next(index for index, name in enumerate(_MONTHS, 1) if name.startswith(words.lower().rstrip(".")[:3]))


def _weekday(words: str) -> int:
    return _WEEKDAYS.index(words.lower())


def _count(words: str) -> int:
    return _NUMBERS.get(words.lower()) or int(words)


def _iso(found: dict[str, str], _today: date, _direction: Direction) -> date:
    return date.fromisoformat(found["iso"])


def _day_month(found: dict[str, str], today: date, direction: Direction) -> date:
    day, month = int(found["day"] or found["day2"]), _month(found["month"] or found["month2"])
    year = found["year"] or found["year2"]
    return date(int(year), month, day) if year else days.day_in_year(today, month, day, ahead=direction == "future")


def _relative(found: dict[str, str], today: date, _direction: Direction) -> date:
    offsets = {"day after tomorrow": 2, "tomorrow": 1, "yesterday": -1, "last night": -1, "day before yesterday": -2}
    return days.plus(today, "day", offsets.get(found["relative"].lower(), 0))


def _which(found: dict[str, str], today: date, direction: Direction) -> date:
    which, unit = found["which"].lower(), found["unit"].lower()
    step = {"next": 1, "last": -1, "past": -1}.get(which, 0)
    if unit in ("week", "month", "year"):
        return days.start_of(unit, days.plus(today, unit, step))
    if unit == "weekend":
        return days.weekday_of_week(days.plus(today, "week", step), _WEEKDAYS.index("saturday"))
    ahead = step > 0 or (step == 0 and direction == "future")
    if unit in _WEEKDAYS:
        return _which_weekday(today, _weekday(unit), step)
    month = _SEASON_MONTH.get(unit) or _month(unit)
    return days.month_start(today, month, ahead=ahead)


def _which_weekday(today: date, weekday: int, step: int) -> date:
    if step > 0:
        return days.weekday_of_week(days.plus(today, "week", 1), weekday)
    return days.near_weekday(today, weekday, ahead=step == 0)


def _ago(found: dict[str, str], today: date, _direction: Direction) -> date:
    return days.plus(today, found["ago_unit"].lower(), -_count(found["ago"]))


def _ahead(found: dict[str, str], today: date, _direction: Direction) -> date:
    return days.plus(today, found["ahead_unit"].lower(), _count(found["ahead"]))


def _bare_weekday(found: dict[str, str], today: date, direction: Direction) -> date:
    return days.near_weekday(today, _weekday(found["weekday"]), ahead=direction == "future")


def _holiday(found: dict[str, str], today: date, direction: Direction) -> date:
    month, day = _HOLIDAYS[found["holiday"].lower()]
    return days.day_in_year(today, month, day, ahead=direction == "future")


def _year(found: dict[str, str], _today: date, _direction: Direction) -> date:
    return date(int(found["year3"]), _month(found["month3"]) if found["month3"] else 1, 1)


def _bare_month(found: dict[str, str], today: date, direction: Direction) -> date:
    return days.month_start(today, _month(found["month4"]), ahead=direction == "future")


_RESOLVERS = (
    ("iso", _iso),
    ("day", _day_month),
    ("day2", _day_month),
    ("relative", _relative),
    ("which", _which),
    ("ago", _ago),
    ("ahead", _ahead),
    ("weekday", _bare_weekday),
    ("holiday", _holiday),
    ("year3", _year),
    ("month4", _bare_month),
)
