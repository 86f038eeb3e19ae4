"""Field masks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.kernel.errors import InvalidArgument
from mesh.kernel.masks import masked_fields

UPDATABLE = frozenset({"title", "status"})


def test_star_stands_for_every_updatable_field() -> None:
    assert masked_fields(["*"], UPDATABLE) == UPDATABLE


def test_named_fields_are_returned_once() -> None:
    assert masked_fields(["title", "title"], UPDATABLE) == {"title"}


@pytest.mark.parametrize("paths", [[], ["id"], ["title", "id"], ["*", "title"], ["title.x"], [""], ["TITLE"]])
def test_anything_else_is_refused_with_the_field_named(paths: list[str]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        masked_fields(paths, UPDATABLE)
    assert caught.value.details.violations[0].field == "update_mask"


@given(st.lists(st.text(max_size=8), max_size=5))
def test_result_is_never_more_than_updatable(paths: list[str]) -> None:
    try:
        assert masked_fields(paths, UPDATABLE) <= UPDATABLE
    except InvalidArgument:
        assert not paths or set(paths) - UPDATABLE
