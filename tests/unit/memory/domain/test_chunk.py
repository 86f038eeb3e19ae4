"""Messages into chunks."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from memory.domain.chunk import ChunkSource, Message, block_of, chunks_of, content_hash
from memory.domain.dialog_key import dialog_key

AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_hashes_are_those_of_the_source_design() -> None:
    assert content_hash("d", ChunkSource.NOTE, "7", "text") == hashlib.sha256(b"dnote7text").digest()
    assert dialog_key("u", "a") == hashlib.sha256(b"dialog:u:a").hexdigest()
    assert dialog_key("u", "") == hashlib.sha256(b"dialog:u:").hexdigest()


def test_a_caption_is_part_of_the_text() -> None:
    (chunk,) = chunks_of("d", [Message("1", "Petro", "Look", AT, image_caption="a red boat")], 420)
    assert chunk.text == "Look [Image: a red boat]"
    assert chunk.embedded_text == "Petro: Look [Image: a red boat]"
    assert {"red", "boat", "petro"} <= set(chunk.lexemes.distinct)


def test_a_long_message_has_parts_in_order() -> None:
    text = " ".join(f"Sentence {n} is here." for n in range(60))
    chunks = chunks_of("d", [Message("1", "", text, AT)], 100)
    assert [chunk.part for chunk in chunks] == list(range(len(chunks)))
    assert len({chunk.id for chunk in chunks}) == len({chunk.content_hash for chunk in chunks}) == len(chunks)


def test_a_piece_that_repeats_is_stored_once() -> None:
    assert len(chunks_of("d", [Message("1", "", "ha ha ha. " * 100, AT)], 50)) <= 2


def test_equal_texts_of_different_messages_are_different_chunks() -> None:
    chunks = chunks_of("d", [Message("1", "", "Yes", AT), Message("2", "", "Yes", AT)], 420)
    assert len({chunk.content_hash for chunk in chunks}) == 2


def test_blocks_are_runs_of_32() -> None:
    assert [block_of(ordinal) for ordinal in (0, 31, 32, 63, 64)] == [0, 0, 1, 1, 2]
