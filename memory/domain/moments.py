"""Times that a question names, such as `in May`, `on 8 May 2023`, `last week`, as ranges of instants.

They lift what was said then; they never filter, because people often tell of a day on another day. A month without a
year means that month of any of the last years. The question's zone is not known, so ranges are half a day wider on
both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

SLACK = timedelta(hours=12)
TOLD_WITHIN = timedelta(days=6)
"""A day is mostly told of on the day itself or in the week after it."""

YEARS_BACK = 10
MAX_RANGES = 40

_MONTHS = (
    "january jan січень січня січні januar",
    "february feb лютий лютого лютому februar",
    "march mar березень березня березні märz",
    "april apr квітень квітня квітні",
    "may травень травня травні mai",
    "june jun червень червня червні juni",
    "july jul липень липня липні juli",
    "august aug серпень серпня серпні",
    "september sep sept вересень вересня вересні",
    "october oct жовтень жовтня жовтні oktober",
    "november nov листопад листопада листопаді",
    "december dec грудень грудня грудні dezember",
)
_MONTH_BY_NAME = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_ALSO_WORDS = frozenset({"may", "march", "mar", "august", "jun", "jan", "sep", "dec", "mai", "лютий"})
"""Months that are also words or names; they count with a number beside them or a preposition before them."""

_NAMES = "|".join(sorted(_MONTH_BY_NAME, key=len, reverse=True))
_MONTH = re.compile(
    rf"(?:(?P<before>in|on|of|since|during|until|by|from|late|early|mid|last|this|у|в|з|im|am)\s+(?:the\s+)?)?"
    rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?)?"
    rf"\b(?P<month>{_NAMES})\b\.?"
    rf"(?:\s+(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d|:))?(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d))?",
    re.IGNORECASE,
)
_ISO_DAY = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b")
_YEAR = re.compile(r"(?<![-\d$€£])\b(?P<year>(?:19|20)\d\d)\b(?!-\d)")
_RELATIVE = (
    (re.compile(r"\b(?:today|tonight|сьогодні|heute)\b", re.IGNORECASE), 0, 0),
    (re.compile(r"\b(?:yesterday|last night|вчора|учора|gestern)\b", re.IGNORECASE), 1, 1),
    (re.compile(r"\b(?:this week|цього тижня|diese woche)\b", re.IGNORECASE), 7, 0),
    (re.compile(r"\b(?:last week|минулого тижня|letzte woche)\b", re.IGNORECASE), 14, 4),
    (re.compile(r"\b(?:this month|цього місяця|diesen monat)\b", re.IGNORECASE), 31, 0),
    (re.compile(r"\b(?:last month|минулого місяця|letzten monat)\b", re.IGNORECASE), 62, 15),
)
"""Words, and how many days before now their range begins and ends."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Instants from `start` to before `end`, UTC."""

    start: datetime
    end: datetime

    def literal(self) -> str:
        """Return PostgreSQL's text of the range."""
        return f"[{self.start.isoformat()},{self.end.isoformat()})"


def time_ranges(text: str, now: datetime) -> list[TimeRange]:
    """Return the ranges that a question names, at most `MAX_RANGES`; none for a question without a time.

    Args:
        text: the question.
        now: UTC, for relative words and months without a year.
    """
    found = [*_iso_days(text), *_months(text, now), *_relative(text, now)]
    if not found:
        found = [
            _days(date(int(match["year"]), 1, 1), date(int(match["year"]), 12, 31)) for match in _YEAR.finditer(text)
        ]
    return found[:MAX_RANGES]


def _iso_days(text: str) -> Iterator[TimeRange]:
    for match in _ISO_DAY.finditer(text):
        day = _date(int(match["year"]), int(match["month"]), int(match["day"]))
        if day:
            yield _days(day, day + TOLD_WITHIN)


def _months(text: str, now: datetime) -> Iterator[TimeRange]:
    for match in _MONTH.finditer(text):
        if not _is_month(match):
            continue
        month = _MONTH_BY_NAME[match["month"].lower()]
        day = int(match["day"] or match["day_after"] or 0)
        years = [int(match["year"])] if match["year"] else range(now.year, now.year - YEARS_BACK, -1)
        for year in years:
            if day and (first := _date(year, month, day)):
                yield _days(first, first + TOLD_WITHIN)
            elif not day:
                yield _days(date(year, month, 1), date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1))


def _is_month(match: re.Match[str]) -> bool:
    if match["month"].lower() not in _ALSO_WORDS:
        return True
    return any(match[group] for group in ("before", "day", "day_after", "year"))


def _relative(text: str, now: datetime) -> Iterator[TimeRange]:
    today = now.astimezone(UTC).date()
    for pattern, begins, ends in _RELATIVE:
        if pattern.search(text):
            yield _days(today - timedelta(days=begins), today - timedelta(days=ends))


def _days(first: date, last: date) -> TimeRange:
    start = datetime.combine(first, time.min, tzinfo=UTC)
    end = datetime.combine(last + timedelta(days=1), time.min, tzinfo=UTC)
    return TimeRange(start - SLACK, end + SLACK)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
