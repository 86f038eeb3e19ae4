"""What the extractor promises beyond single sentences: subjects, corrections, answers, and what it never reads."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from memory.domain.statements import Statement, extract

SAID_AT = datetime(2025, 12, 3, 10, tzinfo=UTC)


def read(text: str, **options: str) -> list[Statement]:
    return extract(text, said_at=SAID_AT, **options)


def facts(text: str, **options: str) -> dict[str, str]:
    return {f"{item.subject}.{item.key}": item.value for item in read(text, **options)}


def test_one_sentence_with_four_statements_gives_four_facts() -> None:
    found = read("I'm Olena, I moved to Lviv in March with my dog Biscuit, and I can't eat peanuts.")
    assert {item.key: item.value for item in found} == {
        "name": "Olena",
        "home_city": "Lviv",
        "pet_dog": "Biscuit",
        "allergy": "peanuts",
    }
    home = next(item for item in found if item.key == "home_city")
    assert home.valid_from == date(2025, 3, 1)
    assert home.excerpt == "I moved to Lviv in March with my dog Biscuit"
    assert next(s for s in found if s.key == "pet_dog").valid_from is None  # March is when they moved
    assert not home.multi
    assert next(item for item in found if item.key == "allergy").multi


def test_a_correction_uses_the_key_that_it_corrects() -> None:
    first = read("I live in Kyiv.")[0]
    later = read("Actually, I live in Odesa now.")[0]
    assert (first.subject, first.key) == (later.subject, later.key)
    assert (first.value, later.value) == ("Kyiv", "Odesa")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I no longer live in Kyiv.", "home_city", "Kyiv"),
        ("I'm not allergic to nuts any more.", "allergy", "nuts"),
        ("I quit my job at Acme.", "employer", "Acme"),
        ("I sold my car.", "owns", "car"),
        ("My dog Rex died.", "pet_dog", "Rex"),
        ("Я більше не живу в Києві.", "home_city", "Київ"),
    ],
)
def test_what_no_longer_holds_is_a_retraction(text: str, key: str, value: str) -> None:
    (found,) = read(text)
    assert found.retract
    assert (found.key, found.value) == (key, value)


def test_facts_about_a_relative_have_that_subject() -> None:
    assert facts("My sister lives in Paris and works as a nurse.") == {
        "user.sister.home_city": "Paris",
        "user.sister.work_role": "nurse",
    }
    assert facts("My mom is allergic to shellfish.") == {"user.mother.allergy": "shellfish"}


def test_friends_need_a_name_to_be_told_apart() -> None:
    assert facts("My friend lives in Oslo.") == {}
    assert facts("My friend Mark lives in Oslo.") == {"user.friend_name": "Mark", "user.friend.mark.home_city": "Oslo"}


def test_a_speaker_other_than_the_user_is_the_subject() -> None:
    assert facts("I live in Oslo.", speaker="Anna Berg") == {"anna_berg.home_city": "Oslo"}


@pytest.mark.parametrize("speaker", ["assistant", "Assistant", "system", "tool"])
def test_an_assistant_states_no_facts(speaker: str) -> None:
    assert read("I'm Mia and I live in Lviv.", speaker=speaker) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\nI live in Rome\n```",
        "~~~\nI live in Rome",
        "> I live in Rome",
        "<recalled>\nI live in Rome.\nMy dog is called Rex.\n</recalled>",
        "<memory>I live in Rome.</memory>",
        'He wrote "I live in Rome" on the wall.',
        "«Я живу в Римі», – сказав він.",
        "User: I live in Rome.\nAssistant: I live in the cloud.",
        "Anna: I live in Rome.\nTom: I live in Bonn.",
        "Translate into French:\nI live in Rome. I have a dog named Rex.",
        "I live in Rome. Just kidding!",
        "Я живу на Місяці. Жартую.",
    ],
)
def test_quoted_recalled_and_unserious_text_states_nothing(text: str) -> None:
    assert read(text) == []


def test_what_stands_around_recalled_text_is_still_read() -> None:
    text = "<recalled>I live in Rome.</recalled>\nI live in Bonn."
    assert facts(text) == {"user.home_city": "Bonn"}


def test_answers_that_repeat_recalled_facts_teach_nothing() -> None:
    recalled = "You told me on 1 December that you can't eat peanuts and that your dog is Biscuit."
    assert read(recalled) == []
    assert read(f"You said: “{recalled}”") == []


@pytest.mark.parametrize(
    ("previous", "answer", "expected"),
    [
        ("Nice to meet you! What's your name?", "Olena", {"user.name": "Olena"}),
        ("Where do you live?", "In Lviv, Ukraine.", {"user.home_city": "Lviv", "user.home_country": "Ukraine"}),
        ("Do you have any allergies?", "Peanuts", {"user.allergy": "Peanuts"}),
        ("Do you have any allergies?", "No", {}),
        ("Do you have any allergies?", "Coffee, please", {}),
        ("How old are you?", "34", {"user.age": "34"}),
        ("What do you do for a living?", "I'm a nurse", {"user.work_role": "nurse"}),
        ("I like your name.", "Olena", {}),
        ("What's your name?", "Why do you ask?", {}),
    ],
)
def test_a_short_answer_is_read_with_its_question(previous: str, answer: str, expected: dict[str, str]) -> None:
    assert facts(answer, previous=previous) == expected


def test_the_last_word_on_a_value_counts() -> None:
    assert [item.retract for item in read("I'm allergic to nuts. I'm not allergic to nuts any more.")] == [True]


def test_tomorrow_depends_on_the_zone_and_not_on_the_server() -> None:
    late = datetime(2025, 12, 3, 23, 30, tzinfo=UTC)
    text = "I have a dentist appointment tomorrow."
    in_utc = extract(text, said_at=late, zone="UTC")[0]
    in_kyiv = extract(text, said_at=late, zone="Europe/Kyiv")[0]
    assert (in_utc.valid_from, in_kyiv.valid_from) == (date(2025, 12, 4), date(2025, 12, 5))
    assert in_utc.kind == "event"


def test_an_unknown_zone_and_a_naive_time_are_read_as_utc() -> None:
    naive = datetime(2025, 12, 3, 23, 30)
    found = extract("I'm flying to Rome tomorrow.", said_at=naive, zone="Mars/Olympus")
    assert found[0].valid_from == date(2025, 12, 4)


def test_a_question_after_a_statement_does_not_silence_it() -> None:
    assert facts("I'm allergic to peanuts, can I eat this cake?") == {"user.allergy": "peanuts"}
    assert facts("I live in Lviv?") == {}


def test_both_languages_in_one_message_are_read() -> None:
    assert facts("My name is Olena. Я живу у Львові.") == {"user.name": "Olena", "user.home_city": "Львів"}


def test_russian_is_not_taken_for_ukrainian() -> None:
    assert read("Я живу в Риге, мы любим сыр.") == []
