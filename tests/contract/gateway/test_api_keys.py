"""API keys: made, used, ended, revoked; and that they separate tenants."""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mesh.kernel.identity import Principal
from mesh.rpc.auth import TokenSigner, service_principal
from mesh.rpc.channel import connect
from mesh.rpc.context import acting_as
from tests.contract.gateway.callers import MIA, Caller, GrpcCaller, Refused
from tests.contract.gateway.conftest import KEYS, Gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

USER = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001"
OTHER = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a002"


async def operator_key(gateway: Gateway, tenant: str, user: str = USER, *scopes: str, **more: Any) -> Any:
    """Make a key in a tenant as the operator of the mesh does, with a signed identity."""
    operator = service_principal("operator", tenant, user)
    token = TokenSigner(KEYS, "operator", gateway.clock).sign(operator, "gateway")
    caller = GrpcCaller(gateway.grpc, (("x-mnemesh-identity", token),))
    return await caller("CreateApiKey", displayName="k", scopes=list(scopes or ("*",)), userId=user, **more)


@pytest.fixture(params=["grpc", "http"])
def keyed(request: pytest.FixtureRequest, keyed_gateway: Gateway) -> Caller:
    return keyed_gateway.callers()[request.param]


async def test_a_key_is_shown_once_and_stored_as_a_hash(caller: Caller, gateway: Gateway) -> None:
    answer = await caller("CreateApiKey", displayName="laptop", scopes=["chat", "memory.read"])
    secret, key = answer["secret"], answer["apiKey"]
    assert re.fullmatch(r"mk_[A-Za-z0-9_-]{43}", secret)
    assert len(base64.urlsafe_b64decode(secret[3:] + "=")) == 32
    assert secret.startswith(key["prefix"])
    assert key["scopes"] == ["chat", "memory.read"]
    row = gateway.sql("select to_jsonb(k)::text, secret_hash from gateway.api_keys k")[0]
    assert secret not in row[0]
    assert row[1] == hashlib.sha256(secret.encode()).digest()
    listed = (await caller("ListApiKeys"))["apiKeys"]
    assert [one["id"] for one in listed] == [key["id"]]
    assert secret not in str(listed)


async def test_a_key_lets_its_user_in_with_its_scopes(keyed_gateway: Gateway, keyed: Caller) -> None:
    secret = (await operator_key(keyed_gateway, "acme", USER, "sessions.read", "sessions.write"))["secret"]
    user = keyed.acting(key=secret)
    session = (await user("CreateSession", avatarId=MIA))["session"]
    assert (await user("GetSession", id=session["id"]))["session"] == session
    assert keyed_gateway.sql("select tenant_id, user_id::text from gateway.sessions") == [("acme", USER)]
    with pytest.raises(Refused) as refused:
        await user("ListApiKeys")
    assert (refused.value.status, refused.value.reason) == (403, "SCOPE_MISSING")


async def test_a_key_also_counts_in_mode_none(caller: Caller, gateway: Gateway) -> None:
    secret = (await operator_key(gateway, "acme"))["secret"]
    await caller.acting(key=secret)("CreateSession", avatarId=MIA)
    assert gateway.sql("select tenant_id from gateway.sessions") == [("acme",)]


async def test_without_a_key_nobody_is_let_in(keyed: Caller) -> None:
    for who in (keyed, keyed.acting(user_id=USER)):
        with pytest.raises(Refused) as refused:
            await who("ListSessions")
        assert (refused.value.status, refused.value.reason) == (401, "CREDENTIAL_MISSING")


@pytest.mark.parametrize("secret", ["mk_" + "A" * 43, "mk_short", "x", "mk_" + "A" * 5000])
async def test_an_unknown_or_malformed_key_is_refused(keyed: Caller, secret: str) -> None:
    with pytest.raises(Refused) as refused:
        await keyed.acting(key=secret)("ListSessions")
    assert (refused.value.status, refused.value.reason) == (401, "CREDENTIAL_INVALID")


async def test_a_key_ends_at_its_time(keyed_gateway: Gateway, keyed: Caller) -> None:
    end = datetime.now(UTC) + timedelta(hours=1)
    secret = (await operator_key(keyed_gateway, "acme", expireTime=end.isoformat()))["secret"]
    user = keyed.acting(key=secret)
    await user("ListSessions")
    keyed_gateway.sql("update gateway.api_keys set expires_at = now() - interval '1 second'")
    keyed_gateway.clock.advance(6)
    with pytest.raises(Refused) as refused:
        await user("ListSessions")
    assert (refused.value.status, refused.value.reason) == (401, "CREDENTIAL_EXPIRED")


async def test_an_end_in_the_past_is_refused(caller: Caller) -> None:
    with pytest.raises(Refused) as refused:
        await caller("CreateApiKey", displayName="k", scopes=["*"], expireTime="2020-01-01T00:00:00Z")
    assert refused.value.fields == ["expireTime"]


async def test_a_revoked_key_is_refused_at_once_and_revoking_can_be_repeated(
    keyed_gateway: Gateway, keyed: Caller
) -> None:
    made = await operator_key(keyed_gateway, "acme")
    user = keyed.acting(key=made["secret"])
    first = (await user("RevokeApiKey", id=made["apiKey"]["id"]))["apiKey"]
    with pytest.raises(Refused) as refused:
        await user("ListSessions")
    assert (refused.value.status, refused.value.reason) == (401, "CREDENTIAL_INVALID")
    admin = keyed.acting(key=(await operator_key(keyed_gateway, "acme"))["secret"])
    assert (await admin("RevokeApiKey", id=made["apiKey"]["id"]))["apiKey"]["revokeTime"] == first["revokeTime"]


async def test_a_key_that_another_process_revoked_is_refused_within_five_seconds(
    keyed_gateway: Gateway, keyed: Caller
) -> None:
    user = keyed.acting(key=(await operator_key(keyed_gateway, "acme"))["secret"])
    await user("ListSessions")
    keyed_gateway.sql("update gateway.api_keys set revoked_at = now()")
    await user("ListSessions")
    keyed_gateway.clock.advance(5.1)
    with pytest.raises(Refused, match="CREDENTIAL_INVALID"):
        await user("ListSessions")


async def test_a_key_cannot_give_more_than_its_holder_has(keyed_gateway: Gateway, keyed: Caller) -> None:
    holder = keyed.acting(key=(await operator_key(keyed_gateway, "acme", USER, "keys.admin", "chat"))["secret"])
    await holder("CreateApiKey", displayName="k", scopes=["chat"])
    for scopes in (["*"], ["chat", "memory.read"]):
        with pytest.raises(Refused) as refused:
            await holder("CreateApiKey", displayName="k", scopes=scopes)
        assert (refused.value.status, refused.value.reason) == (403, "SCOPE_MISSING")


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"displayName": "", "scopes": ["*"]}, "displayName"),
        ({"displayName": "k", "scopes": []}, "scopes"),
        ({"displayName": "k", "scopes": ["internal"]}, "scopes[0]"),
        ({"displayName": "k", "scopes": ["*", "*"]}, "scopes"),
        ({"displayName": "k", "scopes": ["*"], "userId": "x"}, "userId"),
    ],
)
async def test_a_wrong_request_for_a_key_names_its_field(caller: Caller, request_: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused) as refused:
        await caller("CreateApiKey", **request_)
    assert (refused.value.status, refused.value.fields[0]) == (400, field)


async def test_a_repeated_request_gives_the_same_key_without_its_secret(caller: Caller, gateway: Gateway) -> None:
    request = {"displayName": "k", "scopes": ["*"], "requestId": str(uuid.uuid4())}
    first = await caller("CreateApiKey", **request)
    again = await caller("CreateApiKey", **request)
    assert again["apiKey"] == first["apiKey"]
    assert again["secret"] == ""
    assert first["secret"] not in str(gateway.sql("select convert_from(answer, 'utf8') from gateway.idempotency"))


async def test_keys_are_listed_in_pages(caller: Caller) -> None:
    made = [(await caller("CreateApiKey", displayName=str(n), scopes=["*"]))["apiKey"]["id"] for n in range(3)]
    first = await caller("ListApiKeys", pageSize=2)
    second = await caller("ListApiKeys", pageSize=2, pageToken=first["nextPageToken"])
    assert [key["id"] for key in first["apiKeys"] + second["apiKeys"]] == made[::-1]
    assert second["nextPageToken"] == ""


async def test_tenants_see_nothing_of_each_other(keyed_gateway: Gateway, keyed: Caller) -> None:
    mine = keyed.acting(key=(await operator_key(keyed_gateway, "acme"))["secret"])
    theirs = keyed.acting(key=(await operator_key(keyed_gateway, "globex"))["secret"])
    session = (await mine("CreateSession", avatarId=MIA, name="canary"))["session"]
    key_id = (await mine("ListApiKeys"))["apiKeys"][0]["id"]
    assert (await theirs("ListSessions"))["sessions"] == []
    assert key_id not in [key["id"] for key in (await theirs("ListApiKeys"))["apiKeys"]]
    for rpc, request, reason in (
        ("GetSession", {"id": session["id"]}, "SESSION_NOT_FOUND"),
        ("DeleteSession", {"id": session["id"]}, "SESSION_NOT_FOUND"),
        ("RevokeApiKey", {"id": key_id}, "API_KEY_NOT_FOUND"),
    ):
        with pytest.raises(Refused) as refused:
            await theirs(rpc, **request)
        assert (refused.value.status, refused.value.reason) == (404, reason)
        assert "canary" not in refused.value.message
    token = (await theirs("ListApiKeys", pageSize=1)).get("nextPageToken")
    assert token == ""


async def test_last_use_is_written_beside_the_calls_and_once_a_minute(keyed_gateway: Gateway, keyed: Caller) -> None:
    user = keyed.acting(key=(await operator_key(keyed_gateway, "acme"))["secret"])
    lookup = keyed_gateway.server._keys
    await lookup.flush()
    for _ in range(3):
        await user("ListSessions")
    assert keyed_gateway.sql("select last_used_at from gateway.api_keys") == [(None,)]
    assert await lookup.flush() == 1
    first = keyed_gateway.sql("select last_used_at from gateway.api_keys")[0][0]
    assert abs((first - keyed_gateway.clock.now()).total_seconds()) < 1
    keyed_gateway.clock.advance(30)
    await user("ListSessions")
    assert await lookup.flush() == 0
    keyed_gateway.clock.advance(31)
    await user("ListSessions")
    assert await lookup.flush() == 1
    assert keyed_gateway.sql("select last_used_at from gateway.api_keys")[0][0] > first


async def test_a_signed_identity_of_the_mesh_is_taken_over_grpc_and_not_over_http(gateway: Gateway) -> None:
    token = TokenSigner(KEYS, "engine", gateway.clock).sign(service_principal("engine", "acme", USER), "gateway")
    await GrpcCaller(gateway.grpc, (("x-mnemesh-identity", token),))("CreateSession", avatarId=MIA)
    await gateway.http.post("/v1/sessions", json={"avatarId": MIA}, headers={"X-Mnemesh-Identity": token})
    assert sorted(gateway.sql("select tenant_id from gateway.sessions")) == [("acme",), ("default",)]


@pytest.mark.parametrize("audience", ["engine", "memory"])
async def test_an_identity_for_another_server_or_of_another_mesh_is_refused(gateway: Gateway, audience: str) -> None:
    wrong = TokenSigner(KEYS, "engine", gateway.clock).sign(service_principal("engine", "acme", USER), audience)
    foreign = TokenSigner(("another-mesh-with-another-identity-key",), "x").sign(
        Principal("acme", USER, frozenset({"*"})), "gateway"
    )
    for token in (wrong, foreign, "x"):
        with pytest.raises(Refused) as refused:
            await GrpcCaller(gateway.grpc, (("x-mnemesh-identity", token),))("ListSessions")
        assert (refused.value.status, refused.value.reason) == (401, "CREDENTIAL_INVALID")


async def test_the_private_socket_takes_signed_identities_alone(gateway: Gateway) -> None:
    address = gateway.server._inner_address
    async with connect(address, "gateway", TokenSigner(KEYS, "gateway", gateway.clock)) as channel:
        with pytest.raises(Refused) as refused:
            await GrpcCaller(channel, (("x-user-id", USER),))("ListSessions")
        assert refused.value.reason == "CREDENTIAL_MISSING"
        with acting_as(Principal("default", OTHER, frozenset({"sessions.read"}))):
            assert (await GrpcCaller(channel)("ListSessions"))["sessions"] == []
