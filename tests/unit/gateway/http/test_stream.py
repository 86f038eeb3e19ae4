"""Streams over HTTP: framing, heartbeats, the end, and clients that leave or do not read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.protobuf.message import Message

from gateway.http.limits import ClientGone, HttpLimits
from gateway.http.problems import stream_error
from gateway.http.stream import (
    EVENTS,
    HEARTBEAT,
    LINES,
    StreamResponse,
    framing_for,
    ndjson_frame,
    sse_frame,
    while_connected,
)
from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mnemesh.conversation.v1 import conversation_service_pb2, event_pb2
from mnemesh.gateway.v1 import session_pb2

LIMITS = HttpLimits(heartbeat_s=0.02, send_timeout_s=0.2)


def delta(sequence: int, text: str) -> conversation_service_pb2.ConverseResponse:
    cursor = event_pb2.StreamCursor(epoch=1, sequence=sequence)
    return conversation_service_pb2.ConverseResponse(cursor=cursor, delta=event_pb2.Delta(text=text))


async def stream_of(*events: Message | Exception) -> AsyncIterator[Message]:
    for event in events:
        if isinstance(event, Exception):
            raise event
        yield event


def response(first: Message | None, *rest: Message | Exception, framing: Any = EVENTS) -> StreamResponse:
    return StreamResponse(first, stream_of(*rest), framing, {}, lambda error: stream_error(error, "r"))


class Sink:
    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def __call__(self, message: Any) -> None:
        self.messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


def test_an_event_has_its_cursor_as_id_its_field_as_name_and_its_value_as_data() -> None:
    assert sse_frame(delta(2, "a\nb")) == b'id: 1.2\nevent: delta\ndata: {"delta":{"text":"a\\nb"}}\n\n'


def test_the_data_of_an_event_has_names_of_json_and_its_name_stays_in_snake_case() -> None:
    event = conversation_service_pb2.ConverseResponse(session_start=event_pb2.SessionStart(turn_id="t"))
    name, data = sse_frame(event).decode().splitlines()[:2]
    assert name == "event: session_start"
    assert json.loads(data.removeprefix("data: "))["sessionStart"]["turnId"] == "t"


def test_a_message_without_events_is_its_own_data() -> None:
    frame = sse_frame(session_pb2.Session(id="s"))
    assert frame.startswith(b'data: {"id":"s"')


def test_a_line_is_the_whole_message() -> None:
    line = ndjson_frame(delta(2, "a\u2028b"))
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"cursor": {"epoch": "1", "sequence": "2"}, "delta": {"text": "a\u2028b"}}


@pytest.mark.parametrize(
    ("accept", "framing"),
    [
        ("", EVENTS),
        ("*/*", EVENTS),
        ("text/event-stream", EVENTS),
        ("application/json, text/event-stream", EVENTS),
        ("application/x-ndjson", LINES),
        ("application/json", LINES),
        ("Application/JSON;q=0.9", LINES),
    ],
)
def test_accept_chooses_the_framing(accept: str, framing: Any) -> None:
    assert framing_for(accept) is framing


async def test_every_event_is_sent_by_itself_at_once() -> None:
    sink = Sink()
    await response(delta(0, "a"), delta(1, "b")).send(sink, LIMITS)
    start, *pieces = sink.messages
    assert start["status"] == 200
    assert dict(start["headers"])[b"cache-control"] == b"no-store"
    assert dict(start["headers"])[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert [piece["body"] for piece in pieces] == [sse_frame(delta(0, "a")), sse_frame(delta(1, "b")), b""]
    assert [piece["more_body"] for piece in pieces] == [True, True, False]


async def test_a_stream_without_events_is_an_empty_body() -> None:
    sink = Sink()
    await response(None).send(sink, LIMITS)
    assert sink.body == b""


@pytest.mark.parametrize("framing", [EVENTS, LINES])
async def test_an_error_in_the_middle_is_the_last_event(framing: Any) -> None:
    sink = Sink()
    broken = Unavailable(Reason.SERVICE_UNAVAILABLE, "gone")
    await response(delta(0, "a"), broken, framing=framing).send(sink, LIMITS)
    last = sink.body.strip().splitlines()[-1].removeprefix(b"data: ")
    assert json.loads(last)["error"]["reason"] == "SERVICE_UNAVAILABLE"
    assert (b"event: error" in sink.body) is (framing is EVENTS)


async def test_a_silent_stream_says_that_it_is_alive_and_loses_no_event() -> None:
    go_on = asyncio.Event()

    class Counting(Sink):
        async def __call__(self, message: Any) -> None:
            await super().__call__(message)
            if self.body.count(HEARTBEAT) == 2:
                go_on.set()

    sink = Counting()

    async def slow() -> AsyncIterator[Message]:
        await go_on.wait()
        yield delta(1, "late")

    answer = StreamResponse(delta(0, "a"), slow(), EVENTS, {}, lambda error: {})
    await answer.send(sink, LIMITS)
    assert sink.body.endswith(sse_frame(delta(1, "late")))


async def test_a_client_that_does_not_read_is_given_up() -> None:
    async def stuck(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    with pytest.raises(ClientGone):
        await response(delta(0, "a")).send(stuck, HttpLimits(send_timeout_s=0.02))


async def test_work_is_cancelled_when_the_client_goes_away_and_nothing_is_left() -> None:
    before = asyncio.all_tasks()
    started, cancelled, gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def leave() -> None:
        await started.wait()
        gone.set()

    with pytest.raises(ClientGone):
        await asyncio.gather(while_connected(receive, work()), leave())
    assert cancelled.is_set()
    assert asyncio.all_tasks() == before


async def test_the_result_and_the_error_of_work_come_through() -> None:
    async def receive() -> Any:
        await asyncio.Event().wait()

    async def answer() -> int:
        return 7

    async def fail() -> int:
        raise Unavailable(Reason.SERVICE_UNAVAILABLE, "gone")

    assert await while_connected(receive, answer()) == 7
    with pytest.raises(Unavailable):
        await while_connected(receive, fail())
