"""Identifiers."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from mesh.kernel.ids import derived_id, is_uuid, new_id

PARTS = st.lists(st.text(max_size=10), max_size=4)


def test_new_ids_are_canonical_and_differ() -> None:
    made = {new_id() for _ in range(100)}
    assert len(made) == 100
    assert all(is_uuid(value) for value in made)


@given(PARTS, PARTS)
def test_derived_ids_are_equal_exactly_when_the_parts_are(first: list[str], second: list[str]) -> None:
    assert (derived_id("kind", *first) == derived_id("kind", *second)) == (first == second)
    assert is_uuid(derived_id("kind", *first))


def test_derived_ids_differ_between_namespaces() -> None:
    assert derived_id("a", "x") != derived_id("b", "x")


@given(st.uuids())
def test_only_the_canonical_form_of_a_uuid_is_one(value: uuid.UUID) -> None:
    text = str(value)
    assert is_uuid(text)
    assert not is_uuid("{" + text + "}")
    assert not is_uuid(text.replace("-", ""))
    assert is_uuid(text.upper()) == (text.upper() == text)


@given(st.text(max_size=40))
def test_other_texts_are_no_uuids_and_raise_nothing(text: str) -> None:
    assert is_uuid(text) == (len(text) == 36 and text == str(_parsed(text)))


def _parsed(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
