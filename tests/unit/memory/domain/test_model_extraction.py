"""A model's answer is not trusted: what the text does not bear out is dropped, and nothing breaks it (G5, G11)."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.model_extraction import SCHEMA, prompt, snake_case, statements
from memory.domain.turn import Turn
from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason

TEXT = "I live in Lviv and my sister adores climbing."


def fact(**fields: Any) -> dict[str, Any]:
    defaults = {
        "subject": "user",
        "key": "home_city",
        "value": "Lviv",
        "kind": "fact",
        "excerpt": "I live in Lviv",
        "confidence": 0.9,
        "multiple": False,
        "valid_from": "",
    }
    return {**defaults, **fields}


def read(*facts: Any) -> list[tuple[str, str, str]]:
    return [(found.subject, found.key, found.value) for found in statements({"facts": list(facts)}, TEXT)]


def test_a_statement_that_the_text_bears_out_is_read() -> None:
    assert read(fact()) == [("user", "home_city", "Lviv")]


@pytest.mark.parametrize(
    "bad",
    [
        fact(excerpt="I live in Warsaw"),
        fact(excerpt="i live in lviv"),
        fact(excerpt=""),
        fact(value="  "),
        fact(key="***"),
        fact(key=7),
        fact(confidence=0.1),
        fact(confidence="high"),
        fact(confidence=float("nan")),
        fact(confidence=True),
        {"key": "home_city"},
        "home_city",
        None,
        [],
    ],
)
def test_what_is_not_borne_out_or_broken_is_dropped(bad: Any) -> None:
    assert read(bad, fact()) == [("user", "home_city", "Lviv")]


@pytest.mark.parametrize("answer", [{}, {"facts": None}, {"facts": {}}, {"facts": "[]"}])
def test_an_answer_without_a_list_is_a_failure_and_no_empty_success(answer: dict[str, Any]) -> None:
    with pytest.raises(Unavailable) as failed:
        statements(answer, TEXT)
    assert failed.value.reason is Reason.MODEL_OUTPUT_INVALID


def test_an_empty_list_is_a_good_answer() -> None:
    assert read() == []


def test_the_same_statement_counts_once() -> None:
    assert len(read(fact(), fact(confidence=1))) == 1


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("user", "user"),
        ("", "user"),
        ("I", "user"),
        ("Sister", "user.sister"),
        ("user.sister", "user.sister"),
        ("user's best friend", "user.user_s_best_friend"),
    ],
)
def test_subjects_are_the_user_or_somebody_of_the_users(subject: str, expected: str) -> None:
    assert read(fact(subject=subject))[0][0] == expected


def test_a_key_of_the_catalogue_behaves_as_the_catalogue_says() -> None:
    (likes,) = statements({"facts": [fact(key="likes", value="climbing", multiple=False, kind="event")]}, TEXT)
    assert (likes.multi, likes.kind, likes.category) == (True, "fact", "preference")


def test_a_day_is_read_and_nonsense_is_none() -> None:
    (dated,) = statements({"facts": [fact(valid_from="2026-05-01T00:00:00Z")]}, TEXT)
    assert dated.valid_from == date(2026, 5, 1)
    (undated,) = statements({"facts": [fact(valid_from="in May")]}, TEXT)
    assert undated.valid_from is None


@given(st.text(max_size=80))
def test_keys_are_snake_case_or_empty(name: str) -> None:
    key = snake_case(name)
    assert key == "" or (key.strip("_") == key and set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789_"))
    assert len(key) <= 64


def test_camel_case_and_accents_become_snake_case() -> None:
    assert snake_case("homeCity") == "home_city"
    assert snake_case("Café Favori") == "cafe_favori"


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=10),
        lambda v: (
            st.lists(v, max_size=3)
            | st.dictionaries(
                st.sampled_from(["facts", *SCHEMA["properties"]["facts"]["items"]["properties"]]), v, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_any_answer_is_read_or_refused(answer: Any) -> None:
    try:
        found = statements(answer if isinstance(answer, dict) else {"facts": answer}, TEXT)
    except Unavailable:
        return
    assert all(statement.excerpt in TEXT for statement in found)


def test_the_prompt_says_when_and_where_and_marks_the_message_as_data() -> None:
    at = datetime(2026, 3, 29, 23, 30, tzinfo=UTC)
    turn = Turn("s", "t", 0, 1, "a", "Mira", TEXT, "", False, at, "Europe/Kyiv")
    asked = prompt(turn, "Where do you live?")
    assert "Monday, 2026-03-30 02:30" in asked
    assert f"<message>\n{TEXT}\n</message>" in asked
    assert "<before>\nWhere do you live?\n</before>" in asked
    assert "<before>" not in prompt(turn, "")
