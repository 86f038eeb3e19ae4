"""The OpenAI-compatible adapter over the real `openai` library, against a server that speaks its wire format."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any, cast

import numpy as np
import pytest

from mesh.kernel.errors import DeadlineExceeded, FailedPrecondition, MeshError, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.attempts import RetryPolicy
from mesh.models.openai import OpenAIEmbedder, OpenAIModel, OpenAIOptions
from mesh.models.protocols import (
    EmbeddingSpace,
    Finish,
    ModelEvent,
    ModelMessage,
    ModelRequest,
    TextDelta,
    UsageReport,
)
from mesh.models.streaming import StreamLimits
from tests.wire.openai import FakeOpenAI
from tests.wire.steps import Fail, Raw, Refuse, Say, Stall, Vectors

KEY = "sk-secret-key-of-a-test"
ASK = ModelRequest("Be brief.", [ModelMessage("user", "Where do I live?")], temperature=0.2, max_output_tokens=50)
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "object", "properties": {"key": {"type": "string"}}}}},
    "required": ["facts"],
}


@pytest.fixture(scope="module")
def fake_server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def fake(fake_server: FakeOpenAI) -> FakeOpenAI:
    fake_server.reset()
    return fake_server


def options(fake: FakeOpenAI, **changes: Any) -> OpenAIOptions:
    given: dict[str, Any] = {
        "api_key": KEY,
        "base_url": fake.base_url,
        "limits": StreamLimits(first_token_timeout_s=0.3, stall_timeout_s=0.3),
        "request_timeout_s": 0.5,
        "retry": RetryPolicy(attempts=3, base_delay_s=0.01, max_delay_s=0.5),
    }
    return OpenAIOptions(**(given | changes))


@pytest.fixture
async def model(fake: FakeOpenAI) -> AsyncIterator[OpenAIModel]:
    model = OpenAIModel("test-model", options(fake))
    yield model
    await model.close()


@pytest.fixture
async def embedder(fake: FakeOpenAI) -> AsyncIterator[OpenAIEmbedder]:
    embedder = OpenAIEmbedder("test-embedding", options(fake))
    yield embedder
    await embedder.close()


async def heard(model: OpenAIModel, request: ModelRequest = ASK) -> tuple[list[ModelEvent], MeshError | None]:
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


async def test_stream_gives_deltas_then_measured_usage_then_finish(fake: FakeOpenAI, model: OpenAIModel) -> None:
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


async def test_request_carries_instruction_history_and_limits(fake: FakeOpenAI, model: OpenAIModel) -> None:
    history = [ModelMessage("user", "Hi"), ModelMessage("assistant", "Hello"), ModelMessage("user", "Where am I?")]
    await heard(model, ModelRequest("Be brief.", history, temperature=0.2, max_output_tokens=50))
    asked = fake.requests[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "Where am I?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
        "max_tokens": 50,
    }


@pytest.mark.parametrize("say", [Say(("12345678",), tokens=None), Say(("12345678",), stall_before=2)])
async def test_usage_is_estimated_when_the_provider_reports_none(
    fake: FakeOpenAI, model: OpenAIModel, say: Say
) -> None:
    fake.script(say)
    events, error = await heard(model)
    assert error is None
    assert reports(events) == [UsageReport(15, 2, measured=False)]


async def test_answer_cut_by_the_token_bound_says_so(fake: FakeOpenAI, model: OpenAIModel) -> None:
    fake.script(Say(("You live",), finish="length"))
    events, error = await heard(model)
    assert error is None
    assert events[-1] == Finish("length")


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_transient_status_is_repeated_and_each_attempt_reported(
    fake: FakeOpenAI, model: OpenAIModel, status: int
) -> None:
    fake.script(Fail(status, retry_after_s=0.02), Say(("Lviv.",), tokens=(9, 1)))
    events, error = await heard(model)
    assert error is None
    assert reports(events) == [UsageReport(0, 0, measured=False), UsageReport(9, 1, measured=True, attempt=2)]


@pytest.mark.parametrize("fail", [Fail(429, retry_after_s=17), Fail(429, reason="insufficient_quota")])
async def test_rate_limit_that_does_not_end_soon_goes_to_the_caller(
    fake: FakeOpenAI, model: OpenAIModel, fail: Fail
) -> None:
    fake.script(fail)
    _, error = await heard(model)
    assert isinstance(error, ResourceExhausted)
    assert error.reason is Reason.MODEL_RATE_LIMITED
    assert error.details.retry_after is not None
    assert error.details.retry_after.total_seconds() == (fail.retry_after_s or 10)
    assert len(fake.requests) == 1


async def test_provider_that_stays_down_is_unavailable_without_its_words(fake: FakeOpenAI, model: OpenAIModel) -> None:
    fake.script(*[Fail(503, text=f"backend-7 down for {KEY}")] * 3)
    events, error = await heard(model)
    assert isinstance(error, Unavailable)
    assert error.reason is Reason.MODEL_UNAVAILABLE
    assert len(fake.requests) == len(reports(events)) == 3
    assert "backend-7" not in error.message
    assert "backend-7" in str(error.__cause__)
    assert KEY not in str(error.__cause__)


async def test_unreachable_provider_is_unavailable_and_costs_nothing(fake: FakeOpenAI) -> None:
    model = OpenAIModel("test-model", options(fake, base_url="http://127.0.0.1:9/v1"))
    events, error = await heard(model)
    await model.close()
    assert isinstance(error, Unavailable)
    assert {(report.input_tokens, report.output_tokens) for report in reports(events)} == {(0, 0)}


@pytest.mark.parametrize("step", [Stall(), Say(stall_before=0), Say(stall_before=1)])
async def test_silent_stream_ends_within_the_bound_and_is_closed(
    fake: FakeOpenAI, model: OpenAIModel, step: Say | Stall
) -> None:
    fake.script(step)
    began = time.monotonic()
    events, error = await heard(model)
    assert time.monotonic() - began < 1.5
    assert isinstance(error, DeadlineExceeded)
    assert error.reason is Reason.MODEL_STALLED
    assert [report.measured for report in reports(events)] == [False]
    assert await asyncio.to_thread(fake.requests[0].left.wait, 1)


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (Say(("You ", "live"), cut_before=1), Reason.MODEL_UNAVAILABLE),
        (Say(("You ", "live"), fail_before=1), Reason.MODEL_UNAVAILABLE),
        (Say(("You ", "live"), finish=""), Reason.MODEL_UNAVAILABLE),
        (Say(("You ", "live"), garble_before=1), Reason.MODEL_OUTPUT_INVALID),
    ],
)
async def test_stream_that_breaks_after_text_is_neither_repeated_nor_an_answer(
    fake: FakeOpenAI, model: OpenAIModel, say: Say, reason: Reason
) -> None:
    fake.script(say)
    events, error = await heard(model)
    assert isinstance(error, Unavailable)
    assert error.reason is reason
    assert len(fake.requests) == len(reports(events)) == 1
    assert not any(isinstance(event, Finish) for event in events)


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'data: {"choices": [{"delta": "x"}]}\n\n', b"data: 1\n\n"])
async def test_odd_replies_are_unavailable_never_a_defect(fake: FakeOpenAI, model: OpenAIModel, body: bytes) -> None:
    fake.script(*[Raw(body, content_type="text/event-stream")] * 3)
    _, error = await heard(model)
    assert isinstance(error, Unavailable)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"<html>", b'{"choices": []}', b'{"choices": [{"message": 1}]}'])
async def test_odd_replies_to_extraction_are_unavailable(fake: FakeOpenAI, model: OpenAIModel, body: bytes) -> None:
    fake.script(*[Raw(body)] * 3)
    with pytest.raises(Unavailable) as caught:
        await model.extract("x", SCHEMA)
    assert caught.value.reason is Reason.MODEL_OUTPUT_INVALID


@pytest.mark.parametrize(
    "step", [Refuse(), Say(("You ", "x"), finish="content_filter"), Fail(400, reason="content_filter")]
)
async def test_safety_verdict_is_a_refusal_and_never_repeated(
    fake: FakeOpenAI, model: OpenAIModel, step: Refuse | Say | Fail
) -> None:
    fake.script(step)
    events, error = await heard(model)
    assert isinstance(error, FailedPrecondition)
    assert error.reason is Reason.MODEL_REFUSED
    assert len(fake.requests) == len(reports(events)) == 1


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, Reason.CONFIGURATION_INVALID),
        (404, Reason.CONFIGURATION_INVALID),
        (400, Reason.MODEL_REFUSED),
    ],
)
async def test_permanent_status_is_not_repeated(
    fake: FakeOpenAI, model: OpenAIModel, status: int, reason: Reason
) -> None:
    fake.script(Fail(status))
    _, error = await heard(model)
    assert isinstance(error, FailedPrecondition)
    assert error.reason is reason
    assert len(fake.requests) == 1


async def test_reader_that_leaves_closes_the_call_at_the_provider(fake: FakeOpenAI, model: OpenAIModel) -> None:
    fake.script(Say(("You ", "live"), stall_before=1))
    stream = cast("Any", model.stream(ASK))
    async with aclosing(stream):
        assert await anext(stream) == TextDelta("You ")
    assert await asyncio.to_thread(fake.requests[0].left.wait, 1)


async def test_extract_uses_the_schema_form_first(fake: FakeOpenAI, model: OpenAIModel) -> None:
    fake.conduct.facts["Lviv"] = [{"key": "home_city"}]
    usage: list[UsageReport] = []
    found = await model.extract("I moved to Lviv", SCHEMA, instructions="Extract.", on_usage=usage.append)
    assert found == {"facts": [{"key": "home_city"}]}
    assert fake.requests[0].body["response_format"]["json_schema"] == {
        "name": "answer",
        "schema": SCHEMA,
        "strict": False,
    }
    assert [report.measured for report in usage] == [True]


@pytest.mark.parametrize(("formats", "accepted"), [({"json_object"}, {"type": "json_object"}), (set(), None)])
async def test_extract_falls_back_to_what_the_server_understands_and_remembers(
    fake: FakeOpenAI, model: OpenAIModel, formats: set[str], accepted: object
) -> None:
    fake.formats = formats
    fake.conduct.facts["Lviv"] = [{"key": "home_city"}]
    for _ in range(2):
        assert await model.extract("I moved to Lviv", SCHEMA) == {"facts": [{"key": "home_city"}]}
    forms = [asked.body.get("response_format") for asked in fake.requests]
    assert forms[-2:] == [accepted, accepted]
    assert len(forms) == 4 - len(formats)


async def test_schema_of_closed_objects_is_asked_for_strictly(fake: FakeOpenAI, model: OpenAIModel) -> None:
    item = {
        "type": "object",
        "properties": {"key": {"type": "string"}},
        "required": ["key"],
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": {"facts": {"type": "array", "items": item}},
        "required": ["facts"],
        "additionalProperties": False,
    }
    await model.extract("x", schema)
    assert fake.requests[0].body["response_format"]["json_schema"]["strict"] is True


async def test_extract_asks_again_after_a_broken_reply(fake: FakeOpenAI, model: OpenAIModel) -> None:
    usage: list[UsageReport] = []
    good = json.dumps({"facts": [{"key": "pet_dog"}]})
    fake.script(Say(("I could not do that.",)), Fail(503), Say((good,)))
    assert await model.extract("x", SCHEMA, on_usage=usage.append) == {"facts": [{"key": "pet_dog"}]}
    assert [report.attempt for report in usage] == [1, 2, 3]


async def test_vectors_are_padded_normalised_and_in_order(fake: FakeOpenAI, embedder: OpenAIEmbedder) -> None:
    texts = [f"text {number}" for number in range(40)]
    vectors = await embedder.embed_documents(texts)
    assert vectors.shape == (40, 768)
    assert not vectors[:, 384:].any()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert [len(asked.body["input"]) for asked in fake.requests] == [32, 8]
    assert "dimensions" not in fake.requests[0].body
    last = await embedder.embed_query("text 39")
    assert last @ vectors[39] > 0.999


async def test_wanted_size_is_asked_for_and_is_part_of_the_space(fake: FakeOpenAI) -> None:
    embedder = OpenAIEmbedder("test-embedding", options(fake), dimensions=256)
    assert (await embedder.embed_query("x")).shape == (768,)
    assert fake.requests[0].body["dimensions"] == 256
    assert embedder.space == EmbeddingSpace("openai", "test-embedding:256")
    await embedder.close()


async def test_larger_vectors_are_refused_with_advice(fake: FakeOpenAI, embedder: OpenAIEmbedder) -> None:
    fake.embedding_size = 1536
    with pytest.raises(FailedPrecondition) as caught:
        await embedder.embed_query("x")
    assert caught.value.reason is Reason.CONFIGURATION_INVALID
    assert len(fake.requests) == 1


@pytest.mark.parametrize("step", [Vectors(count=1), Vectors(count=3), Vectors(size=0), Vectors(value=None)])
async def test_wrong_vectors_fail_after_repeats_and_are_never_accepted(
    fake: FakeOpenAI, embedder: OpenAIEmbedder, step: Vectors
) -> None:
    fake.script(*[step] * 3)
    with pytest.raises(Unavailable) as caught:
        await embedder.embed_documents(["one", "two"])
    assert caught.value.reason is Reason.MODEL_OUTPUT_INVALID
    assert len(fake.requests) == 3


@pytest.mark.parametrize("step", [Stall(), Fail(503)])
async def test_embedder_that_is_down_is_unavailable(
    fake: FakeOpenAI, embedder: OpenAIEmbedder, step: Stall | Fail
) -> None:
    fake.script(*[step] * 3)
    with pytest.raises(Unavailable) as caught:
        await embedder.embed_query("x")
    assert caught.value.reason is Reason.EMBEDDER_UNAVAILABLE


def test_key_is_in_no_representation(fake: FakeOpenAI) -> None:
    assert KEY not in repr(options(fake))
