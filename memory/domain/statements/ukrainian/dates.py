"""Dates of Ukrainian: 'у березні', 'минулого тижня', '5 травня', 'у п'ятницю'. Conventions as in English."""

from __future__ import annotations

import re
from datetime import date

from memory.domain.statements import calendar_days as days

_MONTH_STEMS = ("січ", "лют", "берез", "квіт", "трав", "черв", "лип", "серп", "верес", "жовт", "листопад", "груд")
_GENITIVE_MONTHS = (
    "січня", "лютого", "березня", "квітня", "травня", "червня", "липня", "серпня", "вересня", "жовтня", "листопада",
    "грудня",
)  # fmt: skip
_WEEKDAYS = {"понеділок": 0, "вівторок": 1, "середу": 2, "четвер": 3, "п'ятницю": 4, "суботу": 5, "неділю": 6}
_YEARS = {"торік": -1, "позаторік": -2}
_RELATIVE = {"позавчора": -2, "вчора": -1, "учора": -1, "сьогодні": 0, "завтра": 1, "післязавтра": 2}
_UNITS = {
    "тижн": "week",
    "місяц": "month",
    "рок": "year",
    "рік": "year",
    "день": "day",
    "дні": "day",
    "тижд": "week",
    "міся": "month",
}

_PATTERN = re.compile(
    rf"\b(?:(?P<day>3[01]|[12]\d|0?[1-9])(?:-?го)? (?P<month>{'|'.join(_GENITIVE_MONTHS)})(?: (?P<year>(?:19|20)\d\d))?"
    rf"|(?P<years>{'|'.join(_YEARS)})|(?P<relative>{'|'.join(_RELATIVE)})"
    r"|(?P<which>минулого|наступного|цього) (?P<unit>тижня|місяця|року)"
    r"|(?:[ув]|на|в цей|у цей) (?P<weekday>понеділок|вівторок|середу|четвер|п'ятницю|суботу|неділю)"
    r"|(?:[ув]|з|із|з початку) (?P<year2>(?:19|20)\d\d)(?:-го|-му)?(?: році| року)?"
    r"|(?:[ув]|наприкінці|на початку) (?P<month2>січні|лютому|березні|квітні|травні|червні|липні|серпні|вересні"
    r"|жовтні|листопаді|грудні)|(?P<ago>\d{1,3}) (?P<ago_unit>днів|дні|тижні|тижнів|місяці|місяців|роки|років) тому"
    r"|(?P<one>рік|тиждень|місяць) тому)\b",
    re.IGNORECASE,
)


def find(text: str, today: date, *, ahead: bool) -> date | None:
    """Return the first date in a clause, or None.

    Args:
        text: a clause.
        today: the day of speaking, in the speaker's zone.
        ahead: whether an incomplete date lies in the future.
    """
    for match in _PATTERN.finditer(text):
        try:
            return _resolve({key: value.lower() for key, value in match.groupdict().items() if value}, today, ahead)
        except (ValueError, OverflowError):
            continue
    return None


def birthday(text: str) -> str:
    """Return the day and month at the beginning of a text, as said: '5 травня'."""
    match = _PATTERN.match(text)
    if match is None or not match["day"]:
        return ""
    year = f" {match['year']}" if match["year"] else ""
    return f"{int(match['day'])} {match['month'].lower()}{year}"


def _resolve(found: dict[str, str], today: date, ahead: bool) -> date:
    if "day" in found:
        day, month = int(found["day"]), _GENITIVE_MONTHS.index(found["month"]) + 1
        return (
            date(int(found["year"]), month, day)
            if "year" in found
            else days.day_in_year(today, month, day, ahead=ahead)
        )
    if "relative" in found:
        return days.plus(today, "day", _RELATIVE[found["relative"]])
    if "years" in found:
        return date(today.year + _YEARS[found["years"]], 1, 1)
    if "weekday" in found:
        return days.near_weekday(today, _WEEKDAYS[found["weekday"]], ahead=ahead)
    return _period(found, today, ahead)


def _period(found: dict[str, str], today: date, ahead: bool) -> date:
    if "year2" in found:
        return date(int(found["year2"]), 1, 1)
    if "month2" in found:
        stem = next(index for index, name in enumerate(_MONTH_STEMS, 1) if found["month2"].startswith(name))
        return days.month_start(today, stem, ahead=ahead)
    if "which" in found:
        unit = _unit(found["unit"])
        step = {"минулого": -1, "наступного": 1}.get(found["which"], 0)
        return days.start_of(unit, days.plus(today, unit, step))
    count = int(found.get("ago", "1"))
    return days.plus(today, _unit(found.get("ago_unit") or found["one"]), -count)


def _unit(word: str) -> str:
    return next((unit for stem, unit in _UNITS.items() if word.startswith(stem)), "day")
