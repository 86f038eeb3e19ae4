"""Keys: no text of a caller becomes a path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.kernel.errors import InvalidArgument
from mesh.objects.keys import MAX_KEY_CHARS, checked_key, object_key, tenant_prefix


def test_key_begins_with_its_tenant() -> None:
    assert object_key("acme", "users", "u1", "photo.png") == "tenants/acme/users/u1/photo.png"
    assert tenant_prefix("acme", "users", "u1") == "tenants/acme/users/u1/"
    assert tenant_prefix("acme") == "tenants/acme/"


@pytest.mark.parametrize(
    "segment",
    ["", ".", "..", "a/b", "/etc", "a\\b", "a b", "ä", "a\x00", "a%2e", "a:b", "a#1", "~", "x" * 256, "a\n"],
)
def test_segment_outside_the_alphabet_is_refused(segment: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        object_key("acme", "users", segment)
    assert caught.value.details.violations[0].field == "object_key"


@pytest.mark.parametrize("tenant_id", ["", "..", "a/b", "a b"])
def test_tenant_outside_its_grammar_is_refused(tenant_id: str) -> None:
    with pytest.raises(InvalidArgument):
        object_key(tenant_id, "users")
    with pytest.raises(InvalidArgument):
        tenant_prefix(tenant_id)


def test_key_without_segments_or_too_long_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        object_key("acme")
    with pytest.raises(InvalidArgument):
        object_key("acme", *["x" * 200] * (MAX_KEY_CHARS // 200))


@given(st.text(max_size=12))
def test_accepted_segment_never_leaves_its_folder(segment: str) -> None:
    try:
        key = object_key("acme", segment)
    except InvalidArgument:
        return
    assert key == f"tenants/acme/{segment}"
    assert segment.isascii()
    assert not {"/", "\\"} & set(segment)
    assert checked_key(key) == key
