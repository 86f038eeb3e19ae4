"""What is known of an HTTP request while it is served: its id, its place in a trace, one log line, one measurement.

Paths are logged as templates and bodies never, so that nothing a user wrote is in a log.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanKind
from starlette.datastructures import Headers
from starlette.types import Message, Send

from mesh.telemetry.context import REQUEST_ID, TRACE, TraceContext, parse_traceparent
from mesh.telemetry.traces import Tracing, continue_trace, position

REQUEST_ID_HEADER = "X-Request-Id"
UNKNOWN_ROUTE = "unknown"
PROBES = frozenset({"/healthz", "/readyz"})
"""Asked by supervisors every other second, without a credential and under whatever host name they have."""

CLIENT_GONE_STATUS = 499

_LOG = logging.getLogger("gateway.http.access")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OUR_FAULT = 500


@dataclass(slots=True)
class Exchange:
    """One request and what became of it.

    Args:
        verb: HTTP method.
        request_id: the caller's `X-Request-Id`, or a new one.
        route: template of its path, once it is known.
        status: HTTP status, 0 until the response begins.
        reason: reason of an error, once it is known.
        principal: how the caller was proven, once it is known.
    """

    verb: str
    request_id: str
    route: str = UNKNOWN_ROUTE
    status: int = 0
    reason: str = ""
    principal: str = ""

    def watched(self, send: Send) -> Send:
        """Return a `send` that notes the status and adds the request id to the response."""
        raw_id = (REQUEST_ID_HEADER.lower().encode(), self.request_id.encode())

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                message = {**message, "headers": [*message["headers"], raw_id, _NOSNIFF]}
            await send(message)

        return watch


_NOSNIFF = (b"x-content-type-options", b"nosniff")


class Observer:
    """Watches the requests of one process."""

    def __init__(self, tracing: Tracing, *, log_success: bool) -> None:
        self._tracing = tracing
        self._success_level = logging.INFO if log_success else logging.DEBUG
        self._duration = metrics.get_meter("mnemesh").create_histogram(
            "http.server.request.duration", "s", "Duration of HTTP requests."
        )

    @contextmanager
    def watch(self, verb: str, headers: Headers) -> Iterator[Exchange]:
        """Follow one request until the block ends."""
        exchange = Exchange(verb, _request_id(headers.get(REQUEST_ID_HEADER, "")))
        REQUEST_ID.set(exchange.request_id)
        span = self._start(exchange, headers)
        started = time.perf_counter()
        try:
            yield exchange
        finally:
            self._finish(exchange, span, time.perf_counter() - started)

    def _start(self, exchange: Exchange, headers: Headers) -> Span | None:
        parent, sampled = continue_trace(self._tracing, parse_traceparent(headers.get("traceparent", "")))
        TRACE.set(parent)
        return self._span(exchange, parent) if sampled else None

    def _span(self, exchange: Exchange, parent: TraceContext | None) -> Span | None:
        attributes = {"http.request.method": exchange.verb}
        span = self._tracing.start_span(exchange.verb, SpanKind.SERVER, parent, attributes)
        if span is not None:
            TRACE.set(position(span))
        return span

    def _finish(self, exchange: Exchange, span: Span | None, duration_s: float) -> None:
        status = exchange.status or CLIENT_GONE_STATUS
        attributes: dict[str, str | int] = {
            "http.request.method": exchange.verb,
            "http.route": exchange.route,
            "http.response.status_code": status,
        }
        self._duration.record(duration_s, attributes)
        if span is not None:
            span.update_name(f"{exchange.verb} {exchange.route}")
            span.set_attributes(attributes)
            if status >= _OUR_FAULT:
                span.set_status(trace.StatusCode.ERROR)
            span.end()
        level = self._level(exchange.route, status)
        if _LOG.isEnabledFor(level):
            _LOG.log(level, "%s %s %d", exchange.verb, exchange.route, status, extra=_fields(exchange, duration_s))

    def _level(self, route: str, status: int) -> int:
        if route in PROBES:
            return logging.DEBUG
        if status >= _OUR_FAULT:
            return logging.WARNING
        return logging.INFO if status >= 400 else self._success_level


def _fields(exchange: Exchange, duration_s: float) -> dict[str, object]:
    fields: dict[str, object] = {"duration_ms": round(duration_s * 1000, 3)}
    if exchange.reason:
        fields["reason"] = exchange.reason
    if exchange.principal:
        fields["principal"] = exchange.principal
    return fields


def _request_id(given: str) -> str:
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
