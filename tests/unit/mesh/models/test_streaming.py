"""One streamed answer: order of events, accounts, attempts, silence. The wire is in tests/contract/mesh_models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from mesh.kernel.errors import DeadlineExceeded, MeshError, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.attempts import Failure, Retries, RetryPolicy
from mesh.models.protocols import Finish, ModelEvent, ModelMessage, ModelRequest, TextDelta, UsageReport
from mesh.models.streaming import Chunk, StreamLimits, Tokens, stream_answer
from mesh.models.usage import estimate_input_tokens, estimate_tokens, estimated_usage

REQUEST = ModelRequest("12345678", [ModelMessage("user", "1234")])
LIMITS = StreamLimits(first_token_timeout_s=0.05, stall_timeout_s=0.05)


class PlannedWire:
    """Plays one list of chunks and errors for each attempt; a None in it is silence."""

    def __init__(self, *attempts: list[Chunk | Exception | None]) -> None:
        self._attempts = list(attempts)
        self.closed = 0

    async def open(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        assert request is REQUEST
        try:
            for item in self._attempts.pop(0):
                if item is None:
                    await asyncio.Event().wait()
                elif isinstance(item, Exception):
                    raise item
                else:
                    yield item
        finally:
            self.closed += 1

    def failure(self, error: Exception) -> Failure | None:
        known = isinstance(error, ConnectionError)
        return Failure(Unavailable(Reason.MODEL_UNAVAILABLE, "down"), True, billed=False) if known else None


async def heard(wire: PlannedWire) -> tuple[list[ModelEvent], MeshError | None]:
    events: list[ModelEvent] = []
    retries = Retries(RetryPolicy(attempts=3, base_delay_s=0))
    try:
        async for event in stream_answer(wire, REQUEST, LIMITS, retries):
            events.append(event)
    except MeshError as error:
        return events, error
    return events, None


async def test_counts_of_the_last_message_are_the_measured_ones() -> None:
    wire = PlannedWire([Chunk("a", Tokens(5, 1)), Chunk("b", Tokens(5, 2, 3), "stop")])
    events, error = await heard(wire)
    assert error is None
    assert events == [TextDelta("a"), TextDelta("b"), UsageReport(5, 2, True, 3), Finish("stop")]


async def test_messages_without_text_are_no_deltas() -> None:
    events, _ = await heard(PlannedWire([Chunk(), Chunk("a"), Chunk(), Chunk("", None, "length")]))
    assert events == [TextDelta("a"), UsageReport(11, 1, measured=False), Finish("length")]


async def test_counts_of_a_broken_attempt_are_an_estimate_from_what_was_reported() -> None:
    events, error = await heard(PlannedWire([Chunk("12345678", Tokens(99, 1)), ConnectionError()]))
    assert isinstance(error, Unavailable)
    assert events == [TextDelta("12345678"), UsageReport(0, 0, measured=False)]
    events, error = await heard(PlannedWire([Chunk("12345678", Tokens(99, 1)), None]))
    assert isinstance(error, DeadlineExceeded)
    assert events == [TextDelta("12345678"), UsageReport(99, 2, measured=False)]


async def test_failed_attempts_before_text_are_repeated_and_all_closed() -> None:
    wire = PlannedWire([ConnectionError()], [Chunk()], [Chunk("a", None, "stop")])
    events, error = await heard(wire)
    assert error is None
    assert [event.attempt for event in events if isinstance(event, UsageReport)] == [1, 2, 3]
    assert wire.closed == 3


async def test_silence_after_the_end_costs_only_the_counts() -> None:
    events, error = await heard(PlannedWire([Chunk("a", None, "stop"), None]))
    assert error is None
    assert events[-1] == Finish("stop")


async def test_text_after_a_refusal_is_not_passed_on() -> None:
    events, error = await heard(PlannedWire([Chunk("a"), Chunk("bad", None, "refused"), Chunk("worse")]))
    assert error is not None
    assert error.reason is Reason.MODEL_REFUSED
    assert [event for event in events if isinstance(event, TextDelta)] == [TextDelta("a")]


async def test_answer_cut_before_its_first_word_is_not_asked_for_again() -> None:
    events, error = await heard(PlannedWire([Chunk("", None, "length")]))
    assert error is not None
    assert error.reason is Reason.MODEL_OUTPUT_INVALID
    assert len(events) == 1


async def test_defect_of_ours_is_not_taken_for_the_providers() -> None:
    with pytest.raises(ZeroDivisionError):
        await heard(PlannedWire([ZeroDivisionError()]))


def test_estimate_counts_bytes_and_message_frames() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "дім")] == [0, 1, 1, 2, 2]
    assert estimate_input_tokens(REQUEST) == (4 + 2) + (4 + 1)
    assert estimated_usage(REQUEST, "abcdefgh", attempt=2) == UsageReport(11, 2, measured=False, attempt=2)
