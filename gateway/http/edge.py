"""The HTTP application: from a request to an RPC and back.

The order is fixed: route, guard and credentials, body, message, call. Whatever fails on the way is a problem document
with the request's id. Nothing here knows a single RPC; the routes come from the contracts.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

from google.protobuf.message import Message
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.http import problems, protojson
from gateway.http.auth import HttpAuth
from gateway.http.calls import Calls
from gateway.http.limits import Admission, ClientGone, HttpLimits, read_body, require_json, timeout_s
from gateway.http.observe import PROBES, Exchange, Observer
from gateway.http.pages import Page
from gateway.http.problems import HttpError
from gateway.http.stream import StreamResponse, framing_for, while_connected
from gateway.http.transcode import HttpInput, Match, MethodNotAllowed, Route, Router, build_request
from mesh.kernel.errors import MeshError
from mesh.rpc.context import acting_as, own_deadline
from mesh.telemetry.context import TENANT_ID

_LOG = logging.getLogger("gateway.http")
_NO_STORE = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class EdgeParts:
    """What the application is made of.

    Args:
        router: routes of the contracts.
        calls: the RPCs behind them.
        pages: paths that are no RPC.
        auth: credentials and the guard of loopback servers.
        limits: bounds.
        observer: ids, traces, logs, measurements.
    """

    router: Router
    calls: Calls
    pages: Mapping[str, Page]
    auth: HttpAuth
    limits: HttpLimits
    observer: Observer


@dataclass(frozen=True, slots=True)
class _Request:
    """One HTTP request with the ends of its connection."""

    verb: str
    path: str
    query: bytes
    headers: Headers
    exchange: Exchange
    receive: Receive
    send: Send


class Edge:
    """An ASGI application."""

    def __init__(self, parts: EdgeParts) -> None:
        self._parts = parts
        self._admission = Admission(parts.limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        with self._parts.observer.watch(scope["method"], headers) as exchange:
            path = scope["raw_path"].decode("ascii", "replace")
            query = scope["query_string"]
            request = _Request(scope["method"], path, query, headers, exchange, receive, exchange.watched(send))
            await self._answer(request)

    async def _answer(self, request: _Request) -> None:
        try:
            await self._serve(request)
        except ClientGone:
            request.exchange.status = request.exchange.status or 499
        except HttpError as error:
            await self._refuse(request, error.error, error.status)
        except MeshError as error:
            await self._refuse(request, error)
        except Exception as error:  # noqa: BLE001 - the boundary: whatever it is, the caller must not see it
            _LOG.exception("%s %s failed", request.verb, request.exchange.route)
            defect = problems.defect()
            defect.__cause__ = error
            await self._refuse(request, defect)

    async def _refuse(self, request: _Request, error: MeshError, status: int = 0) -> None:
        request.exchange.reason = error.reason.value
        if request.exchange.status == 0:
            await _send(request, problems.response(error, request.exchange.request_id, status))

    async def _serve(self, request: _Request) -> None:
        page = self._parts.pages.get(request.path)
        if page is not None:
            await self._serve_page(request, page)
            return
        match = self._parts.router.find(request.verb, request.path)
        request.exchange.route = match.route.template.text
        self._parts.auth.guard(request.verb, request.headers)
        with self._admission.admit(stream=match.route.streams):
            await self._serve_rpc(request, match)

    async def _serve_page(self, request: _Request, page: Page) -> None:
        request.exchange.route = request.path
        if request.verb not in {"GET", "HEAD"}:
            raise MethodNotAllowed({"GET"})
        if request.path not in PROBES:
            self._parts.auth.guard(request.verb, request.headers)
        await _send(request, await page())

    async def _serve_rpc(self, request: _Request, match: Match) -> None:
        principal = await self._parts.auth.principal(request.headers)
        request.exchange.principal = principal.credential
        TENANT_ID.set(principal.tenant_id)
        limit_s = timeout_s(request.headers, math.inf)
        message = build_request(match, await self._input(request, match.route))
        with acting_as(principal), own_deadline(limit_s):
            if match.route.streams:
                await while_connected(request.receive, self._stream(request, match.route, message))
            else:
                answer = await while_connected(request.receive, self._parts.calls.unary(match.route, message))
                body = protojson.to_bytes(answer)
                await _send(request, Response(body, 200, _NO_STORE, "application/json"))

    async def _input(self, request: _Request, route: Route) -> HttpInput:
        body = await read_body(request.headers, request.receive, self._parts.limits)
        if body and route.body:
            require_json(request.headers)
        key = request.headers.get("idempotency-key", "").strip().strip('"')
        return HttpInput(request.query, body, key)

    async def _stream(self, request: _Request, route: Route, message: Message) -> None:
        request_id = request.exchange.request_id
        async with aclosing(self._parts.calls.stream(route, message)) as events:
            response = StreamResponse(
                first=await anext(events, None),
                rest=events,
                framing=framing_for(request.headers.get("accept", "")),
                headers={},
                explain=lambda error: problems.stream_error(error, request_id),
            )
            await response.send(request.send, self._parts.limits)


async def _send(request: _Request, response: Response) -> None:
    await response({"type": "http"}, request.receive, request.send)
