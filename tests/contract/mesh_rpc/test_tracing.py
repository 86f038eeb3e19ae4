"""Traces and request ids over two servers: client → front → back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from mesh.kernel.errors import NotFound
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import service_principal
from mesh.rpc.context import acting_as, current_request_id
from mesh.telemetry.context import REQUEST_ID, TRACE
from mesh.telemetry.traces import Tracing
from tests.contract.mesh_rpc.echo import USER_ID, Echo, EchoServicer, pb, serving

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID = "00f067aa0ba902b7"
SAY = "meshtest.echo.v1.EchoService/Say"


class Noting(EchoServicer):
    """Notes the metadata, the trace position and the request id of its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.metadata: list[Mapping[str, str]] = []
        self.positions: list[Any] = []
        self.request_ids: list[str] = []

    async def Say(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        self.metadata.append(dict(context.invocation_metadata()))
        self.positions.append(TRACE.get())
        self.request_ids.append(current_request_id())
        return await self.say(request)


@asynccontextmanager
async def two_servers(tracing: Tracing | None = None) -> AsyncIterator[tuple[Echo, Noting, Noting]]:
    """Serve a front whose Say calls the back's Say."""
    front, back = Noting(), Noting()
    async with (
        serving(servicer=back, tracing=tracing) as back_echo,
        serving(servicer=front, tracing=tracing) as front_echo,
    ):

        async def forward(request: Any) -> Any:
            return await back_echo.stub.Say(request)

        front.say = forward
        yield front_echo, front, back


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


def _tracing(provider: TracerProvider, ratio: float = 0.0) -> Tracing:
    return Tracing(provider.get_tracer("tests"), ratio)


def _header(flags: str) -> tuple[tuple[str, str], ...]:
    return (("traceparent", f"00-{TRACE_ID}-{SPAN_ID}-{flags}"),)


@pytest.mark.parametrize("flags", ["00", "01"])
async def test_trace_context_crosses_two_servers_that_record_nothing(flags: str) -> None:
    async with two_servers() as (echo, front, back):
        await echo.bare_stub.Say(pb().SayRequest(), metadata=echo.identity() + _header(flags))
    assert front.metadata[0]["traceparent"] == back.metadata[0]["traceparent"] == f"00-{TRACE_ID}-{SPAN_ID}-{flags}"


async def test_call_without_trace_context_starts_one_that_is_passed_on() -> None:
    async with two_servers() as (echo, front, back):
        await echo.bare_stub.Say(pb().SayRequest(), metadata=echo.identity())
    assert "traceparent" not in front.metadata[0]
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-00", back.metadata[0]["traceparent"])
    assert front.positions[0].trace_id == back.positions[0].trace_id


@pytest.mark.parametrize("header", ["", "garbage", f"00-{'0' * 32}-{SPAN_ID}-01", f"00-{TRACE_ID}-{'0' * 16}-01"])
async def test_invalid_trace_context_is_ignored(header: str) -> None:
    async with two_servers() as (echo, front, back):
        await echo.bare_stub.Say(pb().SayRequest(), metadata=(*echo.identity(), ("traceparent", header)))
    assert front.positions[0].trace_id != TRACE_ID
    assert back.positions[0].trace_id == front.positions[0].trace_id


async def test_sampled_trace_is_one_chain_of_spans(exporter: InMemorySpanExporter, provider: TracerProvider) -> None:
    async with two_servers(_tracing(provider)) as (echo, _, _):
        await echo.bare_stub.Say(pb().SayRequest(), metadata=echo.identity() + _header("01"))
    server, client, back = _chain(exporter)
    assert [span.kind for span in (server, client, back)] == [SpanKind.SERVER, SpanKind.CLIENT, SpanKind.SERVER]
    assert {span.name for span in (server, client, back)} == {SAY}
    assert {f"{span.context.trace_id:032x}" for span in (server, client, back)} == {TRACE_ID}
    assert f"{server.parent.span_id:016x}" == SPAN_ID  # type: ignore[union-attr]
    assert client.attributes == {
        "rpc.system": "grpc",
        "rpc.service": "meshtest.echo.v1.EchoService",
        "rpc.method": "Say",
        "rpc.grpc.status_code": 0,
    }


async def test_unsampled_trace_makes_no_span(exporter: InMemorySpanExporter, provider: TracerProvider) -> None:
    async with two_servers(_tracing(provider, ratio=1.0)) as (echo, _, back):
        await echo.bare_stub.Say(pb().SayRequest(), metadata=echo.identity() + _header("00"))
    assert exporter.get_finished_spans() == ()
    assert back.metadata[0]["traceparent"].endswith("-00")


@pytest.mark.parametrize(("ratio", "spans"), [(0.0, 0), (1.0, 3)])
async def test_first_server_decides_for_all(
    exporter: InMemorySpanExporter, provider: TracerProvider, ratio: float, spans: int
) -> None:
    async with two_servers(_tracing(provider, ratio)) as (echo, _, back):
        await echo.bare_stub.Say(pb().SayRequest(), metadata=echo.identity())
    assert len(exporter.get_finished_spans()) == spans
    assert back.positions[0].sampled == (spans > 0)
    if spans:
        assert _chain(exporter)[0].parent is None


@pytest.mark.parametrize(
    ("error", "code", "is_error"),
    [(NotFound(Reason.FACT_NOT_FOUND, "x"), 5, False), (RuntimeError("secret"), 13, True)],
)
async def test_status_of_a_call_is_on_its_spans(
    exporter: InMemorySpanExporter, provider: TracerProvider, error: Exception, code: int, is_error: bool
) -> None:
    servicer = EchoServicer()

    async def say(request: Any) -> Any:
        raise error

    servicer.say = say
    async with serving(servicer=servicer, tracing=_tracing(provider, 1.0)) as echo:
        with pytest.raises(grpc.aio.AioRpcError):
            await echo.stub.Say(pb().SayRequest())
    spans = exporter.get_finished_spans()
    assert len(spans) == 2
    for span in spans:
        assert span.attributes is not None
        assert span.attributes["rpc.grpc.status_code"] == code
        assert (span.status.status_code is StatusCode.ERROR) == is_error
        assert "secret" not in span.to_json()


async def test_stream_is_one_span_on_each_side(exporter: InMemorySpanExporter, provider: TracerProvider) -> None:
    async with serving(tracing=_tracing(provider, 1.0)) as echo:
        assert len([item async for item in echo.stub.Count(pb().CountRequest(to=3))]) == 3
    assert [span.kind for span in exporter.get_finished_spans()].count(SpanKind.SERVER) == 1
    assert len(exporter.get_finished_spans()) == 2


async def test_step_inside_of_a_handler_is_a_child_of_the_call(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    tracing = _tracing(provider)
    servicer = EchoServicer()

    async def say(request: Any) -> Any:
        with tracing.span("recall", items=3) as span:
            assert (span is not None) == ("sampled" in request.words)
        return pb().SayResponse()

    servicer.say = say
    async with serving(servicer=servicer, tracing=tracing) as echo:
        for flags, words in (("00", []), ("01", ["sampled"])):
            await echo.bare_stub.Say(pb().SayRequest(words=words), metadata=echo.identity() + _header(flags))
    step, server = exporter.get_finished_spans()
    assert (step.name, step.attributes) == ("recall", {"items": 3})
    assert step.parent is not None
    assert step.parent.span_id == server.context.span_id


async def test_request_id_is_kept_echoed_and_passed_on() -> None:
    async with two_servers() as (echo, front, back):
        call = echo.bare_stub.Say(pb().SayRequest(), metadata=(*echo.identity(), ("x-request-id", "order-17.a_B")))
        await call
        trailing = dict(await call.trailing_metadata())
    assert trailing["x-request-id"] == "order-17.a_B"
    assert front.request_ids == back.request_ids == ["order-17.a_B"]


@pytest.mark.parametrize("given", ["", "a" * 65, "a b", "a/b", "ä", "a;b", "%00"])
async def test_request_id_that_breaks_the_grammar_is_replaced(given: str) -> None:
    async with two_servers() as (echo, front, back):
        metadata = (*echo.identity(), ("x-request-id", given if given.isascii() else "%C3%A4"))
        call = echo.bare_stub.Say(pb().SayRequest(), metadata=metadata)
        await call
        trailing = dict(await call.trailing_metadata())
    assert re.fullmatch(r"[0-9a-f]{32}", trailing["x-request-id"])
    assert front.request_ids == back.request_ids == [trailing["x-request-id"]]


async def test_request_id_is_echoed_with_errors_and_streams() -> None:
    async with serving() as echo:
        metadata = (*echo.identity(), ("x-request-id", "r-1"))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await echo.bare_stub.Say(pb().SayRequest(text="\0"), metadata=metadata)
        assert dict(caught.value.trailing_metadata())["x-request-id"] == "r-1"
        stream = echo.bare_stub.Count(pb().CountRequest(to=1), metadata=metadata)
        assert len([item async for item in stream]) == 1
        assert dict(await stream.trailing_metadata())["x-request-id"] == "r-1"


async def test_metadata_that_a_caller_gives_wins_over_what_the_channel_adds() -> None:
    servicer = Noting()
    token = REQUEST_ID.set("ambient")
    try:
        async with serving(servicer=servicer) as echo:
            other = echo.identity(service_principal("cli", "umbrella", USER_ID))
            await echo.stub.Say(pb().SayRequest(), metadata=(*other, ("x-request-id", "given"), ("x-more", "1")))
            await echo.stub.Say(pb().SayRequest())
    finally:
        REQUEST_ID.reset(token)
    assert servicer.request_ids == ["given", "ambient"]
    assert servicer.metadata[0]["x-more"] == "1"
    assert servicer.metadata[0]["x-mnemesh-identity"] == other[0][1]


async def test_channel_without_identity_sends_none() -> None:
    async with serving() as echo:
        with acting_as(service_principal("x", "acme", USER_ID)):
            call = echo.bare_stub.Say(pb().SayRequest())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def _chain(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    """Return the spans from the outermost to the innermost; each must be the parent of the next."""
    spans = list(exporter.get_finished_spans())
    ids = {span.context.span_id for span in spans}
    chain = [next(span for span in spans if span.parent is None or span.parent.span_id not in ids)]
    while len(chain) < len(spans):
        above = chain[-1].context.span_id
        chain.append(next(span for span in spans if span.parent is not None and span.parent.span_id == above))
    return chain
