from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from enum import EnumType
from typing import Any, get_type_hints

import pytest

from memory.domain.chunk import Chunk
from memory.domain.fact import Fact
from memory.domain.retrieval import Hit, Parts
from memory.domain.selection import selected
from mesh.kernel.ids import new_id

NO_PARTS = Parts(*[0.0] * len(fields(Parts)))
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def made(kind: type[Any], **values: Any) -> Any:
    """Return a value of a dataclass whose other fields do not matter here."""
    hints = get_type_hints(kind)
    plain = {str: "", int: 0, float: 0.0, bool: False, datetime: NOW}

    def some(hint: Any) -> Any:
        return next(iter(hint)) if isinstance(hint, EnumType) else plain.get(hint)

    rest = {field.name: some(hints[field.name]) for field in fields(kind)}
    return kind(**{**rest, "id": new_id(), **values})


def chunk(score: float, text: str, speaker: str = "user") -> Hit:
    return Hit(made(Chunk, text=text, speaker=speaker), score, NO_PARTS)


def fact(score: float) -> Hit:
    return Hit(made(Fact), score, NO_PARTS)


def test_copies_of_a_question_leave_room_for_everything_else() -> None:
    copies = [chunk(9 - i / 100, "Where do I live?" if i % 3 else "where  do I LIVE?") for i in range(30)]
    answer = chunk(1.0, "I moved to Lviv.")
    assert [hit.item for hit in selected([*copies, answer], 12)] == [copies[0].item, answer.item]


def test_the_same_words_of_two_speakers_are_two_things() -> None:
    hits = [chunk(2.0, "Me too!", "Ann"), chunk(1.0, "Me too!", "Bob")]
    assert selected(hits, 12) == hits


def test_facts_keep_a_third_of_the_places_and_stand_where_their_score_puts_them() -> None:
    chunks = [chunk(9 - i / 100, f"message {i}") for i in range(12)]
    facts = [fact(1.0 - i / 10) for i in range(6)]
    found = selected([*chunks, *facts], 12)
    assert found == [*chunks[:8], *facts[:4]]


def test_facts_below_the_mean_take_no_place_of_better_evidence() -> None:
    chunks = [chunk(9 - i / 100, f"message {i}") for i in range(12)]
    assert selected([*chunks, fact(-0.1)], 12) == chunks


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_few_places_go_to_the_best(limit: int) -> None:
    hits = [fact(5.0), fact(4.0), chunk(3.0, "a"), chunk(2.0, "b")]
    assert selected(hits, limit) == hits[:limit]
