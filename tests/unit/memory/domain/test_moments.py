"""Times that a question names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.moments import MAX_RANGES, time_ranges

NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)


def covers(text: str, moment: str) -> bool:
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return any(found.start <= at < found.end for found in time_ranges(text, NOW))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("What happened in May 2023?", "2023-05-15", "2023-07-15"),
        ("What happened in May?", "2024-05-15", "2024-07-15"),
        ("on 8 May, 2023", "2023-05-08", "2023-05-25"),
        ("on May 8th 2023", "2023-05-09", "2023-04-30"),
        ("since 2023-05-08", "2023-05-08", "2023-06-08"),
        ("What did I say in 2021?", "2021-06-01", "2022-06-01"),
        ("december 2023", "2023-12-31", "2024-01-15"),
        ("What did I tell you yesterday?", "2026-11-30", "2026-11-25"),
        ("what was last week about", "2026-11-22", "2026-10-22"),
        ("Що було у травні 2023?", "2023-05-15", "2023-07-15"),
        ("Що я казала вчора?", "2026-11-30", "2026-11-20"),
        ("Was war im März 2024?", "2024-03-15", "2024-05-15"),
    ],
)
def test_a_named_time_covers_what_was_said_then(text: str, inside: str, outside: str) -> None:
    assert covers(text, inside)
    assert not covers(text, outside)


@pytest.mark.parametrize(
    "text",
    [
        "May I come?",
        "They march on",
        "an august person",
        "Where do I live?",
        "1-800-2023",
        "room 2031b",
        "$2000",
        "Jan called",
    ],
)
def test_words_that_are_no_times_name_none(text: str) -> None:
    assert time_ranges(text, NOW) == []


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    ranges = time_ranges(text, NOW)
    assert len(ranges) <= MAX_RANGES
    assert all(found.start < found.end for found in ranges)


@given(st.integers(1900, 2099), st.integers(0, 99), st.integers(0, 99))
def test_impossible_days_name_no_day(year: int, month: int, day: int) -> None:
    for found in time_ranges(f"{year}-{month:02}-{day:02}", NOW):
        assert found.start < found.end
