"""The event decoder, fed as networks feed it: in pieces that end anywhere."""

from __future__ import annotations

import pytest

from mesh.cli.sse import EventDecoder, ServerEvent

STREAM = (
    ": a comment\n"
    'id: 1.0\nevent: session_start\ndata: {"sessionStart":{}}\n\n'
    'id: 1.1\r\nevent: delta\r\ndata: {"delta":{"text":"Львів \u2028 \u0085"}}\r\n\r\n'
    "data: one\rdata: two\r\r"
    "retry: 100\n\n"
).encode()
EVENTS = [
    ServerEvent("1.0", "session_start", '{"sessionStart":{}}'),
    ServerEvent("1.1", "delta", '{"delta":{"text":"Львів \u2028 \u0085"}}'),
    ServerEvent("1.1", "message", "one\ntwo"),
]


def feed(size: int) -> list[ServerEvent]:
    decoder = EventDecoder()
    return [event for start in range(0, len(STREAM), size) for event in decoder.feed(STREAM[start : start + size])]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, len(STREAM)])
def test_events_are_the_same_however_the_bytes_are_cut(size: int) -> None:
    assert feed(size) == EVENTS


def test_an_event_without_its_empty_line_is_not_an_event() -> None:
    assert list(EventDecoder().feed(b"data: half\n")) == []


def test_one_space_after_the_colon_is_no_part_of_the_value() -> None:
    (event,) = EventDecoder().feed(b"data:  two spaces\n\n")
    assert event.data == " two spaces"
