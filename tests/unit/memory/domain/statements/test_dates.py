"""Relative dates, seen from Wednesday 3 December 2025."""

from __future__ import annotations

from datetime import date

import pytest

from memory.domain.statements.english import dates as english
from memory.domain.statements.ukrainian import dates as ukrainian

TODAY = date(2025, 12, 3)


@pytest.mark.parametrize(
    ("text", "direction", "expected"),
    [
        ("today", "past", date(2025, 12, 3)),
        ("tomorrow", "future", date(2025, 12, 4)),
        ("the day after tomorrow", "future", date(2025, 12, 5)),
        ("yesterday", "past", date(2025, 12, 2)),
        ("on Friday", "future", date(2025, 12, 5)),
        ("on Friday", "past", date(2025, 11, 28)),
        ("next Friday", "future", date(2025, 12, 12)),
        ("last Monday", "past", date(2025, 12, 1)),
        ("on Wednesday", "future", date(2025, 12, 10)),
        ("last week", "past", date(2025, 11, 24)),
        ("next week", "future", date(2025, 12, 8)),
        ("last month", "past", date(2025, 11, 1)),
        ("next month", "future", date(2026, 1, 1)),
        ("last year", "past", date(2024, 1, 1)),
        ("in March", "past", date(2025, 3, 1)),
        ("in March", "future", date(2026, 3, 1)),
        ("in March 2023", "past", date(2023, 3, 1)),
        ("since 2019", "past", date(2019, 1, 1)),
        ("on 5 May", "future", date(2026, 5, 5)),
        ("on 5 May", "past", date(2025, 5, 5)),
        ("on May 5th, 2024", "past", date(2024, 5, 5)),
        ("on 2026-02-14", "future", date(2026, 2, 14)),
        ("three weeks ago", "past", date(2025, 11, 12)),
        ("two months ago", "past", date(2025, 10, 3)),
        ("in two weeks", "future", date(2025, 12, 17)),
        ("last summer", "past", date(2025, 6, 1)),
        ("on 31 February", "future", None),
        ("at some point", "past", None),
    ],
)
def test_an_english_date_resolves_to_a_day(text: str, direction: english.Direction, expected: date | None) -> None:
    hit = english.find(f"we met {text}", TODAY, direction)
    assert (hit.day if hit else None) == expected


@pytest.mark.parametrize(
    ("text", "ahead", "expected"),
    [
        ("завтра", True, date(2025, 12, 4)),
        ("вчора", False, date(2025, 12, 2)),
        ("у п'ятницю", True, date(2025, 12, 5)),
        ("в березні", False, date(2025, 3, 1)),
        ("минулого року", False, date(2024, 1, 1)),
        ("торік", False, date(2024, 1, 1)),
        ("наступного тижня", True, date(2025, 12, 8)),
        ("5 травня", True, date(2026, 5, 5)),
        ("5 травня 2024", False, date(2024, 5, 5)),
        ("з 2019 року", False, date(2019, 1, 1)),
        ("2 роки тому", False, date(2023, 12, 3)),
        ("колись", False, None),
    ],
)
def test_a_ukrainian_date_resolves_to_a_day(text: str, ahead: bool, expected: date | None) -> None:
    assert ukrainian.find(f"ми {text}", TODAY, ahead=ahead) == expected


@pytest.mark.parametrize("day", [date.min, date.max])
def test_dates_at_the_ends_of_the_calendar_are_not_found_instead_of_raising(day: date) -> None:
    for words in ("999 years ago", "in 999 years", "last week", "next year", "tomorrow", "yesterday", "on Friday"):
        english.find(words, day, "past")
        english.find(words, day, "future")


def test_a_month_that_is_also_a_verb_needs_its_preposition() -> None:
    assert english.find("you may march on", TODAY, "past") is None
