"""Topics of questions and the keys of facts that bear on them."""

from __future__ import annotations

import re

import pytest

from memory.domain.lexical import query_terms
from memory.domain.topics import NO_KEY, TOPICS, topic_keys


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("What should I keep in mind when we book a restaurant?", "allergy"),
        ("What shall we cook for dinner?", "diet"),
        ("Where do I live?", "home_city"),
        ("What's my name?", "name"),
        ("Who do I work for?", "employer"),
        ("Is this safe with my allergies?", "allergy"),
        ("What is my dog called?", "pet_dog"),
        ("How old am I?", "birthday"),
        ("What present would my sister like?", "siblings"),
        ("Do I have an appointment tomorrow?", "appointment"),
        ("Що приготувати на вечерю?", "allergy"),
        ("Де я живу?", "home_city"),
        ("Як звати мого пса?", "name"),
    ],
)
def test_a_question_names_the_keys_of_its_topic(question: str, key: str) -> None:
    assert re.fullmatch(topic_keys(query_terms(question)), key)


def test_a_question_without_a_topic_names_no_key() -> None:
    assert topic_keys(query_terms("Tell me about zeppelins")) == NO_KEY
    assert not re.fullmatch(NO_KEY, "name")


def test_a_key_is_matched_as_a_whole() -> None:
    pattern = topic_keys(query_terms("Where do I live?"))
    assert not re.fullmatch(pattern, "second_home_city")
    assert not re.fullmatch(pattern, "allergy")


def test_every_topic_has_words_and_keys_of_the_contracts_alphabet() -> None:
    for topic in TOPICS:
        assert query_terms(topic.words, limit=1000)
        assert all(re.fullmatch(r"[a-z0-9_]+\*?", key) for key in topic.keys.split())
