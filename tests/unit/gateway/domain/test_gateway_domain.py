"""Rules of sessions, keys and list positions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain import api_key
from gateway.domain.api_key import ApiKey, is_secret, new_secret, require_grantable, secret_hash
from gateway.domain.session import Session, SessionChange, SessionEdit
from mesh.kernel import keyset
from mesh.kernel.errors import Aborted, InvalidArgument, PermissionDenied, Unauthenticated
from mesh.kernel.identity import Principal
from mesh.kernel.keyset import START, Position
from mesh.kernel.reasons import Reason

NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
ID = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001"


def session(version: int = 3) -> Session:
    return Session(ID, ID, ID, "", "", "active", NOW, NOW, None, version)


def key(expires_at: datetime | None = None, revoked_at: datetime | None = None) -> ApiKey:
    return ApiKey(ID, "acme", ID, "mk_12345678", "k", ["chat"], NOW, expires_at, revoked_at, None)


def caller(*scopes: str) -> Principal:
    return Principal("acme", ID, frozenset(scopes))


def test_an_etag_changes_with_the_version_and_an_empty_one_overwrites() -> None:
    assert session(3).etag != session(4).etag
    session().require_etag("")
    session().require_etag(session().etag)
    with pytest.raises(Aborted) as refused:
        session(4).require_etag(session(3).etag)
    assert refused.value.reason is Reason.ETAG_MISMATCH


@pytest.mark.parametrize(
    ("mask", "change"),
    [
        (("name",), SessionChange("n", None)),
        (("description",), SessionChange(None, "d")),
        (("*",), SessionChange("n", "d")),
        (("name", "description"), SessionChange("n", "d")),
    ],
)
def test_only_fields_of_the_mask_change(mask: tuple[str, ...], change: SessionChange) -> None:
    assert SessionEdit(ID, "", mask, "n", "d").change() == change


@pytest.mark.parametrize("mask", [(), ("avatar_id",), ("name", "status"), ("id",)])
def test_a_mask_names_fields_that_can_change(mask: tuple[str, ...]) -> None:
    with pytest.raises(InvalidArgument) as refused:
        SessionEdit(ID, "", mask, "", "").change()
    assert refused.value.details.violations[0].field == "update_mask"


def test_secrets_have_their_form_and_are_never_the_same() -> None:
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert all(is_secret(secret) and len(secret) == 46 for secret in secrets)
    assert len({secret_hash(secret) for secret in secrets}) == 100


@pytest.mark.parametrize("text", ["", "mk_", "mk_" + "a" * 42, "mk_" + "a" * 44, "sk_" + "a" * 43, "mk_!" + "a" * 42])
def test_other_texts_are_no_secrets(text: str) -> None:
    assert not is_secret(text)


def test_a_key_proves_its_user_until_it_ends_or_is_revoked() -> None:
    proven = key(expires_at=NOW + timedelta(seconds=1)).principal(NOW)
    assert (proven.tenant_id, proven.user_id, proven.credential) == ("acme", ID, f"api_key:{ID}")
    assert proven.expires_at == NOW + timedelta(seconds=1)
    with pytest.raises(Unauthenticated) as ended:
        key(expires_at=NOW).principal(NOW)
    assert ended.value.reason is Reason.CREDENTIAL_EXPIRED
    with pytest.raises(Unauthenticated) as revoked:
        key(expires_at=NOW, revoked_at=NOW).principal(NOW)
    assert revoked.value.reason is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize(
    ("holder", "scopes"),
    [
        (caller("*"), ("*",)),
        (caller("chat"), ("chat",)),
        (caller(*api_key.PUBLIC_SCOPES), ("*",)),
        (caller("internal", "*"), ("*", "keys.admin")),
    ],
)
def test_scopes_that_the_caller_holds_can_be_granted(holder: Principal, scopes: tuple[str, ...]) -> None:
    require_grantable(holder, scopes)


@pytest.mark.parametrize(
    ("holder", "scopes"),
    [
        (caller("chat"), ("chat", "memory.read")),
        (caller("keys.admin"), ("*",)),
        (caller("*"), ("internal",)),
        (caller("internal", "*"), ("internal",)),
    ],
)
def test_scopes_that_the_caller_lacks_cannot(holder: Principal, scopes: tuple[str, ...]) -> None:
    with pytest.raises(PermissionDenied) as refused:
        require_grantable(holder, scopes)
    assert refused.value.reason is Reason.SCOPE_MISSING


@given(st.datetimes(timezones=st.just(UTC)), st.uuids())
def test_a_position_comes_back_from_its_token(at: datetime, row_id: object) -> None:
    position = Position(at, str(row_id))
    assert keyset.from_token(keyset.to_token(position, "a", "b"), "a", "b") == position


def test_a_token_of_another_list_is_refused() -> None:
    token = keyset.to_token(Position(NOW, ID), "a")
    for wrong in (token + "x", "x", keyset.to_token(Position(NOW, "x"), "b")):
        with pytest.raises(InvalidArgument) as refused:
            keyset.from_token(wrong, "b")
        assert refused.value.reason is Reason.PAGE_TOKEN_INVALID


def test_no_token_is_the_start() -> None:
    assert keyset.from_token("", "a") == START
