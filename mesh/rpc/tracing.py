"""Outermost interceptor: the call's place in its trace, and the id under which everybody talks about it."""

from __future__ import annotations

import re
import uuid

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

from mesh.rpc.method import Handler, Method, Rpc
from mesh.rpc.status import REQUEST_ID_KEY
from mesh.telemetry.context import REQUEST_ID, TRACE, TraceContext, parse_traceparent
from mesh.telemetry.traces import Tracing, continue_trace, position

TRACEPARENT_KEY = "traceparent"

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CALLER_FAULTS = frozenset({1, 3, 5, 6, 7, 9, 10, 11, 16})
"""Codes that say nothing about the server's health. Source: OpenTelemetry, semantic conventions for gRPC."""


class TraceInterceptor:
    """Continues or starts the trace, takes or makes the request id, and returns it in the trailing metadata."""

    name = "trace"
    requires: tuple[str, ...] = ()

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def wrap(self, method: Method, proceed: Handler) -> Handler:
        async def handle(rpc: Rpc) -> bytes | None:
            rpc.metadata = {k: v for k, v in rpc.context.invocation_metadata() or () if isinstance(v, str)}
            rpc.request_id = _request_id(rpc.metadata.get(REQUEST_ID_KEY))
            REQUEST_ID.set(rpc.request_id)
            rpc.context.set_trailing_metadata(((REQUEST_ID_KEY, rpc.request_id),))
            header = rpc.metadata.get(TRACEPARENT_KEY)
            parent, sampled = continue_trace(self._tracing, parse_traceparent(header) if header else None)
            if sampled:
                return await self._recorded(method, proceed, rpc, parent)
            TRACE.set(parent)
            return await proceed(rpc)

        return handle

    async def _recorded(self, method: Method, proceed: Handler, rpc: Rpc, parent: TraceContext | None) -> bytes | None:
        span = self._tracing.start_span(method.path[1:], SpanKind.SERVER, parent, span_attributes(method.path))
        if span is None:
            TRACE.set(parent)
            return await proceed(rpc)
        TRACE.set(position(span))
        try:
            return await proceed(rpc)
        finally:
            finish_span(span, rpc.code.value[0])


def span_attributes(path: str) -> dict[str, str]:
    """Return what a span of a call to `/package.Service/Method` says from the start."""
    _, service, method = path.split("/", 2)
    return {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}


def finish_span(span: Span, code: int) -> None:
    """End the span of a call with its status code."""
    span.set_attribute("rpc.grpc.status_code", code)
    if code and code not in _CALLER_FAULTS:
        span.set_status(trace.StatusCode.ERROR)
    span.end()


def _request_id(given: str | None) -> str:
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return uuid.uuid4().hex
