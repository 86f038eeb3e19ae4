"""Any text, however long or odd, is read in bounded time and without an error."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.domain.statements import extract
from memory.domain.statements.extract import MAX_EXCERPT_CHARS, MAX_STATEMENTS
from memory.domain.statements.masking import MAX_CHARS, plain

SAID_AT = datetime(2025, 12, 3, 10, tzinfo=UTC)
MAX_SECONDS = 2.0
"""Far above the tenth of a second that the worst of these takes, far below what any quadratic pattern would."""

OURS = """
I I'm my is are have live moved to in from work as at and or but if when who that a the dog sister named called Lviv
Anna allergic peanuts like love don't can't any more on Friday 5 May next week 3pm , . ? ! ; : ( ) - – ' " “ ” > | ` ```
<a> </a> я живу у Львові моя сестра люблю звати мене Олена ы مرحبا 你好 1990 999 \ufffc \U0001f602
"""
WORDS = st.sampled_from([*OURS.split(), "\n", "\0"])


@given(st.text(max_size=400), st.text(max_size=80))
def test_any_text_is_read_without_an_error(text: str, previous: str) -> None:
    for item in extract(text, said_at=SAID_AT, previous=previous):
        assert item.excerpt in text


@settings(max_examples=300)
@given(st.lists(WORDS, max_size=60), st.sampled_from([" ", "  ", "\n", ", "]))
def test_any_mixture_of_our_own_words_gives_well_formed_statements(words: list[str], joint: str) -> None:
    text = joint.join(words)
    for item in extract(text, said_at=SAID_AT, previous=text):
        assert item.excerpt in text
        assert 0 < item.confidence <= 1
        assert item.retract or item.value.strip()
        assert "\ufffc" not in item.value
        assert "\0" not in item.value
        assert item.key.isascii()
        assert item.subject.isascii()


@given(st.text(max_size=300))
def test_masking_keeps_every_position(text: str) -> None:
    assert len(plain(text)) == len(text)


@given(st.datetimes(), st.text(max_size=20))
def test_any_instant_and_zone_are_accepted(instant: datetime, zone: str) -> None:
    extract("I'm flying to Rome next week. I moved to Oslo last month.", said_at=instant, zone=zone)
    extract("I started at Acme yesterday.", said_at=instant.replace(tzinfo=UTC), zone="Asia/Tokyo")


@pytest.mark.parametrize(
    "unit",
    [
        " ", ".", "?", "x", "A", "Aa ", "\n", '"', "'", "(", "<", "<a>", "```\n", "`", "> \n", ", i", " and i",
        "my ", "my dog ", "I am ", "if ", "1", "5 May ", " - ", "a: ", ";", "I don't ", "well, ", "hi ", "я ",
        "люблю ", "я живу у Львові, ", "I live in Lviv, ", "I live in Lviv. ", "Van de ", "ha", "my favourite ",
        "a-", "tea, ", "\ufffc",
    ],
)  # fmt: skip
def test_twenty_thousand_characters_of_anything_are_read_in_bounded_time(unit: str) -> None:
    text = "I like " + unit * (MAX_CHARS // len(unit) + 10)
    started = time.perf_counter()
    found = extract(text, said_at=SAID_AT, previous=text)
    assert time.perf_counter() - started < MAX_SECONDS
    assert len(found) <= MAX_STATEMENTS


def test_text_past_the_bound_is_not_read() -> None:
    filler = "It rained. " * (MAX_CHARS // 11 + 1)
    assert extract(f"{filler} I live in Lviv.", said_at=SAID_AT) == []


def test_statements_are_bounded_in_number_and_excerpts_in_length() -> None:
    text = " ".join(
        f"I live in Town{'abcdefghij'[index % 10]}{'klmnopqrst'[index // 10 % 10]}." for index in range(200)
    )
    found = extract(text, said_at=SAID_AT + timedelta(days=1))
    assert len(found) == MAX_STATEMENTS
    assert all(len(item.excerpt) <= MAX_EXCERPT_CHARS for item in found)
