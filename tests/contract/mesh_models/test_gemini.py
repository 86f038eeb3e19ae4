"""The Gemini adapter over the real google-genai library, against a server that speaks Gemini's wire format."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any, cast

import numpy as np
import pytest

from mesh.kernel.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    MeshError,
    ResourceExhausted,
    Unavailable,
)
from mesh.kernel.reasons import Reason
from mesh.models.attempts import RetryPolicy
from mesh.models.gemini import GeminiEmbedder, GeminiModel, GeminiOptions
from mesh.models.protocols import Finish, ModelEvent, ModelMessage, ModelRequest, TextDelta, UsageReport
from mesh.models.streaming import StreamLimits
from tests.wire.gemini import FakeGemini
from tests.wire.steps import Fail, Raw, Refuse, Say, Stall, Vectors

KEY = "AIza-secret-key-of-a-test"
ASK = ModelRequest("Be brief.", [ModelMessage("user", "Where do I live?")], temperature=0.2, max_output_tokens=50)
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "object", "properties": {"key": {"type": "string"}}}}},
    "required": ["facts"],
}


@pytest.fixture(scope="module")
def fake_server() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def fake(fake_server: FakeGemini) -> FakeGemini:
    fake_server.reset()
    return fake_server


def options(fake: FakeGemini, **changes: Any) -> GeminiOptions:
    given: dict[str, Any] = {
        "api_key": KEY,
        "base_url": fake.base_url,
        "limits": StreamLimits(first_token_timeout_s=0.3, stall_timeout_s=0.3),
        "request_timeout_s": 0.5,
        "retry": RetryPolicy(attempts=3, base_delay_s=0.01, max_delay_s=0.5),
    }
    return GeminiOptions(**(given | changes))


@pytest.fixture
async def model(fake: FakeGemini) -> AsyncIterator[GeminiModel]:
    model = GeminiModel("gemini-test", options(fake))
    yield model
    await model.close()


@pytest.fixture
async def embedder(fake: FakeGemini) -> AsyncIterator[GeminiEmbedder]:
    embedder = GeminiEmbedder("gemini-embedding-001", options(fake))
    yield embedder
    await embedder.close()


async def heard(model: GeminiModel, request: ModelRequest = ASK) -> tuple[list[ModelEvent], MeshError | None]:
    """Return the events of a stream and the error that ended it."""
    events: list[ModelEvent] = []
    try:
        async for event in model.stream(request):
            events.append(event)
    except MeshError as error:
        return events, error
    return events, None


def reports(events: list[ModelEvent]) -> list[UsageReport]:
    return [event for event in events if isinstance(event, UsageReport)]


async def test_stream_gives_deltas_then_measured_usage_then_finish(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("You ", "live in ", "Lviv."), tokens=(21, 5)))
    events, error = await heard(model)
    assert error is None
    assert events == [
        TextDelta("You "),
        TextDelta("live in "),
        TextDelta("Lviv."),
        UsageReport(21, 5, measured=True),
        Finish("stop"),
    ]


async def test_request_carries_instruction_history_and_limits(fake: FakeGemini, model: GeminiModel) -> None:
    history = [ModelMessage("user", "Hi"), ModelMessage("assistant", "Hello"), ModelMessage("user", "Where am I?")]
    await heard(model, ModelRequest("Be brief.", history, temperature=0.2, max_output_tokens=50))
    asked = fake.requests[0]
    assert asked.path.endswith("/models/gemini-test:streamGenerateContent?alt=sse")
    assert asked.headers["x-goog-api-key"] == KEY
    assert [(c["role"], c["parts"][0]["text"]) for c in asked.body["contents"]] == [
        ("user", "Hi"),
        ("model", "Hello"),
        ("user", "Where am I?"),
    ]
    assert asked.body["systemInstruction"]["parts"][0]["text"] == "Be brief."
    assert asked.body["generationConfig"] == {"temperature": 0.2, "maxOutputTokens": 50}


async def test_usage_is_estimated_when_the_provider_reports_none(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("12345678",), tokens=None))
    events, _ = await heard(model)
    assert reports(events) == [UsageReport(15, 2, measured=False)]


async def test_answer_cut_by_the_token_bound_says_so(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("You live",), finish="MAX_TOKENS"))
    events, error = await heard(model)
    assert error is None
    assert events[-1] == Finish("length")


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_transient_status_is_repeated_and_each_attempt_reported(
    fake: FakeGemini, model: GeminiModel, status: int
) -> None:
    fake.script(Fail(status, retry_after_s=0.02), Say(("Lviv.",), tokens=(9, 1)))
    events, error = await heard(model)
    assert error is None
    assert reports(events) == [UsageReport(0, 0, measured=False), UsageReport(9, 1, measured=True, attempt=2)]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Lviv."]


async def test_retry_info_longer_than_the_policy_goes_to_the_caller_at_once(
    fake: FakeGemini, model: GeminiModel
) -> None:
    fake.script(Fail(429, retry_after_s=17))
    began = time.monotonic()
    events, error = await heard(model)
    assert time.monotonic() - began < 2
    assert isinstance(error, ResourceExhausted)
    assert error.reason is Reason.MODEL_RATE_LIMITED
    assert error.details.retry_after is not None
    assert error.details.retry_after.total_seconds() == 17
    assert len(fake.requests) == len(reports(events)) == 1


async def test_retry_info_is_waited_for(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Fail(429, retry_after_s=0.3))
    began = time.monotonic()
    _, error = await heard(model)
    assert error is None
    assert time.monotonic() - began >= 0.3


async def test_provider_that_stays_down_is_unavailable_without_its_words(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(*[Fail(503, text=f"backend-7 down for {KEY}")] * 3)
    events, error = await heard(model)
    assert isinstance(error, Unavailable)
    assert error.reason is Reason.MODEL_UNAVAILABLE
    assert len(fake.requests) == len(reports(events)) == 3
    assert "backend-7" not in error.message
    assert "backend-7" in str(error.__cause__)
    assert KEY not in str(error.__cause__)


async def test_unreachable_provider_is_unavailable(fake: FakeGemini) -> None:
    model = GeminiModel("gemini-test", options(fake, base_url="http://127.0.0.1:9"))
    _, error = await heard(model)
    await model.close()
    assert isinstance(error, Unavailable)
    assert error.reason is Reason.MODEL_UNAVAILABLE


@pytest.mark.parametrize("step", [Stall(), Say(stall_before=0), Say(stall_before=1)])
async def test_silent_stream_ends_within_the_bound_and_is_closed(
    fake: FakeGemini, model: GeminiModel, step: Say | Stall
) -> None:
    fake.script(step)
    began = time.monotonic()
    events, error = await heard(model)
    assert time.monotonic() - began < 1.5
    assert isinstance(error, DeadlineExceeded)
    assert error.reason is Reason.MODEL_STALLED
    assert len(reports(events)) == 1
    assert not reports(events)[0].measured
    assert await asyncio.to_thread(fake.requests[0].left.wait, 1)


async def test_broken_connection_after_text_is_not_repeated(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("You ", "live"), cut_before=1))
    events, error = await heard(model)
    assert isinstance(error, Unavailable)
    assert error.reason is Reason.MODEL_UNAVAILABLE
    assert len(fake.requests) == 1
    assert reports(events) == [UsageReport(15, 1, measured=False)]


async def test_stream_that_ends_without_an_end_is_not_an_answer(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("You live",), finish="", tokens=None))
    events, error = await heard(model)
    assert isinstance(error, Unavailable)
    assert not any(isinstance(event, Finish) for event in events)


async def test_error_inside_the_stream_after_text_is_reported(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("You ", "live"), fail_before=1))
    _, error = await heard(model)
    assert isinstance(error, Unavailable)
    assert error.reason is Reason.MODEL_UNAVAILABLE


async def test_message_that_is_no_json_is_invalid_output(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("You ", "live"), garble_before=1))
    _, error = await heard(model)
    assert isinstance(error, Unavailable)
    assert error.reason is Reason.MODEL_OUTPUT_INVALID


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"candidates": "none"}', b"data: [1, 2]\r\n\r\n"])
async def test_odd_replies_are_unavailable_never_a_defect(fake: FakeGemini, model: GeminiModel, body: bytes) -> None:
    fake.script(*[Raw(body, content_type="text/event-stream")] * 3)
    _, error = await heard(model)
    assert isinstance(error, Unavailable)


async def test_empty_answer_is_repeated(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("",)), Say(("Lviv.",)))
    events, error = await heard(model)
    assert error is None
    assert len(reports(events)) == 2


@pytest.mark.parametrize("step", [Refuse(), Say(("You ", "x"), finish="SAFETY")])
async def test_safety_verdict_is_a_refusal_and_never_repeated(
    fake: FakeGemini, model: GeminiModel, step: Refuse | Say
) -> None:
    fake.script(step)
    events, error = await heard(model)
    assert isinstance(error, FailedPrecondition)
    assert error.reason is Reason.MODEL_REFUSED
    assert len(fake.requests) == 1
    assert [report.measured for report in reports(events)] == [True]


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Fail(400, reason="API_KEY_INVALID"), Reason.CONFIGURATION_INVALID),
        (Fail(403), Reason.CONFIGURATION_INVALID),
        (Fail(404), Reason.CONFIGURATION_INVALID),
        (Fail(400), Reason.MODEL_REFUSED),
    ],
)
async def test_permanent_status_is_not_repeated(
    fake: FakeGemini, model: GeminiModel, step: Fail, reason: Reason
) -> None:
    fake.script(step)
    _, error = await heard(model)
    assert isinstance(error, FailedPrecondition)
    assert error.reason is reason
    assert len(fake.requests) == 1


async def test_reader_that_leaves_closes_the_call_at_the_provider(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("You ", "live"), stall_before=1))
    stream = cast("Any", model.stream(ASK))
    async with aclosing(stream):
        assert await anext(stream) == TextDelta("You ")
    assert await asyncio.to_thread(fake.requests[0].left.wait, 1)


async def test_cancelled_reader_closes_the_call_at_the_provider(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(Say(("You ", "live"), stall_before=1))
    reader = asyncio.create_task(heard(model))
    await fake.wait_for_requests(1)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert await asyncio.to_thread(fake.requests[0].left.wait, 1)


async def test_budget_stops_repeats_when_most_calls_fail(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(*[Fail(503)] * 40)
    for _ in range(8):
        await heard(model)
    before = len(fake.requests)
    await heard(model)
    assert len(fake.requests) - before == 1


async def test_extract_sends_the_schema_and_returns_the_object(fake: FakeGemini, model: GeminiModel) -> None:
    fake.conduct.facts["Lviv"] = [{"key": "home_city"}]
    usage: list[UsageReport] = []
    found = await model.extract("I moved to Lviv", SCHEMA, instructions="Extract.", on_usage=usage.append)
    assert found == {"facts": [{"key": "home_city"}]}
    config = fake.requests[0].body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == SCHEMA
    assert [report.measured for report in usage] == [True]


async def test_extract_asks_again_after_a_broken_reply(fake: FakeGemini, model: GeminiModel) -> None:
    usage: list[UsageReport] = []
    good = json.dumps({"facts": [{"key": "pet_dog"}]})
    fake.script(Say(("I could not do that.",)), Fail(503), Say((good,)))
    assert await model.extract("x", SCHEMA, on_usage=usage.append) == {"facts": [{"key": "pet_dog"}]}
    assert [report.attempt for report in usage] == [1, 2, 3]


async def test_extract_never_turns_a_broken_reply_into_nothing(fake: FakeGemini, model: GeminiModel) -> None:
    fake.script(*[Say(('{"facts": [{"key": "ho',), finish="MAX_TOKENS")] * 3)
    with pytest.raises(Unavailable) as caught:
        await model.extract("x", SCHEMA)
    assert caught.value.reason is Reason.MODEL_OUTPUT_INVALID


@pytest.mark.parametrize(("step", "reason"), [(Refuse(), Reason.MODEL_REFUSED), (Stall(), Reason.MODEL_STALLED)])
async def test_extract_that_cannot_succeed_is_not_repeated(
    fake: FakeGemini, model: GeminiModel, step: Refuse | Stall, reason: Reason
) -> None:
    usage: list[UsageReport] = []
    fake.script(step)
    with pytest.raises(MeshError) as caught:
        await model.extract("x", SCHEMA, on_usage=usage.append)
    assert caught.value.reason is reason
    assert len(fake.requests) == len(usage) == 1


async def test_documents_are_embedded_in_batches_of_32_with_their_task(
    fake: FakeGemini, embedder: GeminiEmbedder
) -> None:
    texts = [f"text {number}" for number in range(70)]
    vectors = await embedder.embed_documents(texts)
    assert vectors.shape == (70, 768)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    sent = [asked.body["requests"] for asked in fake.requests]
    assert [len(batch) for batch in sent] == [32, 32, 6]
    assert {one["taskType"] for batch in sent for one in batch} == {"RETRIEVAL_DOCUMENT"}
    assert {one["outputDimensionality"] for batch in sent for one in batch} == {768}
    assert [one["content"]["parts"][0]["text"] for batch in sent for one in batch] == texts


async def test_query_is_embedded_with_its_task_and_near_its_document(
    fake: FakeGemini, embedder: GeminiEmbedder
) -> None:
    query = await embedder.embed_query("a dog named Biscuit")
    near, far = await embedder.embed_documents(["the dog Biscuit", "stock prices fell"])
    assert query.shape == (768,)
    assert query @ near > query @ far
    assert fake.requests[0].body["requests"][0]["taskType"] == "RETRIEVAL_QUERY"


@pytest.mark.parametrize(
    "step",
    [Vectors(count=1), Vectors(count=3), Vectors(count=0), Vectors(size=512), Vectors(size=0), Vectors(value=0.0)],
)
async def test_wrong_vectors_fail_after_repeats_and_are_never_accepted(
    fake: FakeGemini, embedder: GeminiEmbedder, step: Vectors
) -> None:
    fake.script(*[step] * 3)
    with pytest.raises(Unavailable) as caught:
        await embedder.embed_documents(["one", "two"])
    assert caught.value.reason is Reason.MODEL_OUTPUT_INVALID
    assert len(fake.requests) == 3


async def test_failed_batch_is_repeated_alone(fake: FakeGemini, embedder: GeminiEmbedder) -> None:
    fake.conduct.answers.clear()
    texts = [f"text {number}" for number in range(40)]
    fake.script(Fail(503), Vectors(count=5))
    assert (await embedder.embed_documents(texts)).shape == (40, 768)
    assert [len(asked.body["requests"]) for asked in fake.requests] == [32, 32, 32, 8]


async def test_silent_embedder_is_unavailable(fake: FakeGemini, embedder: GeminiEmbedder) -> None:
    fake.script(Stall())
    with pytest.raises(Unavailable) as caught:
        await embedder.embed_query("x")
    assert caught.value.reason is Reason.EMBEDDER_UNAVAILABLE


async def test_no_texts_need_no_request(fake: FakeGemini, embedder: GeminiEmbedder) -> None:
    assert (await embedder.embed_documents([])).shape == (0, 768)
    assert fake.requests == []


async def test_blank_text_is_the_callers_error(fake: FakeGemini, embedder: GeminiEmbedder) -> None:
    with pytest.raises(MeshError) as caught:
        await embedder.embed_documents(["one", " "])
    assert caught.value.details.violations[0].field == "texts[1]"
    assert fake.requests == []


def test_key_is_in_no_representation(fake: FakeGemini) -> None:
    assert KEY not in repr(options(fake))
