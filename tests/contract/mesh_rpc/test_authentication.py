"""Who may call what, over a real connection: every kind of method, every kind of bad credential."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from mesh.kernel.errors import PermissionDenied, Unauthenticated
from mesh.kernel.identity import Principal
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import InternalAuthenticator, TokenSigner, TokenVerifier, service_principal
from mesh.rpc.context import acting_as, current_call, current_principal
from mesh.rpc.status import from_rpc_error
from mesh.testing.clock import ManualClock
from tests.contract.mesh_rpc.echo import CALLER, KEYS, USER_ID, Echo, EchoServicer, pb, serving

IDENTITY = "x-mnemesh-identity"
NOW = datetime(2030, 1, 1, tzinfo=UTC)


async def _one() -> AsyncIterator[Any]:
    yield pb().SayRequest(text="x")


async def _say(stub: Any, **options: Any) -> None:
    await stub.Say(pb().SayRequest(), **options)


async def _maintain(stub: Any, **options: Any) -> None:
    await stub.Maintain(pb().SayRequest(), **options)


async def _count(stub: Any, **options: Any) -> None:
    [item async for item in stub.Count(pb().CountRequest(to=1), **options)]


async def _gather(stub: Any, **options: Any) -> None:
    await stub.Gather(_one(), **options)


async def _chat(stub: Any, **options: Any) -> None:
    [item async for item in stub.Chat(_one(), **options)]


async def _held(refused: asyncio.Event) -> AsyncIterator[Any]:
    """Send nothing before the answer: grpc.aio reports its own failed write as INTERNAL, not the server's status."""
    await refused.wait()
    return
    yield


async def _gather_held(stub: Any, **options: Any) -> None:
    over = asyncio.Event()
    try:
        await stub.Gather(_held(over), **options)
    finally:
        over.set()


async def _chat_held(stub: Any, **options: Any) -> None:
    over = asyncio.Event()
    try:
        [item async for item in stub.Chat(_held(over), **options)]
    finally:
        over.set()


KINDS = [_say, _count, _gather, _chat, _maintain]
REFUSED_KINDS = [_say, _count, _gather_held, _chat_held, _maintain]
Kind = Callable[..., Any]


def _token(keys: tuple[str, ...] = KEYS, audience: str = "echo", at: datetime = NOW, who: Principal = CALLER) -> str:
    return TokenSigner(keys, "gateway", ManualClock(at)).sign(who, audience)


CREDENTIALS: dict[str, tuple[tuple[tuple[str, str | bytes], ...], Reason]] = {
    "missing": ((), Reason.CREDENTIAL_MISSING),
    "empty": (((IDENTITY, ""),), Reason.CREDENTIAL_MISSING),
    "under another name": ((("authorization", f"Bearer {_token()}"),), Reason.CREDENTIAL_MISSING),
    "binary": (((IDENTITY + "-bin", _token().encode()),), Reason.CREDENTIAL_MISSING),
    "garbage": (((IDENTITY, "garbage"),), Reason.CREDENTIAL_INVALID),
    "expired": (((IDENTITY, _token(at=NOW - timedelta(seconds=60))),), Reason.CREDENTIAL_EXPIRED),
    "wrong audience": (((IDENTITY, _token(audience="memory")),), Reason.CREDENTIAL_INVALID),
    "wrong key": (((IDENTITY, _token(keys=("x" * 40,))),), Reason.CREDENTIAL_INVALID),
    "good before bad": (((IDENTITY, _token()), (IDENTITY, "garbage")), Reason.CREDENTIAL_INVALID),
}


async def refused(call: Any) -> tuple[type, Reason]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = from_rpc_error(caught.value)
    return type(error), error.reason


@pytest.mark.parametrize("kind", REFUSED_KINDS)
@pytest.mark.parametrize("case", CREDENTIALS)
async def test_bad_credential_is_refused_for_every_kind_of_method(kind: Kind, case: str) -> None:
    metadata, reason = CREDENTIALS[case]
    servicer = EchoServicer()
    authenticator = InternalAuthenticator(TokenVerifier(KEYS, "echo", ManualClock(NOW)))
    async with serving(servicer=servicer, authenticator=authenticator) as echo:
        assert await refused(kind(echo.bare_stub, metadata=metadata)) == (Unauthenticated, reason)
    assert servicer.seen == []


@pytest.mark.parametrize("kind", REFUSED_KINDS)
async def test_caller_without_the_scope_is_refused_for_every_kind_of_method(kind: Kind) -> None:
    async with serving() as echo:
        nobody = echo.identity(replace(CALLER, scopes=frozenset({"other.read"})))
        assert await refused(kind(echo.bare_stub, metadata=nobody)) == (PermissionDenied, Reason.SCOPE_MISSING)


async def test_refusal_names_the_scope() -> None:
    async with serving() as echo:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await echo.bare_stub.Gather(
                _one(), metadata=echo.identity(replace(CALLER, scopes=frozenset({"echo.read"})))
            )
        assert from_rpc_error(caught.value).details.metadata == {"scope": "echo.write"}


async def test_internal_method_is_closed_to_every_public_scope_and_open_to_servers() -> None:
    async with serving() as echo:
        with acting_as(replace(CALLER, scopes=frozenset({"*", "echo.read", "echo.write"}))):
            assert await refused(_maintain(echo.stub)) == (PermissionDenied, Reason.SCOPE_MISSING)
        with acting_as(service_principal("engine", "acme", USER_ID)):
            await _maintain(echo.stub)
            await _gather(echo.stub)


async def test_scope_is_checked_before_the_request_is_read() -> None:
    async with serving() as echo:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await echo.raw("Maintain", b"\xff\xff\xff")
        assert from_rpc_error(caught.value).reason is Reason.SCOPE_MISSING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await echo.raw("Say", b"\xff\xff\xff", metadata=())
        assert from_rpc_error(caught.value).reason is Reason.CREDENTIAL_MISSING


@pytest.mark.parametrize("kind", KINDS[:4])
async def test_handler_sees_the_principal_that_was_signed(kind: Kind) -> None:
    seen: list[tuple[Any, ...]] = []

    class Looking(EchoServicer):
        def note(self) -> None:
            call = current_call()
            seen.append((call.principal, call.tenant_id, call.user_id, current_principal(), call.method))

        async def Say(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
            self.note()
            return await self.say(request)

        async def Count(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
            self.note()
            yield pb().SayResponse()

        async def Gather(self, requests: AsyncIterator[Any], context: Any) -> Any:  # noqa: N802
            self.note()
            return pb().SayResponse()

        async def Chat(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:  # noqa: N802
            self.note()
            yield pb().SayResponse()

    async with serving(servicer=Looking()) as echo:
        await kind(echo.stub)
    method = f"/meshtest.echo.v1.EchoService/{kind.__name__[1:].capitalize()}"
    assert seen == [(CALLER, "acme", USER_ID, CALLER, method)]


async def test_tenants_do_not_leak_between_calls_of_one_connection() -> None:
    servicer = EchoServicer()

    async def say(request: Any) -> Any:
        return pb().SayResponse(text=current_call().tenant_id)

    servicer.say = say
    async with serving(servicer=servicer) as echo:
        for tenant in ("acme", "umbrella", "acme"):
            with acting_as(replace(CALLER, tenant_id=tenant)):
                assert (await echo.stub.Say(pb().SayRequest())).text == tenant


async def test_server_checks_tokens_of_a_rotated_key(echo_with_rotated_key: Echo) -> None:
    await _say(echo_with_rotated_key.stub)


@pytest.fixture
async def echo_with_rotated_key() -> AsyncIterator[Echo]:
    authenticator = InternalAuthenticator(TokenVerifier((KEYS[1], KEYS[0]), "echo"))
    async with serving(authenticator=authenticator) as echo:
        yield echo


async def test_defect_of_an_authenticator_tells_nothing() -> None:
    class Broken:
        async def authenticate(self, metadata: Any) -> Principal:
            raise RuntimeError("key table at 10.0.0.1")

    async with serving(authenticator=Broken()) as echo:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await _say(echo.stub)
        assert from_rpc_error(caught.value).reason is Reason.INTERNAL
        assert "10.0.0.1" not in repr(caught.value)


async def test_authenticator_sees_text_metadata_in_lower_case() -> None:
    seen: dict[str, str] = {}

    class Keys:
        async def authenticate(self, metadata: Any) -> Principal:
            seen.update(metadata)
            return CALLER

    async with serving(authenticator=Keys()) as echo:
        await _say(echo.bare_stub, metadata=(("x-api-key", "k1"), ("blob-bin", b"\x00")))
    assert seen["x-api-key"] == "k1"
    assert "blob-bin" not in seen
