"""Words into lexemes: the same word is the same lexeme, stored or asked, in every script (G10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.lexical import MAX_QUERY_TERMS, lexemes, query_terms, same_figures, same_words, speaker_mark


@given(st.text(max_size=300))
def test_every_term_of_a_text_is_among_its_stored_lexemes(text: str) -> None:
    assert set(query_terms(text, limit=10_000)) <= set(lexemes(text).distinct)


@given(st.text(max_size=300))
def test_a_lexeme_can_stand_in_a_tsvector_literal(text: str) -> None:
    for lexeme in lexemes(text).distinct:
        assert lexeme
        assert not set(lexeme) & set("'\\: \x00")
        assert len(lexeme.encode()) <= 2046


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_word_is_found_whatever_stands_around_it(before: str, after: str) -> None:
    assert set(query_terms("xylofon")) <= set(lexemes(f"{before} xylofon {after}").distinct)


@pytest.mark.parametrize(
    "words",
    [
        "allergy allergies Allergies allergy's",
        "walk walked walking walks",
        "café cafe CAFÉ cafés",
        "Haus Häuser Hauses",
        "Buch Bücher",
        "м'ята мʼята м’ята",
        "сад сади садів саду",
        "Львів Львова Львові Львову Львовом",
        "Київ Києва Києві",
        "Олена Олени Олені Олену",
        "собака собаки собаку",
        "город города городов городам",
        "Straße STRASSE",
    ],
)
def test_forms_of_a_word_are_one_lexeme(words: str) -> None:
    assert len({tuple(query_terms(word)) for word in words.split()}) == 1, [query_terms(w) for w in words.split()]


@pytest.mark.parametrize("words", ["Lviv Kyiv", "peanuts walnuts", "Odesa Odessan", "2024 2025"])
def test_different_words_stay_different(words: str) -> None:
    assert len({tuple(query_terms(word)) for word in words.split()}) == 2


def test_stop_words_of_each_language_are_no_terms() -> None:
    for text in ("what did you do?", "що ти мені про це", "что это такое", "was ist das", "ما هذا", "🎉", "", " \n"):
        assert query_terms(text) == []


def test_words_that_only_look_like_stop_words_of_another_language_stay() -> None:
    assert query_terms("the man in the hat went to war in May") == ["man", "hat", "war", "may"] or query_terms(
        "the man in the hat went to war in May"
    ) == ["man", "hat", "went", "war", "may"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("我对花生过敏", "花生"),
        ("庭でハリネズミを見た", "ハリネズミ"),
        ("고슴도치를 보았어요", "고슴도치"),
        ("ฉันแพ้ถั่วลิสง", "ถั่วลิสง"),
        ("我对花生过敏", "花"),
    ],
)
def test_part_of_a_run_without_spaces_is_found(text: str, part: str) -> None:
    assert set(query_terms(part)) <= set(lexemes(text).distinct)


def test_of_many_terms_the_longest_are_kept_in_order() -> None:
    words = [f"{'x' * (n % 30 + 1)}{n}" for n in range(100)]
    kept = query_terms(" ".join(words))
    assert len(kept) == MAX_QUERY_TERMS
    assert kept == [word for word in query_terms(" ".join(words), limit=1000) if word in kept]


def test_length_counts_repeats_and_leaves_stop_words_out() -> None:
    assert lexemes("the tea and the tea").length == 2
    assert lexemes("the tea and the tea").distinct == ("tea",)


def test_the_speaker_is_marked() -> None:
    stored = lexemes("Hello there", speaker="Maryna Kovalenko")
    assert set(stored.speakers) == {speaker_mark(term) for term in query_terms("Maryna Kovalenko")}
    assert all(f"'{mark}'" in stored.tsvector() for mark in stored.speakers)


def test_same_words_ignore_articles_case_and_endings_but_no_negation() -> None:
    assert same_words("A nurse", "nurses")
    assert same_words("Собака", "собаки")
    assert not same_words("peanuts", "not peanuts")
    assert not same_words("two cats", "three cats")
    assert same_words("🎉", " 🎉")
    assert not same_words("🎉", "🎈")


def test_same_figures_compare_numbers_names_and_negations() -> None:
    assert same_figures("late dinner at home", "home for a late supper")
    assert not same_figures("meeting at 9", "meeting at 10")
    assert not same_figures("dinner with Anna", "dinner with Hanna")
    assert not same_figures("I like tea", "I don't like tea")
    assert not same_figures("їм м'ясо", "не їм м'ясо")
