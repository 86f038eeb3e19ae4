"""Signed identities between servers."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.kernel.errors import FailedPrecondition, Unauthenticated
from mesh.kernel.identity import Principal
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import IDENTITY_KEY, InternalAuthenticator, TokenSigner, TokenVerifier, service_principal
from mesh.testing.clock import ManualClock

OLD, NEW, OTHER = ("old-" + "k" * 40, "new-" + "k" * 40, "other-" + "k" * 40)
USER_ID = "6a1f6a46-6d0c-4c5e-9a3e-3f6a5b0c7d11"
CALLER = Principal("acme", USER_ID, frozenset({"memory.read", "chat"}), credential="api_key:7")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2030, 1, 1, tzinfo=UTC))


def _refused(verifier: TokenVerifier, token: str) -> Reason:
    with pytest.raises(Unauthenticated) as caught:
        verifier.verify(token)
    return caught.value.reason


def test_principal_arrives_as_it_was_signed(clock: ManualClock) -> None:
    signer, verifier = TokenSigner([NEW], "gateway", clock), TokenVerifier([NEW], "memory", clock)
    bounded = replace(CALLER, expires_at=clock.now() + timedelta(hours=1))
    for principal in (
        CALLER,
        bounded,
        service_principal("engine", "acme", USER_ID),
        replace(CALLER, scopes=frozenset()),
    ):
        assert verifier.verify(signer.sign(principal, "memory")) == principal


def test_token_holds_for_a_minute_and_not_a_moment_longer(clock: ManualClock) -> None:
    token = TokenSigner([NEW], "gateway", clock).sign(CALLER, "memory")
    verifier = TokenVerifier([NEW], "memory", clock)
    clock.advance(59.9)
    assert verifier.verify(token) == CALLER
    clock.advance(0.1)
    assert _refused(verifier, token) is Reason.CREDENTIAL_EXPIRED
    assert _refused(TokenVerifier([NEW], "memory", clock), token) is Reason.CREDENTIAL_EXPIRED


def test_signer_reuses_a_token_for_half_of_its_life(clock: ManualClock) -> None:
    signer = TokenSigner([NEW], "gateway", clock)
    first = signer.sign(CALLER, "memory")
    clock.advance(29.9)
    assert signer.sign(CALLER, "memory") == first
    clock.advance(0.2)
    assert signer.sign(CALLER, "memory") != first


def test_principals_and_audiences_never_share_a_token(clock: ManualClock) -> None:
    signer = TokenSigner([NEW], "gateway", clock)
    other_tenant, fewer = replace(CALLER, tenant_id="umbrella"), replace(CALLER, scopes=frozenset({"chat"}))
    tokens = {signer.sign(who, to) for who in (CALLER, other_tenant, fewer) for to in ("memory", "engine")}
    assert len(tokens) == 6


def test_token_ends_with_the_proof_of_its_principal(clock: ManualClock) -> None:
    signer, verifier = TokenSigner([NEW], "gateway", clock), TokenVerifier([NEW], "memory", clock)
    principal = replace(CALLER, expires_at=clock.now() + timedelta(seconds=10))
    token = signer.sign(principal, "memory")
    clock.advance(10)
    assert _refused(verifier, token) is Reason.CREDENTIAL_EXPIRED
    with pytest.raises(Unauthenticated) as caught:
        signer.sign(principal, "memory")
    assert caught.value.reason is Reason.CREDENTIAL_EXPIRED


def test_token_for_another_server_is_invalid(clock: ManualClock) -> None:
    token = TokenSigner([NEW], "gateway", clock).sign(CALLER, "engine")
    assert _refused(TokenVerifier([NEW], "memory", clock), token) is Reason.CREDENTIAL_INVALID


def test_token_of_an_unknown_key_is_invalid(clock: ManualClock) -> None:
    token = TokenSigner([OTHER], "gateway", clock).sign(CALLER, "memory")
    assert _refused(TokenVerifier([OLD, NEW], "memory", clock), token) is Reason.CREDENTIAL_INVALID


def test_keys_are_rotated_without_a_gap(clock: ManualClock) -> None:
    signers = [TokenSigner(keys, "gateway", clock) for keys in ([OLD], [OLD, NEW], [NEW, OLD], [NEW])]
    verifiers = [TokenVerifier(keys, "memory", clock) for keys in ([OLD], [OLD, NEW], [NEW, OLD], [NEW])]
    for step, signer in enumerate(signers):
        for near in verifiers[max(0, step - 1) : step + 2]:  # servers are at most one step apart
            if step == 0 or near is not verifiers[0]:
                assert near.verify(signer.sign(CALLER, "memory")) == CALLER


def test_token_signed_with_a_known_kid_and_another_key_is_invalid(clock: ManualClock) -> None:
    genuine = TokenSigner([NEW], "gateway", clock).sign(CALLER, "memory")
    claims = jwt.decode(genuine, options={"verify_signature": False})
    kid = jwt.get_unverified_header(genuine)["kid"]
    forged = jwt.encode({**claims, "tenant": "umbrella"}, OTHER, algorithm="HS256", headers={"kid": kid})
    assert _refused(TokenVerifier([NEW], "memory", clock), forged) is Reason.CREDENTIAL_INVALID


def test_unsigned_token_is_invalid(clock: ManualClock) -> None:
    genuine = TokenSigner([NEW], "gateway", clock).sign(CALLER, "memory")
    header = {**jwt.get_unverified_header(genuine), "alg": "none"}
    unsigned = base64.urlsafe_b64encode(json.dumps(header).encode()).decode().rstrip("=")
    token = f"{unsigned}.{genuine.split('.')[1]}."
    assert _refused(TokenVerifier([NEW], "memory", clock), token) is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": ""},
        {"tenant": "a/b"},
        {"tenant": None},
        {"sub": "42"},
        {"sub": USER_ID.upper()},
        {"exp": "soon"},
        {"exp": None},
        {"aud": None},
        {"scopes": 3},
        {"scopes": None},
        {"credential": None},
        {"proof_exp": "x"},
        {"proof_exp": 1e300},
    ],
)
def test_signed_nonsense_is_invalid(clock: ManualClock, change: dict[str, Any]) -> None:
    genuine = TokenSigner([NEW], "gateway", clock).sign(CALLER, "memory")
    claims = {**jwt.decode(genuine, options={"verify_signature": False}), **change}
    present = {name: value for name, value in claims.items() if value is not None}
    token = jwt.encode(present, NEW, algorithm="HS256", headers={"kid": jwt.get_unverified_header(genuine)["kid"]})
    assert _refused(TokenVerifier([NEW], "memory", clock), token) is Reason.CREDENTIAL_INVALID


@given(
    st.text(max_size=100) | st.binary(max_size=100).map(lambda raw: base64.urlsafe_b64encode(raw).decode() + ".e30.x")
)
def test_any_other_text_is_invalid(text: str) -> None:
    assert _refused(TokenVerifier([NEW], "memory", ManualClock()), text) is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize("keys", [[], ["short"], [NEW, "short"], [""]])
def test_weak_or_missing_keys_are_refused_with_advice_and_not_shown(keys: list[str]) -> None:
    for make in (TokenSigner, TokenVerifier):
        with pytest.raises(FailedPrecondition, match="at least 32 bytes") as caught:
            make(keys, "memory")
        assert caught.value.reason is Reason.CONFIGURATION_INVALID
        assert NEW not in caught.value.message


def test_service_principal_may_do_everything_for_one_user() -> None:
    principal = service_principal("engine", "acme", USER_ID)
    assert principal.may("internal")
    assert principal.may("memory.write")
    assert (principal.tenant_id, principal.user_id, principal.credential) == ("acme", USER_ID, "internal:engine")


async def test_authenticator_tells_missing_from_invalid(clock: ManualClock) -> None:
    authenticator = InternalAuthenticator(TokenVerifier([NEW], "memory", clock))
    for metadata, reason in (
        ({}, Reason.CREDENTIAL_MISSING),
        ({IDENTITY_KEY: ""}, Reason.CREDENTIAL_MISSING),
        ({IDENTITY_KEY: "x"}, Reason.CREDENTIAL_INVALID),
    ):
        with pytest.raises(Unauthenticated) as caught:
            await authenticator.authenticate(metadata)
        assert caught.value.reason is reason
    token = TokenSigner([NEW], "gateway", clock).sign(CALLER, "memory")
    assert await authenticator.authenticate({IDENTITY_KEY: token}) == CALLER


def test_verifier_remembers_a_bounded_number_of_tokens(clock: ManualClock) -> None:
    signer, verifier = TokenSigner([NEW], "gateway", clock), TokenVerifier([NEW], "memory", clock)
    for number in range(4200):
        principal = replace(CALLER, credential=f"api_key:{number}")
        assert verifier.verify(signer.sign(principal, "memory")) == principal
    assert len(verifier._cache._values) == 4096
    assert len(signer._cache._values) == 4096
