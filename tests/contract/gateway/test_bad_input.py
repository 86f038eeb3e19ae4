"""Bad input of every kind gets its status, reason and field, over gRPC and over HTTP; nothing is INTERNAL."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.http.problems import STATUS_OF_CODE
from mesh.rpc.status import from_rpc_error
from tests.contract.gateway.callers import MIA, ROUTES, Caller, Refused
from tests.contract.gateway.conftest import Gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

ID = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001"

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("CreateSession", {}, "INVALID_REQUEST", "avatarId"),
    ("CreateSession", {"avatarId": "x"}, "INVALID_REQUEST", "avatarId"),
    ("CreateSession", {"avatarId": MIA, "name": "a\0b"}, "TEXT_NOT_STORABLE", "name"),
    ("CreateSession", {"avatarId": MIA, "name": "x" * 201}, "INVALID_REQUEST", "name"),
    ("CreateSession", {"avatarId": MIA, "description": "x" * 2001}, "INVALID_REQUEST", "description"),
    ("CreateSession", {"avatarId": MIA, "requestId": "1"}, "INVALID_REQUEST", "requestId"),
    ("CreateSession", {"avatarId": MIA, "name": "x" * 10_000_000}, "INVALID_REQUEST", "name"),
    ("GetSession", {"id": "x"}, "INVALID_REQUEST", "id"),
    ("GetSession", {"id": f"{ID}\0"}, "TEXT_NOT_STORABLE", "id"),
    ("GetSession", {"id": "🦉" * 9}, "INVALID_REQUEST", "id"),
    ("ListSessions", {"pageSize": -1}, "INVALID_REQUEST", "pageSize"),
    ("ListSessions", {"avatarId": "x"}, "INVALID_REQUEST", "avatarId"),
    ("ListSessions", {"pageToken": "x" * 1025}, "INVALID_REQUEST", "pageToken"),
    ("ListSessions", {"pageToken": "!"}, "PAGE_TOKEN_INVALID", "pageToken"),
    ("UpdateSession", {"session": {"id": "x"}, "updateMask": "name"}, "INVALID_REQUEST", "session.id"),
    ("UpdateSession", {"session": {"id": ID, "name": "\0"}, "updateMask": "name"}, "TEXT_NOT_STORABLE", "session.name"),
    (
        "UpdateSession",
        {"session": {"id": ID, "name": "x" * 201}, "updateMask": "name"},
        "INVALID_REQUEST",
        "session.name",
    ),
    ("DeleteSession", {"id": ID, "etag": "x" * 65}, "INVALID_REQUEST", "etag"),
    ("GetAvatar", {"uid": "mia"}, "INVALID_REQUEST", "uid"),
    ("RevokeApiKey", {"id": "x"}, "INVALID_REQUEST", "id"),
    ("ListTurns", {"sessionId": "x"}, "INVALID_REQUEST", "sessionId"),
    ("GetTurn", {"sessionId": ID, "turnId": "x"}, "INVALID_REQUEST", "turnId"),
    ("ListFacts", {"key": "No Key"}, "INVALID_REQUEST", "key"),
]


@pytest.mark.parametrize(("rpc", "request_", "reason", "field"), CASES, ids=lambda value: str(value)[:40])
async def test_a_bad_request_names_its_field(
    gateway: Gateway, rpc: str, request_: dict[str, Any], reason: str, field: str
) -> None:
    for transport, caller in gateway.callers().items():
        if transport == "http" and ROUTES[rpc].method.containing_service.full_name.startswith("mnemesh.memory."):
            continue  # memory itself checks what HTTP sends to it; there is none here
        with pytest.raises(Refused) as refused:
            await caller(rpc, **request_)
        assert (refused.value.status, refused.value.reason, refused.value.fields[:1]) == (400, reason, [field]), (
            transport
        )
        assert len(refused.value.message) < 500


@pytest.mark.parametrize(
    ("rpc", "request_", "reason"),
    [
        ("CreateSession", {"avatarId": ID}, "AVATAR_NOT_FOUND"),
        ("GetAvatar", {"uid": ID}, "AVATAR_NOT_FOUND"),
        ("GetSession", {"id": ID}, "SESSION_NOT_FOUND"),
        ("DeleteSession", {"id": ID}, "SESSION_NOT_FOUND"),
        ("ListTurns", {"sessionId": ID}, "SESSION_NOT_FOUND"),
        ("RevokeApiKey", {"id": ID}, "API_KEY_NOT_FOUND"),
    ],
)
async def test_what_is_not_there_is_not_found(caller: Caller, rpc: str, request_: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused) as refused:
        await caller(rpc, **request_)
    assert (refused.value.status, refused.value.reason) == (404, reason)


@pytest.mark.parametrize("user", ["x", "00000000-0000-4000-8000-00000000000", "ы", "{" + ID + "}"])
async def test_a_user_that_is_no_uuid_is_refused(gateway: Gateway, user: str) -> None:
    headers = [(b"X-User-ID", user.encode())]
    answer = await gateway.http.get("/v1/sessions", headers=headers)
    body = answer.json()
    assert (answer.status_code, body["reason"], body["violations"][0]["field"]) == (400, "INVALID_REQUEST", "X-User-ID")
    if user.isascii():
        with pytest.raises(Refused) as refused:
            await gateway.callers()["grpc"].acting(user_id=user)("ListSessions")
        assert (refused.value.reason, refused.value.fields) == ("INVALID_REQUEST", ["X-User-ID"])


async def raw_call(gateway: Gateway, method: str, body: bytes) -> Any:
    call: Any = gateway.grpc.unary_unary(method)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call(body, timeout=10)
    return from_rpc_error(refused.value)


async def test_bytes_that_are_no_message_are_malformed(gateway: Gateway) -> None:
    error = await raw_call(gateway, "/mnemesh.gateway.v1.SessionService/CreateSession", b"\xff\xff\xff")
    assert error.reason == "MALFORMED_MESSAGE"
    not_utf_8 = await raw_call(gateway, "/mnemesh.gateway.v1.SessionService/GetSession", b"\x0a\x02\xff\xfe")
    assert not_utf_8.reason == "MALFORMED_MESSAGE"


async def test_methods_of_the_meshs_own_are_refused_to_outsiders(gateway: Gateway) -> None:
    for method in (
        "/mnemesh.conversation.v1.ConversationService/Converse",
        "/mnemesh.memory.v1.FactService/LearnFromTurn",
    ):
        error = await raw_call(gateway, method, b"")
        assert error.code in {7, 12}
        assert error.details.violations == ()


async def test_a_method_that_does_not_exist_is_unimplemented(gateway: Gateway) -> None:
    error = await raw_call(gateway, "/mnemesh.gateway.v1.SessionService/Nope", b"")
    assert (error.code, error.reason) == (12, "METHOD_NOT_FOUND")


ANYTHING = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=30)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=5,
)
FIELDS = st.sampled_from(["avatarId", "name", "description", "requestId", "session", "id", "etag", "zzz"])


async def test_fuzzed_bodies_are_never_a_defect(gateway: Gateway) -> None:
    bodies: list[Any] = []

    @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(FIELDS, ANYTHING, max_size=4))
    def collect(body: Any) -> None:
        bodies.append(body)

    collect()
    known = {200, *STATUS_OF_CODE.values()} - {500}
    for body in bodies:
        for verb, path in (("POST", "/v1/sessions"), ("PATCH", f"/v1/sessions/{ID}"), ("POST", "/v1/apiKeys")):
            answer = await gateway.http.request(verb, path, json=body)
            assert answer.status_code in known, answer.text
