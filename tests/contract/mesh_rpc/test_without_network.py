"""The interceptors under `grpc_testing`, where the test decides metadata and time."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import grpc
import grpc_testing
import pytest

from mesh.kernel.clock import SystemClock
from mesh.kernel.errors import NotFound
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import InternalAuthenticator, TokenSigner, TokenVerifier
from mesh.rpc.context import remaining_s
from mesh.rpc.interceptors import MethodTable
from mesh.rpc.method import methods_of
from mesh.rpc.server import RpcSettings, standard_interceptors
from mesh.rpc.status import DETAILS_KEY, from_rpc_error
from mesh.telemetry.traces import Tracing
from tests.contract.mesh_rpc.echo import CALLER, KEYS, EchoServicer, echo_service, pb, stubs
from tests.contract.mesh_rpc.grpc_testing_adapter import Adapter

SAY = "/meshtest.echo.v1.EchoService/Say"


class Calls:
    """Calls `Say` through the interceptors and tells how it ended."""

    def __init__(self, servicer: EchoServicer) -> None:
        service = echo_service(servicer)
        method = next(method for method in methods_of(service.descriptor) if method.path == SAY)
        authenticator = InternalAuthenticator(TokenVerifier(KEYS, "echo"))
        interceptors = standard_interceptors(
            RpcSettings(default_deadline_s=20, max_deadline_s=40), authenticator, clock=SystemClock(), tracing=Tracing()
        )
        table = MethodTable()
        bare = grpc.unary_unary_rpc_method_handler(
            servicer.Say, pb().SayRequest.FromString, pb().SayResponse.SerializeToString
        )
        table.add(method, bare, interceptors)
        handler = table.service(SimpleNamespace(method=SAY, invocation_metadata=()))
        assert handler is not None
        self.adapter = Adapter({"Say": _answering(handler.unary_unary)})
        self.time = grpc_testing.strict_fake_time(1_900_000_000)
        self.server = grpc_testing.server_from_dictionary({service.descriptor: self.adapter}, self.time)
        self.descriptor = service.descriptor.methods_by_name["Say"]

    def say(self, metadata: Any, request: Any, timeout_s: float | None = None) -> tuple[Any, dict[str, Any], Any, str]:
        raw = request.SerializeToString()
        rpc = self.server.invoke_unary_unary(self.descriptor, metadata, raw, timeout_s)
        response, trailing, code, details = rpc.termination()
        return response, dict(trailing or ()), code, details


def _answering(behaviour: Any) -> Any:
    async def serve(request: Any, context: Any) -> Any:
        try:
            return await behaviour(request, context)
        except grpc.aio.AbortError:
            return b""

    return serve


@pytest.fixture
def servicer() -> EchoServicer:
    return EchoServicer()


@pytest.fixture
def calls(servicer: EchoServicer) -> Iterator[Calls]:
    made = Calls(servicer)
    yield made
    made.adapter.close()


def _identity() -> tuple[tuple[str, str], ...]:
    return (("x-mnemesh-identity", TokenSigner(KEYS, "tests").sign(CALLER, "echo")),)


def test_answer_and_request_id_come_back(calls: Calls) -> None:
    response, trailing, code, _ = calls.say((*_identity(), ("x-request-id", "r-9")), pb().SayRequest(text="hi"))
    assert pb().SayResponse.FromString(response).text == "hi"
    assert (code, trailing["x-request-id"]) == (grpc.StatusCode.OK, "r-9")


def test_error_comes_back_with_its_details(calls: Calls, servicer: EchoServicer) -> None:
    async def say(request: Any) -> Any:
        raise NotFound(Reason.FACT_NOT_FOUND, "fact not found")

    servicer.say = say
    _, trailing, code, details = calls.say(_identity(), pb().SayRequest())
    error = grpc.aio.AioRpcError(
        code, grpc.aio.Metadata(), grpc.aio.Metadata((DETAILS_KEY, trailing[DETAILS_KEY])), details
    )
    assert from_rpc_error(error).reason is Reason.FACT_NOT_FOUND


def test_call_without_identity_never_reaches_the_servicer(calls: Calls, servicer: EchoServicer) -> None:
    _, _, code, _ = calls.say((), pb().SayRequest())
    assert (code, servicer.seen) == (grpc.StatusCode.UNAUTHENTICATED, [])


@pytest.mark.parametrize(("timeout_s", "left_s"), [(5, 5), (39, 39), (4000, 40), (None, 20)])
def test_time_that_is_left_follows_the_clock_of_the_call(
    calls: Calls, servicer: EchoServicer, timeout_s: float | None, left_s: float
) -> None:
    seen: list[float] = []

    async def say(request: Any) -> Any:
        seen.append(remaining_s())
        return pb().SayResponse()

    servicer.say = say
    _, _, code, _ = calls.say(_identity(), pb().SayRequest(), timeout_s)
    assert code is grpc.StatusCode.OK
    assert left_s - 2 < seen[0] <= left_s


def test_stream_handlers_are_coroutines_for_grpc() -> None:
    """gRPC iterates over what is not a coroutine function, and would find nothing in our handlers."""

    async def count(request: Any, context: Any) -> AsyncIterator[Any]:
        yield pb().SayResponse()

    service = echo_service(EchoServicer())
    method = next(method for method in methods_of(service.descriptor) if method.path.endswith("Count"))
    table = MethodTable()
    table.add(method, grpc.unary_stream_rpc_method_handler(count, None, stubs()[0].SayResponse.SerializeToString), [])
    handler = table.service(SimpleNamespace(method=method.path, invocation_metadata=()))
    assert handler is not None
    assert inspect.iscoroutinefunction(handler.unary_stream)
    assert handler.request_deserializer is handler.response_serializer is None
