"""Server streams over HTTP: server-sent events, or one JSON object a line.

Source of the framing: WHATWG HTML, section 9.2 'Server-sent events'. An event is sent the moment it comes. A client
that does not read stops the next event from being fetched, so what waits for it is bounded by the buffers of two
connections; after `send_timeout_s` it is given up. The response starts with the first event, so that a call that is
refused before has an ordinary status.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from google.protobuf.message import Message
from starlette.types import Receive, Send

from gateway.http import protojson
from gateway.http.limits import ClientGone, HttpLimits
from gateway.http.names import json_path
from mesh.kernel.errors import MeshError

T = TypeVar("T")

SSE = "text/event-stream"
NDJSON = "application/x-ndjson"
HEARTBEAT = b": keep-alive\n\n"

_CURSOR = "cursor"
_EVENT = "event"


@dataclass(frozen=True, slots=True)
class Framing:
    """How events become bytes.

    Args:
        media_type: content type of the response.
        frame: one event.
        failure: the event that ends a stream which broke, from the JSON object that tells why.
        heartbeat: says that the stream is alive; empty where the framing has nothing for that.
    """

    media_type: str
    frame: Callable[[Message], bytes]
    failure: Callable[[dict[str, Any]], bytes]
    heartbeat: bytes


def sse_frame(message: Message) -> bytes:
    """Return one server-sent event.

    A message with a oneof `event` is named after the field that is set, and its data holds that field alone; a field
    `cursor` becomes the id `epoch.sequence`.
    """
    lines: list[bytes] = []
    cursor = getattr(message, _CURSOR, None)
    if cursor is not None and message.HasField(_CURSOR):
        lines.append(f"id: {cursor.epoch}.{cursor.sequence}".encode())
    if _EVENT not in message.DESCRIPTOR.oneofs_by_name:
        return _joined(lines, protojson.to_bytes(message))
    name = message.WhichOneof(_EVENT)
    if name is None:
        return _joined(lines, b"{}")
    lines.append(f"event: {name}".encode())
    return _joined(lines, orjson.dumps({json_path(name): protojson.to_value(getattr(message, name))}))


def ndjson_frame(message: Message) -> bytes:
    """Return a whole message as one line of JSON."""
    return protojson.to_bytes(message) + b"\n"


EVENTS = Framing(SSE, sse_frame, lambda why: _joined([b"event: error"], orjson.dumps(why)), HEARTBEAT)
LINES = Framing(NDJSON, ndjson_frame, lambda why: orjson.dumps(why) + b"\n", b"")


def framing_for(accept: str) -> Framing:
    """Return the framing that an Accept header asks for: lines for NDJSON or JSON, otherwise server-sent events."""
    kinds = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    if SSE in kinds:
        return EVENTS
    return LINES if NDJSON in kinds or "application/json" in kinds else EVENTS


@dataclass(frozen=True, slots=True)
class StreamResponse:
    """A stream whose first event has come.

    Args:
        first: that event; None when the stream ended without one.
        rest: the events after it; raises `MeshError` when the call fails.
        framing: how they are written.
        headers: of the response, besides its content type.
        explain: returns the JSON object for an error in the middle of the stream.
    """

    first: Message | None
    rest: AsyncIterator[Message]
    framing: Framing
    headers: dict[str, str]
    explain: Callable[[MeshError], dict[str, Any]]

    async def send(self, send: Send, limits: HttpLimits) -> None:
        """Write the response.

        Raises:
            ClientGone: the client does not read any more.
        """
        await self._send_start(send)
        if self.first is not None:
            await _send_piece(send, self.framing.frame(self.first), limits)
            await self._send_rest(send, limits)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_start(self, send: Send) -> None:
        headers = {
            "content-type": f"{self.framing.media_type}; charset=utf-8",
            "cache-control": "no-store",
            "x-accel-buffering": "no",
            **self.headers,
        }
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})

    async def _send_rest(self, send: Send, limits: HttpLimits) -> None:
        async def beat() -> None:
            await _send_piece(send, self.framing.heartbeat, limits)

        try:
            while True:
                event = await _next_or_beat(self.rest, limits.heartbeat_s, beat)
                if event is None:
                    return
                await _send_piece(send, self.framing.frame(event), limits)
        except MeshError as error:
            await _send_piece(send, self.framing.failure(self.explain(error)), limits)


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Return what some work returns; cancel it when the client goes away. The body must have been read.

    Raises:
        ClientGone: the client went away first.
    """
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGone
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _next_or_beat(
    events: AsyncIterator[Message], heartbeat_s: float, beat: Callable[[], Awaitable[None]]
) -> Message | None:
    """Return the next event, or None at the end. It waits in a task, since a wait cut short would cancel the call."""
    waiting = asyncio.ensure_future(_next(events))
    try:
        while not (await asyncio.wait({waiting}, timeout=heartbeat_s))[0]:
            await beat()
        return waiting.result()
    finally:
        if not waiting.done():
            waiting.cancel()
            with suppress(asyncio.CancelledError, MeshError):
                await waiting


async def _next(events: AsyncIterator[Message]) -> Message | None:
    return await anext(events, None)


async def _send_piece(send: Send, piece: bytes, limits: HttpLimits) -> None:
    if not piece:
        return
    try:
        async with asyncio.timeout(limits.send_timeout_s):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except TimeoutError:
        raise ClientGone from None


def _joined(lines: list[bytes], data: bytes) -> bytes:
    return b"\n".join([*lines, b"data: " + data, b"", b""])
