"""Principals and tenant ids."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.kernel.identity import ALL_SCOPES, INTERNAL_SCOPE, Call, Principal, is_tenant_id

USER_ID = "6a1f6a46-6d0c-4c5e-9a3e-3f6a5b0c7d11"
LEGAL = string.ascii_letters + string.digits + "._-"


def _with(*scopes: str) -> Principal:
    return Principal("acme", USER_ID, frozenset(scopes))


@given(st.text(min_size=1, max_size=20).filter(lambda scope: scope not in {INTERNAL_SCOPE, ALL_SCOPES}))
def test_star_grants_every_public_scope(scope: str) -> None:
    assert _with(ALL_SCOPES).may(scope)
    assert not _with().may(scope)


def test_star_never_grants_internal() -> None:
    assert not _with(ALL_SCOPES).may(INTERNAL_SCOPE)
    assert _with(INTERNAL_SCOPE).may(INTERNAL_SCOPE)
    assert not _with(INTERNAL_SCOPE).may("memory.read")


def test_scopes_are_matched_whole() -> None:
    assert not _with("memory").may("memory.read")
    assert not _with("memory.read").may("memory")


@given(st.text(alphabet=LEGAL, min_size=1, max_size=128))
def test_legal_characters_make_tenant_ids_except_dots_alone(text: str) -> None:
    assert is_tenant_id(text) == (text not in {".", ".."})


@pytest.mark.parametrize("text", ["", "a/b", "a:b", "a#b", "a b", "a\n", "..", ".", "é", "a" * 129, "\x00"])
def test_other_texts_are_no_tenant_ids(text: str) -> None:
    assert not is_tenant_id(text)


def test_call_speaks_for_its_principal() -> None:
    call = Call(_with(), "/p.S/M")
    assert (call.tenant_id, call.user_id, call.request_id, call.request_digest) == ("acme", USER_ID, "", b"")
