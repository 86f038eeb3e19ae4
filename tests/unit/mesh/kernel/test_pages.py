"""Page tokens: what goes in comes out, and nothing else is accepted."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.kernel.errors import InvalidArgument
from mesh.kernel.pages import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, decode_token, encode_token, page_size
from mesh.kernel.reasons import Reason

POSITIONS = st.lists(st.text(max_size=30) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4)
BINDINGS = st.lists(st.text(max_size=20), max_size=4)


@pytest.mark.parametrize(
    ("asked", "used"), [(0, DEFAULT_PAGE_SIZE), (1, 1), (1000, 1000), (1001, MAX_PAGE_SIZE), (2**31 - 1, MAX_PAGE_SIZE)]
)
def test_page_size_has_a_default_and_a_cap(asked: int, used: int) -> None:
    assert page_size(asked) == used


def test_negative_page_size_names_the_field() -> None:
    with pytest.raises(InvalidArgument) as caught:
        page_size(-1)
    assert caught.value.details.violations[0].field == "page_size"


@given(POSITIONS, BINDINGS)
def test_token_returns_the_position_it_was_made_of(position: list[str | int], bound_to: list[str]) -> None:
    assert decode_token(encode_token(position, *bound_to), *bound_to) == position


@given(POSITIONS, BINDINGS, BINDINGS)
def test_token_is_refused_for_another_query(position: list[str | int], made: list[str], used: list[str]) -> None:
    if made != used:
        with pytest.raises(InvalidArgument) as caught:
            decode_token(encode_token(position, *made), *used)
        assert caught.value.reason is Reason.PAGE_TOKEN_INVALID


@given(POSITIONS, st.data())
def test_changed_token_is_refused(position: list[str | int], data: st.DataObject) -> None:
    raw = json.loads(base64.urlsafe_b64decode(_padded(encode_token(position, "q"))))
    index = data.draw(st.integers(0, len(raw) - 1))
    raw[index] = data.draw(st.text(max_size=5) | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False))
    changed = base64.urlsafe_b64encode(json.dumps(raw).encode()).decode()
    if raw == json.loads(base64.urlsafe_b64decode(_padded(encode_token(position, "q")))):
        return  # the change was none
    with pytest.raises(InvalidArgument) as caught:
        decode_token(changed, "q")
    assert caught.value.details.violations[0].field == "page_token"


@given(st.text(max_size=200) | st.text(alphabet="abcdefghABCD0123456789-_=", max_size=200))
def test_any_text_is_a_token_or_an_invalid_argument(text: str) -> None:
    with pytest.raises(InvalidArgument):
        decode_token(text, "q")


@pytest.mark.parametrize(
    "raw", ["[" * 760, '{"a":1}', "[]", '["x"]', "1", "null", '["x",{"a":1}]', '["x",[1]]', "\x00"]
)
def test_hostile_json_in_a_token_is_an_invalid_argument(raw: str) -> None:
    token = base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")
    with pytest.raises(InvalidArgument):
        decode_token(token, "q")


def test_separators_inside_arguments_do_not_make_two_queries_one() -> None:
    token = encode_token(["k"], "a\x1fb")
    with pytest.raises(InvalidArgument):
        decode_token(token, "a", "b")


def _padded(token: str) -> str:
    return token + "=" * (-len(token) % 4)
