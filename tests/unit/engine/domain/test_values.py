"""Thread ids, avatars, history cuts, lessons, usage and what a turn keeps of its prompt."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.avatar import Avatar
from engine.domain.history import STEPS_PER_BUDGET, History, history_cut
from engine.domain.lesson import Lesson, decode_lesson
from engine.domain.provenance import describe, recalled_of
from engine.domain.recall import Recalled, RecalledChunk, RecalledFact, Skipped
from engine.domain.thread import compose_thread_id
from engine.domain.usage import expected_tokens
from mesh.kernel.errors import Internal, InvalidArgument


def test_f2_a_thread_id_is_tenant_and_suffix() -> None:
    assert compose_thread_id("acme", "s1") == "acme:s1"


@pytest.mark.parametrize(("tenant", "suffix"), [("a:b", "s"), ("", "s"), ("t", ""), ("t", "a:b"), ("t", "a#b")])
def test_f2_parts_that_could_be_confused_are_refused(tenant: str, suffix: str) -> None:
    with pytest.raises(Internal):
        compose_thread_id(tenant, suffix)


@pytest.mark.parametrize(
    ("path", "passed", "name"),
    [
        ("/models/lora/mia-v2", True, "mia-v2"),
        ("/models/lora/mia-v2/", True, "mia-v2"),
        ("mia.v2.safetensors", True, "mia.v2"),
        ("mia.v2", True, "mia.v2"),
        ("", True, ""),
        ("/models/lora/mia-v2", False, ""),
    ],
)
def test_l15_the_lora_name_comes_from_its_path_when_its_quality_passed(path: str, passed: bool, name: str) -> None:
    assert Avatar("u", lora_adapter_path=path, lora_quality_passed=passed).lora_name == name


@given(st.integers(0, 10_000_000), st.integers(1, 100_000))
def test_a_history_keeps_to_its_budget_and_uses_most_of_it(total: int, budget: int) -> None:
    kept = total - history_cut(total, budget)

    assert kept <= budget
    if total > budget >= STEPS_PER_BUDGET:
        assert kept > budget - budget // STEPS_PER_BUDGET - 1


@given(st.integers(4, 10_000), st.lists(st.integers(1, 500), min_size=1, max_size=200))
def test_g20_the_start_of_a_history_moves_rarely_and_never_back(budget: int, sizes: list[int]) -> None:
    totals = [sum(sizes[: count + 1]) for count in range(len(sizes))]
    cuts = [history_cut(total, budget) for total in totals]

    assert cuts == sorted(cuts)
    assert len(set(cuts)) <= 1 + -(-totals[-1] // (budget // STEPS_PER_BUDGET))


LESSON = Lesson("u", "s", "t", 0, 1, "a", "Mia", "Привіт\n", "Hi", False, "2026-05-20T10:00:00+00:00", "Europe/Kyiv")


def test_a_lesson_survives_the_outbox() -> None:
    assert decode_lesson(LESSON.encode()) == LESSON


def test_a_lesson_of_a_newer_writer_is_read_without_what_is_unknown() -> None:
    newer = {**dataclasses.asdict(LESSON), "attachments": [1]}

    assert decode_lesson(json.dumps(newer).encode()) == LESSON


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"null", b"{}", b'"text"', b"\xff", b'{"user_id": "u"}'])
def test_a_payload_that_is_no_lesson_is_refused_for_good(payload: bytes) -> None:
    with pytest.raises(InvalidArgument):
        decode_lesson(payload)


def test_a_lesson_without_a_readable_time_is_refused_for_good() -> None:
    with pytest.raises(InvalidArgument):
        decode_lesson(dataclasses.replace(LESSON, turn_time="yesterday").encode())


def test_beyond_2_a_stored_prompt_names_what_it_was_made_of_and_keeps_no_words() -> None:
    recalled = Recalled(
        [RecalledFact("f1", "e7", "user", "home_city", "Lviv", "I live in Lviv", None, 0.9, b"wire")],
        [RecalledChunk("c1", "note", "Mia", "Secret words", None, 0.5, b"wire")],
        [Skipped("vector", "EMBEDDER_UNAVAILABLE")],
    )

    stored = describe(History("full_replay", 100, []), recalled)

    assert "Lviv" not in json.dumps(stored)
    assert "Secret" not in json.dumps(stored)
    again = recalled_of(json.loads(json.dumps(stored)))
    assert again is not None
    assert [(fact.id, fact.revision, fact.score) for fact in again.facts] == [("f1", "e7", 0.9)]
    assert [(chunk.id, chunk.source, chunk.score) for chunk in again.chunks] == [("c1", "note", 0.5)]
    assert again.skipped == [Skipped("vector", "EMBEDDER_UNAVAILABLE")]


def test_a_turn_that_failed_before_its_prompt_has_nothing_to_show() -> None:
    assert recalled_of({}) is None


def test_expected_tokens_round_up() -> None:
    assert [expected_tokens(chars) for chars in ((), (1,), (4, 4), (4, 5))] == [0, 1, 2, 3]
