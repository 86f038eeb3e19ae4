"""Texts into pieces: nothing is lost, nothing is too long, sentences and characters stay whole."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from memory.domain.chunking import split_text


@given(st.text(max_size=2000), st.integers(16, 200))
def test_pieces_hold_the_whole_text_and_none_is_too_long(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert all(piece and len(piece) <= limit and piece == piece.strip() for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


@given(st.text(max_size=400))
def test_a_short_text_is_one_piece(text: str) -> None:
    assert split_text(text) == ([text.strip()] if text.strip() else [])


def test_pieces_end_at_sentences_where_they_can() -> None:
    text = " ".join(f"This is sentence number {n}." for n in range(40))
    assert all(piece.endswith(".") for piece in split_text(text, 100))


def test_pieces_of_chinese_end_at_sentences() -> None:
    text = "我住在利沃夫。" * 40
    assert all(piece.endswith("。") for piece in split_text(text, 100))


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    words = [f"word{n}" for n in range(200)]
    pieces = split_text(" ".join(words), 100)
    assert [word for piece in pieces for word in piece.split()] == words


def test_no_character_is_parted_from_its_marks() -> None:
    for unit in ("e\u0301", "👩\u200d👩\u200d👧", "👍\U0001f3fd", "क\u094d\u0937"):
        for piece in split_text(unit * 200, 50):
            assert not unicodedata.category(piece[0]).startswith("M")
            assert piece[0] not in "\u200d\U0001f3fd"
            assert piece[-1] != "\u200d"
